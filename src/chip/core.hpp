// SPDX-License-Identifier: Apache-2.0
//
// A core: what it shares with its scheduler, and its loop.
#pragma once

#include <cstdint>
#include <heddle/types.hpp>
#include <utility>

#include "chip/client.hpp"
#include "chip/geometry.hpp"
#include "chip/protocol.hpp"

namespace heddle::chip {

// What a scheduler and its cores need of their device.
template <base::Environment E>
struct Common {
  const Config config;
  Client<E>& client;
  typename E::template Atomic<std::uint32_t> stopping{0};

  Common(Config table, Client<E>& served) : config(std::move(table)), client(served) {}
  // acquire: partner is the release in Device::stop().
  bool stopped() const { return stopping.load(std::memory_order_acquire) != 0; }
};

template <base::Environment E>
class Core {
 public:
  Core(Common<E>& common, std::uint32_t index, typename E::Parker& scheduler_parker)
      : common_(common), scheduler_parker_(scheduler_parker), index_(index) {}
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  std::uint32_t index() const { return index_; }
  std::uint32_t cluster() const { return index_ / common_.config.geometry.lanes(); }
  std::uint32_t lane() const { return index_ % common_.config.geometry.lanes(); }
  heddle::Core kind() const { return lane() == 0 ? heddle::Core::cube : heddle::Core::vector; }

  // ---- by its scheduler ----

  // Writes the payload and then the register; `slot` has to stay until the end of the token was seen. The parity of
  // tokens keeps the payload of the other task. A gated one is not taken up before ring().
  void dispatch(Token token, graph::Slot<E>& slot, std::uint32_t block, std::uint32_t part, bool gated) {
    const Timing& timing = common_.config.timing;
    Payload& payload = payloads_[payload_of(token)];
    payload.slot.store(&slot);
    payload.block.store(block);
    payload.part.store(part);
    payload.gated.store(gated);
    const std::uint64_t delay = E::latency("latency.dispatch", timing.dispatch_visible);
    std::uint64_t low = delay;
    std::uint64_t high = delay;
    if (timing.dispatch_half_skew != 0) {
      switch (E::choose("dispatch_halves", 3)) {
        case 1:
          high += timing.dispatch_half_skew;
          break;
        case 2:
          low += timing.dispatch_half_skew;
          break;
        default:
          break;
      }
    }
    parker_.unpark_in(dispatch_.store_halves(dispatch_word(token), low, high));
  }
  void ring(Token token) {
    const std::uint64_t delay = E::latency("latency.dispatch", common_.config.timing.dispatch_visible);
    parker_.unpark_in(doorbell_.store(token, delay));
  }
  std::uint32_t status() const { return status_.load(); }
  void wake() { parker_.unpark(); }

  // ---- the core itself ----

  // The body of the core's agent; returns after Device::stop().
  void run() {
    Token last = no_token;
    Token switched_to = no_token;  // ahead of its gate
    bool was_pending = false;      // what is in the register was there before the last kernel's end was told
    while (!common_.stopped()) {
      const Token token = dispatched();
      if (token == no_token || token == last) {
        was_pending = false;
        parker_.park();
        continue;
      }
      const Payload& payload = payloads_[payload_of(token)];
      if (payload.gated.load()) {
        if (std::exchange(switched_to, token) != token) {
          switch_task();
          E::catch_up();
        }
        if (doorbell_.load() != token) {
          parker_.park();
          continue;
        }
      }
      if (was_pending ? common_.client.withhold_finish(index_) : common_.client.withhold_acknowledge(index_)) {
        withhold();
        return;
      }
      if (was_pending) E::mark("chip_pending_taken_up");
      last = token_ = token;
      tell(token);
      graph::Slot<E>& slot = *payload.slot.load();
      const std::uint32_t block = payload.block.load();
      const std::uint32_t part = payload.part.load();
      if (switched_to != token) switch_task();
      common_.client.run(slot, block, part, *this);
      E::catch_up();  // what was dispatched while the kernel ran
      const Token pending = dispatched();
      was_pending = pending != no_token && pending != token;
      tell(token | finish_bit);
    }
  }

  // For Client::run(), on this core: of the task that it runs.
  Token token() const { return token_; }

  // For reports, when no agent runs: whether a fault keeps this core from taking up its task.
  bool withholds() const { return withholds_; }

 private:
  struct Payload {
    typename E::template Plain<graph::Slot<E>*> slot{};
    typename E::template Plain<std::uint32_t> block{};
    typename E::template Plain<std::uint32_t> part{};
    typename E::template Plain<bool> gated{};
  };

  // What is in the register; no_token when there is nothing yet, or only a half of it.
  Token dispatched() const {
    const std::uint64_t word = dispatch_.load();
    const Token token = token_of(word);
    if (token == no_token && word != 0) E::mark("chip_half_seen");
    return token;
  }

  void switch_task() { E::charge(E::latency("latency.task_switch", common_.config.timing.task_switch)); }

  void tell(std::uint32_t status) {
    const std::uint64_t delay = E::latency("latency.status", common_.config.timing.status_visible);
    scheduler_parker_.unpark_in(status_.store(status, delay));
  }

  void withhold() {
    withholds_ = true;
    E::mark("chip_core_withholds");
    while (!common_.stopped()) parker_.park();
  }

  Common<E>& common_;
  typename E::Parker& scheduler_parker_;
  const std::uint32_t index_;
  bool withholds_ = false;
  Token token_ = no_token;
  typename E::template Register<std::uint64_t> dispatch_;
  typename E::template Register<std::uint32_t> doorbell_;  // the token that may begin
  typename E::template Register<std::uint32_t> status_;
  Payload payloads_[2];
  typename E::Parker parker_;
};

}  // namespace heddle::chip
