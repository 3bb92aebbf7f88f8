// SPDX-License-Identifier: Apache-2.0
//
// What a thread of the lab runs at this moment, for a watcher on another thread. A kernel that blocks its thread
// outside of the lab, or never returns, stops every agent of its run: the watcher sees that nothing steps, and names
// what runs.
//
//   run_once        RunningNow::Run run;                          // before everything that owns names
//   the simulator   RunningNow::here().step()                     // at each event and switch
//   the engine      RunningNow::here().enter({"kernel", task, rank, block})  // whenever user code begins or goes on
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace heddle::lab {

class RunningNow {
 public:
  struct Activity {
    const char* what = nullptr;  // a literal: "kernel", "fill", "check", "orchestrator"
    const char* name = nullptr;  // of the task; valid until the run ends
    int rank = -1;
    std::int64_t block = -1;
  };

  // This thread's; lives as long as the thread.
  static RunningNow& here() noexcept {
    thread_local RunningNow mine;
    return mine;
  }

  // ---- the thread itself. Relaxed: nobody but this thread writes, and a watcher only compares and shows.
  void step() noexcept { steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  void enter(const Activity& activity) noexcept {
    what_.store(activity.what, std::memory_order_relaxed);
    rank_.store(activity.rank, std::memory_order_relaxed);
    block_.store(activity.block, std::memory_order_relaxed);
    name_.store(activity.name, std::memory_order_seq_cst);  // in one order with describe(): see leave
    step();
  }
  // From here on no name that was entered is looked at: waits for a watcher that is just copying it.
  void leave() noexcept {
    what_.store(nullptr, std::memory_order_relaxed);
    // In one order with describe(): either it sees that there is no name, or this sees that it reads.
    name_.store(nullptr, std::memory_order_seq_cst);
    while (reading_.load(std::memory_order_seq_cst)) {
    }
    step();
  }

  // One run on this thread; the names that it entered may go after it.
  class Run {
   public:
    Run() noexcept { here().step(); }
    ~Run() { here().leave(); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
  };

  // ---- one watcher at a time, on any thread
  std::uint64_t steps() const noexcept { return steps_.load(std::memory_order_relaxed); }
  // `the kernel of task "gate", rank 3, block 0`; empty when it is not known.
  std::string describe() const;

 private:
  std::atomic<std::uint64_t> steps_{0};
  std::atomic<const char*> what_{nullptr};
  std::atomic<const char*> name_{nullptr};
  std::atomic<int> rank_{-1};
  std::atomic<std::int64_t> block_{-1};
  mutable std::atomic<bool> reading_{false};
};

}  // namespace heddle::lab
