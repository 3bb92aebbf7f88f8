// SPDX-License-Identifier: Apache-2.0
//
// The memory model of the machine: see machine.hpp for what it promises.
#include <algorithm>
#include <cstring>
#include <utility>

#include "lab/agent.hpp"
#include "lab/machine.hpp"

namespace heddle::lab {

namespace {

constexpr std::size_t buffered_stores_max = 16;

bool acquires(std::memory_order order) {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}

bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

}  // namespace

void Machine::race(const char* access, const void* address, const char* other_access, std::uint32_t other) {
  const auto found = labels_.find(address);
  const std::string& other_name = agents_[other]->name;
  std::string where = "an unlabelled cell";
  if (found != labels_.end()) where = found->second;
  stop(Outcome::Kind::race,
       std::string(access) + " of " + where + " by " + now_running().name + " is not ordered with " + other_access +
           " by " + other_name,
       {now_running().name, other_name});
}

void Machine::release_step(Agent& agent) noexcept {
  const std::uint32_t id = running_;
  agent.clock.set(id, agent.clock.at(id) + 1);
}

void Machine::flush_one(Agent& agent, std::size_t index) {
  PendingStore& pending = agent.buffer[index];
  std::memcpy(pending.address, &pending.bits, pending.size);
  pending.cell->run = run_id_;
  show(*pending.cell);
  pending.cell->release = std::move(pending.clock);
  agent.buffer.erase(agent.buffer.begin() + static_cast<std::ptrdiff_t>(index));
  --pending_stores_;
}

void Machine::flush_all(Agent& agent) {
  while (!agent.buffer.empty()) flush_one(agent, 0);
}

void Machine::flush_somewhere(std::uint64_t random) {
  std::uint64_t skip = random % pending_stores_;
  std::uint32_t id = 0;
  while (skip >= agents_[id]->buffer.size()) {
    skip -= agents_[id]->buffer.size();
    ++id;
  }
  // The chosen store, or the first before it that may go.
  Agent& agent = *agents_[id];
  const auto& buffer = agent.buffer;
  const auto may_go = [&](std::size_t index) {
    if (buffer[index].release) return index == 0;
    for (std::size_t before = 0; before < index; ++before) {
      if (buffer[before].address == buffer[index].address || buffer[before].group != buffer[index].group) return false;
    }
    return true;
  };
  auto index = static_cast<std::size_t>(skip);
  while (!may_go(index)) --index;
  note((std::uint64_t{id} << 32U) + index + 1);
  flush_one(agent, index);
}

// Loads get the present value from now on.
void Machine::show(CellHistory& cell) {
  if (!cell.unseen) return;
  cell.unseen = false;
  std::erase(unseen_, &cell);
}

void Machine::show_all_of(std::uint32_t agent) {
  std::erase_if(unseen_, [&](CellHistory* cell) {
    if (cell->unseen_change.agent != agent) return false;
    cell->unseen = false;
    return true;
  });
}

CellHistory& Machine::refresh(CellHistory& cell, const void* address) {
  if (cell.run != run_id_) {
    cell = CellHistory();
    cell.run = run_id_;
  }
  if (!now_running().clock.covers(cell.born)) race("use", address, "construction", cell.born.agent);
  return cell;
}

PlainHistory& Machine::refresh(PlainHistory& plain) const {
  if (plain.run != run_id_) plain = PlainHistory{.run = run_id_, .write = {}, .reads = {}};
  return plain;
}

ParkerHistory& Machine::refresh(ParkerHistory& parker) const {
  if (parker.run != run_id_) {
    parker.run = run_id_;  // a token from before the run stays
    parker.release.clear();
    parker.waiter = Epoch::nobody;
  }
  return parker;
}

std::uint64_t Machine::load(CellHistory& cell, const void* address, std::size_t size, std::memory_order order) {
  step("load");
  refresh(cell, address);
  Agent& agent = now_running();
  for (std::size_t index = agent.buffer.size(); index-- > 0;) {
    if (agent.buffer[index].address == address) return agent.buffer[index].bits;
  }
  const bool old = cell.unseen && !agent.clock.covers(cell.unseen_change);
  std::uint64_t bits = cell.bits_before;
  if (!old) {
    bits = 0;
    std::memcpy(&bits, address, size);
  }
  (acquires(order) ? agent.clock : agent.relaxed_seen).join(old ? cell.release_before : cell.release);
  return bits;
}

void Machine::store(CellHistory& cell, void* address, std::size_t size, std::uint64_t bits, std::memory_order order) {
  step("store");
  refresh(cell, address);
  Agent& agent = now_running();
  const bool release = releases(order);
  agent.buffer.push_back(PendingStore{.cell = &cell,
                                      .address = address,
                                      .size = size,
                                      .bits = bits,
                                      .clock = release ? agent.clock : agent.release_fence,
                                      .group = agent.group,
                                      .release = release});
  ++pending_stores_;
  if (release) release_step(agent);
  if (order == std::memory_order_seq_cst) {
    flush_all(agent);
    show_all_of(running_);
  }
  if (agent.buffer.size() > buffered_stores_max) flush_one(agent, 0);
}

void Machine::begin_modify(CellHistory& cell, const void* address, std::size_t size, const char* what) {
  step(what);
  refresh(cell, address);
  flush_all(now_running());
  show(cell);  // what was there before the last one is gone
  cell.bits_before = 0;
  std::memcpy(&cell.bits_before, address, size);
}

void Machine::end_modify(CellHistory& cell, std::memory_order order, bool stored) {
  Agent& agent = now_running();
  (acquires(order) ? agent.clock : agent.relaxed_seen).join(cell.release);
  if (!stored) return;
  if (order == std::memory_order_seq_cst) {
    show_all_of(running_);
  } else {
    cell.unseen = true;
    cell.unseen_change = Epoch{running_, agent.clock.at(running_)};
    cell.release_before = cell.release;
    unseen_.push_back(&cell);
  }
  // A read-modify-write continues the release sequence that it reads from.
  if (releases(order)) {
    cell.release.join(agent.clock);
    release_step(agent);
  } else {
    cell.release.join(agent.release_fence);
  }
}

void Machine::fence(std::memory_order order) {
  step("fence");
  Agent& agent = now_running();
  if (order == std::memory_order_seq_cst) {
    flush_all(agent);
    show_all_of(running_);
  }
  if (acquires(order)) agent.clock.join(agent.relaxed_seen);
  if (releases(order)) {
    agent.release_fence = agent.clock;
    ++agent.group;
    release_step(agent);
  }
}

void Machine::born(CellHistory& cell) {
  cell.run = run_id_;
  cell.born = Epoch{running_, now_running().clock.at(running_)};
}

// The end of a cell while another agent's store to it is still on its way is not ordered after that store.
void Machine::gone(CellHistory& cell, const void* address) {
  refresh(cell, address);
  show(cell);
  for (std::uint32_t id = 0; id < agents_.size(); ++id) {
    auto& buffer = agents_[id]->buffer;
    const auto kept = std::remove_if(buffer.begin(), buffer.end(),
                                     [&](const PendingStore& pending) { return pending.cell == &cell; });
    if (kept == buffer.end()) continue;
    if (id != running_) race("destruction", address, "a store", id);
    pending_stores_ -= static_cast<std::size_t>(buffer.end() - kept);
    buffer.erase(kept, buffer.end());
  }
}

void Machine::read(PlainHistory& plain, const void* address, bool is_step) {
  if (is_step) step("read");
  refresh(plain);
  const VectorClock& clock = now_running().clock;
  if (!clock.covers(plain.write)) race("read", address, "a write", plain.write.agent);
  plain.reads.set(running_, clock.at(running_));
}

void Machine::write(PlainHistory& plain, const void* address, bool is_step) {
  if (is_step) step("write");
  refresh(plain);
  const VectorClock& clock = now_running().clock;
  if (!clock.covers(plain.write)) race("write", address, "a write", plain.write.agent);
  const std::uint32_t reader = plain.reads.first_beyond(clock);
  if (reader != Epoch::nobody) race("write", address, "a read", reader);
  plain.write = Epoch{running_, clock.at(running_)};
  plain.reads.clear();
}

bool Machine::park(ParkerHistory& parker, std::uint64_t deadline) {
  step("park");
  refresh(parker);
  Agent& agent = now_running();
  flush_all(agent);
  show_all_of(running_);
  bool found = parker.token;
  if (!found && deadline > time_) {
    parker.waiter = running_;
    agent.parked = true;
    agent.deadline = deadline;
    std::erase(runnable_, running_);
    continue_with(next_after_block());
    parker.waiter = Epoch::nobody;
    found = parker.token;
  }
  parker.token = false;
  if (found) agent.clock.join(parker.release);
  note_event(found ? "woken" : "deadline passed");
  return found;
}

void Machine::unpark(ParkerHistory& parker) {
  step("unpark");
  refresh(parker);
  Agent& agent = now_running();
  flush_all(agent);
  show_all_of(running_);
  parker.token = true;
  parker.release.join(agent.clock);
  release_step(agent);
  if (parker.waiter == Epoch::nobody) return;
  Agent& waiter = *agents_[parker.waiter];
  if (!waiter.parked) return;
  waiter.parked = false;
  runnable_.push_back(parker.waiter);
}

}  // namespace heddle::lab
