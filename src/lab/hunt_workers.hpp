// SPDX-License-Identifier: Apache-2.0
//
// The threads of a hunt. What they share is owned by all of them: one that never comes back keeps it alive.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "lab/hunt.hpp"
#include "lab/stall_watch.hpp"

namespace heddle::lab {

// One schedule of a hunt.
struct Numbered {
  std::uint64_t number = 0;
  std::size_t strategy = 0;
  RunSpec spec;
  Schedule schedule;
};
Numbered schedule_of(const HuntConfig& config, std::uint64_t number, std::uint64_t length_hint);

class HuntWorkers {
 public:
  HuntWorkers(const HuntConfig& config, const Hunter& hunter);
  // Joins the threads; after a stall those that still run are left behind.
  ~HuntWorkers();
  HuntWorkers(const HuntWorkers&) = delete;
  HuntWorkers& operator=(const HuntWorkers&) = delete;

  // Runs to the end of the budget, the first failure or a stall.
  HuntReport run();

 private:
  using Clock = StallWatch::Clock;

  struct Worker {
    std::thread thread;
    const RunningNow* now = nullptr;  // while it runs schedules
    Numbered current;
    bool is_done = false;
  };

  struct Shared {
    HuntConfig config;
    Hunter hunter;
    Clock::time_point deadline = Clock::time_point::max();
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> lowest{UINT64_MAX};  // number of the lowest failure yet

    std::mutex mutex;  // guards what follows
    std::condition_variable changed;
    std::vector<std::unique_ptr<Worker>> workers;
    std::uint64_t length_hint = 0;
    bool first_is_done = false;  // then length_hint is known, and stays
    HuntCounts counts;
    std::optional<FoundFailure> failure;
    std::exception_ptr problem;
    std::uint64_t problem_number = UINT64_MAX;
    bool complete = false;

    void work(Worker& worker);
    void work_by_turns(Worker& worker, const Runner& runner);
    void work_in_order(Worker& worker, const Runner& runner);
    std::optional<Numbered> claim(Worker& worker);
    void begin(Worker& worker, const Numbered& numbered);
    void finish(const Numbered& numbered, RunResult result, const Schedule& schedule);
    void fail(std::uint64_t number);
  };

  void start(std::size_t count);
  HuntCounts counts_now(Clock::time_point begun);
  void join();

  std::shared_ptr<Shared> shared_;
};

}  // namespace heddle::lab
