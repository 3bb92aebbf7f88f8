// SPDX-License-Identifier: Apache-2.0
//
// Several observers of one run. Each is told everything, in the order in which they were added.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/observer.hpp"

namespace heddle::lab {

class ObserverSet final : public Observer {
 public:
  void add(Observer& observer) { all_.push_back(&observer); }
  // What a run is given: null when nobody watches, and the one itself when it is alone.
  Observer* get() {
    if (all_.empty()) return nullptr;
    return all_.size() == 1 ? all_.front() : this;
  }

  void round_begins(std::int64_t round) override {
    for (Observer* each : all_) each->round_begins(round);
  }
  void round_ends() override {
    for (Observer* each : all_) each->round_ends();
  }
  void submitted(const TaskFacts& facts) override {
    for (Observer* each : all_) each->submitted(facts);
  }
  void completed(TaskId id) override {
    for (Observer* each : all_) each->completed(id);
  }
  void block_begins(const BlockId& id, std::uint32_t core) override {
    for (Observer* each : all_) each->block_begins(id, core);
  }
  void block_ends(const BlockId& id) override {
    for (Observer* each : all_) each->block_ends(id);
  }
  void put(const BlockId& id, std::uint64_t put_id, const Piece& to, const Piece& from) override {
    for (Observer* each : all_) each->put(id, put_id, to, from);
  }
  void arrived(std::uint64_t put_id) override {
    for (Observer* each : all_) each->arrived(put_id);
  }
  void get(const BlockId& id, const Piece& to, const Piece& from) override {
    for (Observer* each : all_) each->get(id, to, from);
  }
  void scalar_read(const BlockId& id, const Piece& piece, bool from_cache) override {
    for (Observer* each : all_) each->scalar_read(id, piece, from_cache);
  }
  void scalar_write(const BlockId& id, const Piece& piece) override {
    for (Observer* each : all_) each->scalar_write(id, piece);
  }
  void line_written_back(const BlockId& id, const Piece& line, std::uint64_t dirty) override {
    for (Observer* each : all_) each->line_written_back(id, line, dirty);
  }
  void notify(const BlockId& id, std::uint64_t notify_id, const heddle::detail::SignalRef& signal, std::int64_t value,
              Notify how, Order order) override {
    for (Observer* each : all_) each->notify(id, notify_id, signal, value, how, order);
  }
  void notify_arrived(std::uint64_t notify_id) override {
    for (Observer* each : all_) each->notify_arrived(notify_id);
  }
  void fence(const BlockId& id, int peer) override {
    for (Observer* each : all_) each->fence(id, peer);
  }
  void half(const BlockId& id, const HalfEvent& event) override {
    for (Observer* each : all_) each->half(id, event);
  }
  void wait_begins(const BlockId& id, const heddle::detail::SignalRef& signal, Compare compare,
                   std::int64_t value) override {
    for (Observer* each : all_) each->wait_begins(id, signal, compare, value);
  }
  void wait_satisfied(const BlockId& id, const heddle::detail::SignalRef& signal, Compare compare, std::int64_t value,
                      bool deferred) override {
    for (Observer* each : all_) each->wait_satisfied(id, signal, compare, value, deferred);
  }

 private:
  std::vector<Observer*> all_;
};

}  // namespace heddle::lab
