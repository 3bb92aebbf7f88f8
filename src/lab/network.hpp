// SPDX-License-Identifier: Apache-2.0
//
// Puts and notifies on their way between devices.
//
// A put takes its source as it is when it is issued, and reaches its destination line by line: each 64-byte line of a
// put arrives at a time of its own between the put's issue and its arrival. Lines are put in place when somebody looks
// (observe) and at the latest at the arrival, so that a run in which nobody looks costs two copies and one event.
// A released notify arrives after all puts that its block issued to that peer before; a relaxed one may overtake them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <heddle/block.hpp>
#include <memory>
#include <vector>

#include "lab/faults.hpp"
#include "lab/links.hpp"
#include "lab/observer.hpp"
#include "lab/simulator.hpp"

namespace heddle::lab {

// What arrivals change, for who waits there.
class NetworkSink {
 public:
  // Tells who watches of a notify's effect, applies it to its cell, and wakes whoever waited for it.
  virtual void update_cell(std::uint64_t id, const heddle::detail::SignalRef& signal, std::int64_t value,
                           Notify how) = 0;
  // Memory of a rank has changed.
  virtual void memory_changed(int rank, const std::byte* begin, const std::byte* end) = 0;

 protected:
  ~NetworkSink() = default;
};

// What a block has sent to one peer, in the order in which it was sent, and what of it has arrived. It outlives the
// block. Times alone do not order: a strategy may take events in any order of theirs.
class SentOrder {
 public:
  std::uint32_t sent() {
    arrived_.push_back(false);
    return static_cast<std::uint32_t>(arrived_.size() - 1);
  }
  void arrives(std::uint32_t number) {
    arrived_[number] = true;
    while (all_before_ < arrived_.size() && arrived_[all_before_]) ++all_before_;
  }
  // Whether everything has arrived that was sent before this one.
  bool is_next(std::uint32_t number) const { return all_before_ >= number; }
  bool all_arrived() const { return all_before_ == arrived_.size() && relaxed_out == 0; }
  std::uint32_t puts_out = 0;     // on their way
  std::uint32_t relaxed_out = 0;  // relaxed notifies: only a fence orders them
  std::vector<Event*> held;       // what came too early: it happens once it may

 private:
  std::vector<bool> arrived_;
  std::size_t all_before_ = 0;
};

// What a block has on its way to one peer: what orders what follows.
struct PeerTraffic {
  int peer = -1;
  std::shared_ptr<SentOrder> order = std::make_shared<SentOrder>();
  std::uint64_t puts_arrive = 0;      // when the last of its puts does
  std::uint64_t notifies_arrive = 0;  // the same of its released notifies
  std::uint64_t relaxed_arrive = 0;   // and of its relaxed ones
  std::uint64_t puts = 0;             // so far
  std::uint64_t floor = 0;            // after a fence: nothing that follows arrives before
  void fence() { floor = std::max(floor, std::max({puts_arrive, notifies_arrive, relaxed_arrive}) + 1); }
};

class Network {
 public:
  struct Put {
    BlockId block;
    int from = 0, to = 0;  // ranks
    const heddle::detail::CopyPlan* plan = nullptr;
    const std::byte* window_base = nullptr;  // of the destination's part: lines are counted from here
    bool values = true;
  };

  Network(Simulator& simulator, const LinkTable& links, int ranks, FaultBook& faults, NetworkSink& sink,
          Observer* observer);

  // Issues a put now. Returns when its data has arrived.
  std::uint64_t put(const Put& put, std::uint64_t id, PeerTraffic& traffic);
  void notify(const BlockId& block, std::uint64_t id, const heddle::detail::SignalRef& signal, std::int64_t value,
              Notify how, Order order, int from, PeerTraffic& traffic);
  // How long a transfer of so many bytes from one rank to another takes from now on, with its place on the link.
  std::uint64_t transfer_ends(int from, int to, std::uint64_t bytes, const char* label);

  // Somebody of `rank` looks at [begin, end) now: the lines that have arrived by now are put in place.
  void observe(int rank, const std::byte* begin, const std::byte* end);
  bool quiet(int rank) const { return flights_[static_cast<std::size_t>(rank)].empty(); }

  std::uint64_t puts = 0, put_bytes = 0, notifies = 0;

 private:
  struct Flight final : Event {
    void happen() override { network->arrive(*this); }
    Network* network = nullptr;
    heddle::detail::CopyPlan plan;  // from `data`, packed
    int to = 0;
    const std::byte* base = nullptr;
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
    std::uint64_t issued = 0, arrives = 0, salt = 0, id = 0;
    std::shared_ptr<SentOrder> order;
    std::uint32_t number = 0;
    std::vector<std::byte> data;
    std::vector<std::uint64_t> in_place;  // a bit for each line, once somebody has looked
    bool values = true;
  };
  struct Notice final : Event {
    void happen() override { network->arrive(*this); }
    Network* network = nullptr;
    heddle::detail::SignalRef signal;
    std::int64_t value = 0;
    Notify how = Notify::set;
    std::uint64_t id = 0;
    std::shared_ptr<SentOrder> order;
    std::uint32_t number = 0;
    bool is_ordered = false;  // released: it arrives after what was sent before it
  };

  void arrive(Flight& flight);
  void arrive(Notice& notice);
  Notice& send(const heddle::detail::SignalRef& signal, std::int64_t value, Notify how, std::uint64_t id,
               std::uint64_t time);
  void has_arrived(SentOrder& order, std::uint32_t number);
  void deliver(Flight& flight, std::uint64_t until);
  Flight& take_flight();
  Notice& take_notice();

  Simulator& simulator_;
  LinkTable links_;
  int ranks_;
  FaultBook& faults_;
  NetworkSink& sink_;
  Observer* observer_;
  std::vector<std::uint64_t> busy_until_;      // of each link, from * ranks + to
  std::vector<std::vector<Flight*>> flights_;  // per destination
  std::deque<Flight> all_flights_;
  std::deque<Notice> all_notices_;
  std::vector<Flight*> spare_flights_;
  std::vector<Notice*> spare_notices_;
};

}  // namespace heddle::lab
