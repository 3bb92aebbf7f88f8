// SPDX-License-Identifier: Apache-2.0
//
// One rank of a session: its orchestrator, its waits, its tensors, and whether it still runs.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <heddle/program.hpp>
#include <heddle/session.hpp>
#include <string>
#include <vector>

#include "base/work.hpp"
#include "graph/orchestrator.hpp"
#include "host/backend.hpp"
#include "host/window_set.hpp"
#include "window/wait_table.hpp"

namespace heddle::host {

enum class RankState : std::uint32_t { idle, running, finished, failed };

template <base::Environment E, class B>
class Rank final : public graph::OrchestratorHost<E> {
 public:
  Rank(Engine<E, B>& engine, int index, int ranks, const SessionConfig& config);
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  // The rank's program, from its first submit until its graph has retired.
  void run();

  // OrchestratorHost
  void ready(graph::Slot<E>& slot) override;
  void* current_fiber() override { return engine_.pool().current_fiber(); }
  void suspend() override;
  void yield() override {
    const graph::Outside<E> outside(core_.gate());
    on_worker(false);
    engine_.pool().yield();
    on_worker(in_program_);
  }
  // acquire: partner is the release in cancel().
  bool cancelled() const override { return cancelled_.load(std::memory_order_acquire) != 0; }
  void fail(Error error) override;
  const heddle::detail::WindowTable* find_window(std::string_view name) override {
    return engine_.windows().find(name);
  }
  const heddle::detail::WindowTable* alloc_window(const char* name, std::uint64_t bytes,
                                                  const Location& location) override {
    return engine_.windows().allocate(index_, name, bytes, location);
  }
  bool in_own_window(const void* data) const override { return engine_.windows().covers(index_, data); }
  std::int64_t width_for(Cores cores) const override { return engine_.pool().width_for(cores); }
  bool watches() const override { return B::watches; }
  void submitted(graph::Slot<E>& slot, const heddle::detail::TaskRequest& request, bool manual) override {
    if constexpr (B::watches) engine_.pool().submitted(*this, slot, request, manual);
  }

  bool starts_early() const override {
    if constexpr (B::watches) {
      return engine_.pool().starts_early();
    } else {
      return false;
    }
  }
  void candidate(graph::Slot<E>& slot) override {
    if constexpr (B::watches) engine_.pool().candidate(slot);
  }

  // Lets every wait of this rank return, and its submits do nothing.
  void cancel() {
    cancelled_.store(1, std::memory_order_release);  // release: partner is cancelled()
    if constexpr (B::watches) engine_.pool().stopped(*this);
    waits_.close([this](window::WaitNode& node) { engine_.wake(node); });
  }

  void begin_round(std::int64_t round) {
    round_ = round;
    state_.store(RankState::running, std::memory_order_relaxed);  // relaxed: published by the start of the round
  }
  void make_usable() {
    cancelled_.store(0, std::memory_order_relaxed);  // relaxed: no agent of the pool runs this rank
    waits_.reopen();
  }

  int index() const { return index_; }
  std::int64_t round() const { return round_; }
  // acquire: partner is the release when run() ends.
  RankState state() const { return state_.load(std::memory_order_acquire); }
  graph::OrchestratorCore<E>& core() { return core_; }
  window::WaitTable<E>& waits() { return waits_; }
  heddle::detail::IoTable& io() { return io_; }
  Engine<E, B>& engine() { return engine_; }
  base::Work& start() { return start_; }
  // A scalar access that the orchestrator waits in, for a timer. Read while the orchestrator goes on, it may mix two.
  struct Settling {
    std::uint64_t since;  // ns; 0: there is none
    const char* task;     // that it waits for
    Location location;    // of the access
  };
  Settling settling() const {
    const std::uint64_t since = settling_since_.load(std::memory_order_acquire);  // acquire: partner is in suspend()
    // relaxed: stored before `since`.
    return {since,
            settling_task_.load(std::memory_order_relaxed),
            {settling_file_.load(std::memory_order_relaxed), settling_line_.load(std::memory_order_relaxed)}};
  }
  void adopt_tensors(std::vector<Plan::TensorSpec> specs);

  struct Start final : CallWork {
    explicit Start(Rank& in) : rank(in) {}
    void run() override { rank.run(); }
    Rank& rank;
  };

 private:
  void poison_outputs();
  // Whether the program runs on the calling worker from now on, for who looks when one never returns.
  void on_worker(bool runs) {
    if constexpr (requires { engine_.traces().set_program(0U, 0); }) {
      auto& worker = *engine_.pool().current();
      engine_.traces().set_program(worker.index, runs ? index_ : -1);
      worker.busy.set(runs);
    }
  }
  void begin_settling(const graph::OrchestratorWait& wait);

  Engine<E, B>& engine_;
  int index_;
  std::int64_t round_ = -1;
  bool checked_;
  bool in_program_ = false;
  Start start_;
  typename B::Fiber* reserve_ = nullptr;  // so that this orchestrator can always wait
  graph::OrchestratorCore<E> core_;
  window::WaitTable<E> waits_;
  std::vector<Plan::TensorSpec> specs_;
  std::vector<graph::LazyMemory> memory_;
  heddle::detail::IoTable io_;
  typename E::template Atomic<std::uint32_t> cancelled_{0};
  typename E::template Atomic<RankState> state_{RankState::idle};
  typename E::template Atomic<std::uint64_t> settling_since_{0};
  typename E::template Atomic<const char*> settling_task_{""};
  typename E::template Atomic<const char*> settling_file_{nullptr};
  typename E::template Atomic<std::uint32_t> settling_line_{0};
};

}  // namespace heddle::host
