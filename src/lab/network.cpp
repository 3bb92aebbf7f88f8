// SPDX-License-Identifier: Apache-2.0
#include "lab/network.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "host/copy.hpp"
#include "lab/scalar_cache.hpp"

namespace heddle::lab {

namespace {

constexpr std::uint64_t late_notify_ns = 1'000'000;

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

std::uint64_t bytes_of(const heddle::detail::CopyPlan& plan) {
  std::uint64_t bytes = plan.element_bytes;
  for (int d = 0; d < plan.rank; ++d) bytes *= static_cast<std::uint64_t>(plan.shape[d]);
  return bytes;
}

// Calls visit(to, from, bytes) for each run that is contiguous in the destination; the source is packed.
template <class Visit>
void for_each_run(const heddle::detail::CopyPlan& plan, Visit&& visit) {
  std::int64_t run = static_cast<std::int64_t>(plan.element_bytes);
  int outer = plan.rank;
  while (outer > 0 && (plan.shape[outer - 1] == 1 || plan.to_stride[outer - 1] == run)) run *= plan.shape[--outer];
  std::int64_t index[max_tensor_rank]{};
  const std::byte* from = plan.from;
  for (;;) {
    std::byte* to = plan.to;
    for (int d = 0; d < outer; ++d) to += index[d] * plan.to_stride[d];
    visit(to, from, static_cast<std::size_t>(run));
    from += run;
    int d = outer;
    while (d > 0 && ++index[d - 1] == plan.shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

Network::Network(Simulator& simulator, const LinkTable& links, int ranks, FaultBook& faults, NetworkSink& sink,
                 Observer* observer)
    : simulator_(simulator),
      links_(links),
      ranks_(ranks),
      faults_(faults),
      sink_(sink),
      observer_(observer),
      busy_until_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks)),
      flights_(static_cast<std::size_t>(ranks)) {}

std::uint64_t Network::transfer_ends(int from, int to, std::uint64_t bytes, const char* label) {
  const int distance = links_.distance(from, to);
  const auto taken = static_cast<std::uint64_t>(static_cast<double>(bytes) / links_.bytes_per_ns[distance]);
  std::uint64_t& busy =
      busy_until_[static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(to)];
  busy = std::max(busy, simulator_.now()) + taken;
  return busy + simulator_.latency(label, links_.latency[distance]);
}

std::uint64_t Network::put(const Put& put, std::uint64_t id, PeerTraffic& traffic) {
  const std::uint64_t bytes = bytes_of(*put.plan);
  ++puts;
  put_bytes += bytes;
  const std::uint64_t ends = transfer_ends(put.from, put.to, bytes, "latency.put");
  const std::uint64_t arrives = std::max(ends, traffic.floor);
  traffic.puts_arrive = std::max(traffic.puts_arrive, arrives);
  if (bytes == 0) return arrives;
  Flight& flight = take_flight();
  flight.plan = *put.plan;
  flight.to = put.to;
  flight.base = put.window_base;
  flight.begin = put.plan->to;
  flight.end = flight.begin + put.plan->element_bytes;
  for (int d = 0; d < put.plan->rank; ++d) flight.end += (put.plan->shape[d] - 1) * put.plan->to_stride[d];
  flight.issued = std::max(simulator_.now(), traffic.floor);
  flight.arrives = arrives;
  flight.id = id;
  // Named by its block, so that it stays the same when other blocks put more or less.
  flight.salt = mixed(mixed(static_cast<std::uint64_t>(put.from) << 32U | put.block.task.serial) ^
                      (std::uint64_t{put.block.block} << 20U | traffic.puts++));
  flight.values = put.values;
  flight.in_place.clear();
  flight.order = traffic.order;
  flight.number = traffic.order->sent();
  ++traffic.order->puts_out;
  if (put.values) {
    flight.data.resize(bytes);
    heddle::detail::CopyPlan pack = *put.plan;
    pack.to = flight.data.data();
    auto stride = static_cast<std::int64_t>(pack.element_bytes);
    for (int d = pack.rank - 1; d >= 0; --d) {
      pack.to_stride[d] = stride;
      stride *= pack.shape[d];
    }
    host::copy(pack);
    flight.plan.from = flight.data.data();
  }
  flights_[static_cast<std::size_t>(put.to)].push_back(&flight);
  simulator_.at(arrives, flight);
  return arrives;
}

void Network::arrive(Flight& flight) {
  auto& flights = flights_[static_cast<std::size_t>(flight.to)];
  flights.erase(std::find(flights.begin(), flights.end(), &flight));
  deliver(flight, UINT64_MAX);
  simulator_.mix(flight.id);
  if (observer_ != nullptr) observer_->arrived(flight.id);
  --flight.order->puts_out;
  has_arrived(*flight.order, flight.number);
  sink_.memory_changed(flight.to, flight.begin, flight.end);
  spare_flights_.push_back(&flight);
}

void Network::observe(int rank, const std::byte* begin, const std::byte* end) {
  for (Flight* flight : flights_[static_cast<std::size_t>(rank)])
    if (flight->begin < end && begin < flight->end) deliver(*flight, simulator_.now());
}

// Puts the lines in place that have arrived by `until` and are not there yet.
void Network::deliver(Flight& flight, std::uint64_t until) {
  if (!flight.values) return;
  const bool all = until >= flight.arrives;
  if (all && flight.in_place.empty()) {
    for_each_run(flight.plan,
                 [](std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); });
    return;
  }
  if (until <= flight.issued) return;
  const auto first = static_cast<std::uint64_t>(flight.begin - flight.base) / line_bytes;
  const auto last = static_cast<std::uint64_t>(flight.end - 1 - flight.base) / line_bytes;
  if (flight.in_place.empty()) flight.in_place.resize((last - first) / 64 + 1);
  const std::uint64_t span = flight.arrives - flight.issued;
  // A line that comes in several runs is put in place by each of them.
  std::vector<std::uint64_t> now_in_place = flight.in_place;
  for_each_run(flight.plan, [&](std::byte* to, const std::byte* from, std::size_t bytes) {
    while (bytes > 0) {
      const auto offset = static_cast<std::uint64_t>(to - flight.base);
      const std::size_t part = std::min(bytes, line_bytes - offset % line_bytes);
      const std::uint64_t bit = offset / line_bytes - first;
      const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
      const std::uint64_t share = mixed(flight.salt ^ (offset / line_bytes)) >> 40U;  // of 2^24
      const bool here = all || flight.issued + ((span * share) >> 24U) <= until;
      if (here && (flight.in_place[bit / 64] & mask) == 0) {
        std::memcpy(to, from, part);
        now_in_place[bit / 64] |= mask;
      }
      to += part;
      from += part;
      bytes -= part;
    }
  });
  flight.in_place = std::move(now_in_place);
}

void Network::notify(const BlockId& block, std::uint64_t id, const heddle::detail::SignalRef& signal,
                     std::int64_t value, Notify how, Order order, int from, PeerTraffic& traffic) {
  ++notifies;
  const auto cell = [&] {
    const auto offset =
        static_cast<const std::byte*>(signal.cell) - signal.window->part[static_cast<std::size_t>(signal.rank)];
    return std::string(signal.window->name) + "[" + std::to_string(offset / (signal.wide ? 8 : 4)) + "] of rank " +
           std::to_string(signal.rank);
  };
  const auto strike = [&](Fault fault) {
    if (!faults_.strikes(fault)) return false;
    faults_.note(fault, from,
                 std::string(info(fault).help) + ": the one to " + cell() + " from rank " + std::to_string(from) +
                     ", task " + std::to_string(block.task.serial) + ", block " + std::to_string(block.block));
    return true;
  };
  const int distance = links_.distance(from, signal.rank);
  std::uint64_t time = simulator_.now() + simulator_.latency("latency.notify", links_.latency[distance]);
  time = std::max(time, traffic.floor);
  bool is_ordered = order == Order::released;
  if (is_ordered && strike(Fault::payload_after_signal)) is_ordered = false;
  if (is_ordered) time = std::max(time, std::max(traffic.puts_arrive, traffic.notifies_arrive) + 1);
  if (strike(Fault::delayed_notify)) time += late_notify_ns;
  const bool late = strike(Fault::reordered_notify);
  if (late) is_ordered = false;
  if (is_ordered) traffic.notifies_arrive = time;
  if (late) time += late_notify_ns;
  if (strike(Fault::lost_notify)) return;
  Notice& notice = send(signal, value, how, id, time);
  if (is_ordered) {
    notice.order = traffic.order;
    notice.number = traffic.order->sent();
    notice.is_ordered = true;
  } else if (order == Order::relaxed && !late) {
    notice.order = traffic.order;
    ++traffic.order->relaxed_out;
    traffic.relaxed_arrive = std::max(traffic.relaxed_arrive, time);
  }
  if (strike(Fault::duplicated_notify)) send(signal, value, how, id, time + late_notify_ns);
}

Network::Notice& Network::send(const heddle::detail::SignalRef& signal, std::int64_t value, Notify how,
                               std::uint64_t id, std::uint64_t time) {
  Notice& notice = take_notice();
  notice.order = nullptr;
  notice.is_ordered = false;
  notice.signal = signal;
  notice.value = value;
  notice.how = how;
  notice.id = id;
  simulator_.at(time, notice);
  return notice;
}

void Network::has_arrived(SentOrder& order, std::uint32_t number) {
  order.arrives(number);
  for (Event* const event : std::exchange(order.held, {})) simulator_.at(simulator_.now(), *event);
}

void Network::arrive(Notice& notice) {
  if (notice.is_ordered && !notice.order->is_next(notice.number)) {
    notice.order->held.push_back(&notice);
    return;
  }
  simulator_.mix(notice.id);
  if (notice.is_ordered)
    has_arrived(*notice.order, notice.number);
  else if (notice.order != nullptr)
    --notice.order->relaxed_out;
  sink_.update_cell(notice.id, notice.signal, notice.value, notice.how);
  spare_notices_.push_back(&notice);
}

Network::Flight& Network::take_flight() {
  if (spare_flights_.empty()) {
    all_flights_.emplace_back().network = this;
    return all_flights_.back();
  }
  Flight* const flight = spare_flights_.back();
  spare_flights_.pop_back();
  return *flight;
}

Network::Notice& Network::take_notice() {
  if (spare_notices_.empty()) {
    all_notices_.emplace_back().network = this;
    return all_notices_.back();
  }
  Notice* const notice = spare_notices_.back();
  spare_notices_.pop_back();
  return *notice;
}

}  // namespace heddle::lab
