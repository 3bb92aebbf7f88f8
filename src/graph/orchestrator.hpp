// SPDX-License-Identifier: Apache-2.0
//
// A rank's orchestrator: turns submits into tasks in rings, with edges inferred from bytes. One agent at a time runs it
// (the fiber of the rank's program); workers meet it only through slots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <heddle/graph.hpp>
#include <heddle/session.hpp>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/cancelled.hpp"
#include "base/faulty.hpp"
#include "graph/early.hpp"
#include "graph/gate.hpp"
#include "graph/region_map.hpp"
#include "graph/ring.hpp"
#include "graph/ring_report.hpp"
#include "graph/room.hpp"
#include "graph/scopes.hpp"
#include "graph/slot.hpp"

namespace heddle::graph {

inline constexpr std::uint32_t ring_count = 4;
inline constexpr std::int64_t blocks_most = (std::int64_t{1} << 31) - 1;

// What an orchestrator that waits is waiting for, for reports.
struct OrchestratorWait {
  enum class What : std::uint8_t { nothing, ring, region_map, tensor, end } what = What::nothing;
  Resource resource = Resource::none;
  std::uint32_t ring = 0;
  TaskRef task = 0;  // the task that it waits for now
  const char* for_task = "";
  Location location;
};

// What the backend does for an orchestrator.
template <base::Environment E>
class OrchestratorHost : public ReadySink<E> {
 public:
  // The fiber that runs the orchestrator now, and its suspension until somebody resumes it.
  virtual void* current_fiber() = 0;
  virtual void suspend() = 0;
  // Lets other work of this worker go first.
  virtual void yield() = 0;
  virtual bool cancelled() const = 0;
  // Records the failure of this rank and cancels it.
  virtual void fail(Error error) = 0;
  virtual const heddle::detail::WindowTable* find_window(std::string_view name) = 0;
  virtual const heddle::detail::WindowTable* alloc_window(const char* name, std::uint64_t bytes,
                                                          const Location& location) = 0;
  virtual bool in_own_window(const void* data) const = 0;
  // Blocks that take these cores and can run at the same time.
  virtual std::int64_t width_for(Cores cores) const = 0;
  // Whether to tell of each task, once it is placed and before anybody else knows it.
  virtual bool watches() const { return false; }
  virtual void submitted(Slot<E>&, const heddle::detail::TaskRequest&, bool /*manual*/) {}
  // Whether tasks may be placed before their producers complete, and one that may be.
  virtual bool starts_early() const { return false; }
  virtual void candidate(Slot<E>&) {}

 protected:
  ~OrchestratorHost() = default;
};

template <base::Environment E>
class OrchestratorCore final : public heddle::detail::OrchestratorServices {
 public:
  OrchestratorCore(OrchestratorHost<E>& host, const SessionConfig& config)
      : host_(host),
        checked_(config.checked),
        watched_(host.watches()),
        early_(host.starts_early()),
        map_(config.region_entries) {
    for (std::uint32_t i = 0; i < ring_count; ++i) rings_[i] = std::make_unique<Ring<E>>(config.ring, i);
    open_ring(0);
    producers_.reserve(64);
  }
  // Whoever uses the memory next finds it zeroed: stamps stand where tasks had their slots.
  ~OrchestratorCore() override {
    if (!MemoryReuse::active()) return;
    for (std::uint32_t i = 0; i < ring_count; ++i) {
      if (seen_[i].data() == nullptr) continue;
      std::memset(seen_[i].data(), 0, std::min(rings_[i]->head() * sizeof(std::uint32_t), seen_[i].bytes()));
      seen_[i].was_zeroed();
    }
  }

  // ---- the rank's program, from begin_round to end_round ----

  void begin_round(std::int64_t number) {
    const Inside<E> inside(gate_);
    round = number;
    failed_ = false;
    sizing_ = false;
    submitted_ = edges_ = refused_ = 0;
    stuck_ = {};
    scopes_.open_root();
    scopes_.innermost().use = book_.opened(scopes_.innermost());
  }

  // Closes what is open and waits for every task. The rank's graph has retired when it returns.
  void end_round() {
    const Inside<E> inside(gate_);
    note_scopes(0);
    scopes_.close_all();
    if (sizing_) report_sizing();
    for (auto& ring : rings_) {
      ring->set_open_from(ring->head());
      while (!ring->empty()) {
        if (!ring->advance()) wait_for(*ring, {OrchestratorWait::What::end, Resource::none, ring->index(), 0, "", {}});
      }
    }
  }

  heddle::detail::Placement place(heddle::detail::TaskRequest& request) override {
    const Inside<E> inside(gate_);
    if (stopped()) return place_nothing(request);
    validate(request);
    ScopeFrame& scope = scopes_.innermost();
    Ring<E>& ring = open_ring(scope.ring);
    const RingRequest need = infer(request, scope);
    if (const Resource excess = ring.exceeding(need); excess != Resource::none) {
      deadlock(ring, excess, need, request, true);
      return place_nothing(request);
    }
    const std::uint64_t waits = waits_;
    if (!make_map_room(request) || !make_room(ring, need, request)) return place_nothing(request);
    if (waits_ != waits) drop_retired();
    Slot<E>& slot = ring.take(need, rank_context);
    if (scope.first == 0) scope.first = Ring<E>::serial_of(slot.ref);
    fill(slot, request, need);
    if (!scope.manual) record(request, slot.ref);
    slot.scope = scope.serial;
    placed_ = &slot;
    ++submitted_;
    if (watched_) host_.submitted(slot, request, scope.manual);
    return {slot.closure == nullptr ? static_cast<void*>(slot.inline_closure) : slot.closure, {slot.ref}};
  }

  void commit() override {
    const Inside<E> inside(gate_);
    Slot<E>& slot = *std::exchange(placed_, nullptr);
    const auto count = static_cast<std::uint32_t>(producers_.size());
    // relaxed: nobody else knows the slot before the first link publishes it.
    slot.fan_in.store(count + 1, std::memory_order_relaxed);
    if ((slot.flags & slot_starts_early) != 0)
      slot.early.bars.store(count + 1, std::memory_order_relaxed);  // relaxed: as above
    std::uint32_t satisfied = 1;
    for (std::uint32_t i = 0; i < count; ++i) {
      Edge<E>& edge = slot.edge(i);
      edge.consumer = &slot;
      edge.retained = producers_[i].retain ? producers_[i].slot : nullptr;
      if (!producers_[i].wait || !link(*producers_[i].slot, edge)) ++satisfied;
    }
    edges_ += count;
    if ((slot.flags & slot_starts_early) != 0 && unbar(slot, satisfied)) host_.candidate(slot);
    if (satisfy(slot, satisfied)) host_.ready(slot);
    if (++since_yield_ >= yield_interval) {
      since_yield_ = 0;
      host_.yield();
    }
  }

  std::uint64_t begin_scope(bool manual, const Location& location) override {
    const Inside<E> inside(gate_);
    if (scopes_.depth() > Scopes::deepest) {
      throw Error(Code::invalid_argument, "scope: " + std::to_string(Scopes::deepest) + " nested scopes are the limit")
          .at_rank(rank)
          .at_location(location);
    }
    if (!manual && scopes_.innermost().manual)
      throw Error(Code::invalid_argument,
                  "scope: an automatic scope inside a manual one would miss the tasks that infer nothing")
          .at_rank(rank)
          .at_location(location);
    const std::uint64_t serial = scopes_.open(manual, location);
    scopes_.innermost().use = book_.opened(scopes_.innermost());
    return serial;
  }

  void end_scope(std::uint64_t scope) noexcept override {
    const Inside<E> inside(gate_);
    note_scopes(scopes_.depth_of(scope));
    const std::uint32_t touched = scopes_.close(scope);
    for (std::uint32_t i = 0; i < ring_count; ++i)
      if ((touched >> i & 1U) != 0) refresh_open_from(i);
  }

  bool settle(const heddle::detail::ArgRecord& element, const Location& location) override {
    const Inside<E> inside(gate_);
    if (stopped()) {
      stuck_.incomplete = true;                                // what the program does next may depend on the value
      if (++refused_ > refused_most) throw base::Cancelled{};  // a program that polls the element
      return false;
    }
    check_owner(element.owner, "read, write");
    if (element.data == nullptr) heddle::detail::throw_invalid("read, write: the tensor is empty");
    const Region region = Region::contiguous(element.data, element.element_bytes);
    const Access access = element.tag == heddle::detail::Tag::in ? Access::read : Access::write;
    while (!stopped()) {
      begin_producers();
      map_.collect(region, access, live(), [this](TaskRef ref) { add_producer(ref, true, false); });
      if (element.owner.task != 0) add_producer(element.owner.task, true, false);
      drop_complete();
      if (producers_.empty()) return true;
      Slot<E>& slot = *producers_.front().slot;
      wait_for_task(slot, {OrchestratorWait::What::tensor, Resource::none, 0, slot.ref, "", location});
    }
    return false;
  }

  const heddle::detail::WindowTable* window(std::string_view name) override { return host_.find_window(name); }
  const heddle::detail::WindowTable* alloc_window(const char* name, std::uint64_t bytes,
                                                  const Location& location) override {
    return host_.alloc_window(name, bytes, location);
  }
  void fail(std::string message, const Location& location) override {
    if (stopped()) return;
    failed_ = true;
    host_.fail(Error(Code::user_error, std::move(message)).at_location(location));
  }
  bool stopped() const override { return failed_ || host_.cancelled(); }

  // ---- for the backend ----

  void* rank_context = nullptr;
  // The fiber to resume when the last reader of a slot that carries waiting_pin is done.
  void* readers_waker() const { return readers_waker_; }
  const OrchestratorWait& waiting() const { return wait_; }
  // A ring of this round that was too small; resource none: none was.
  const StuckRing& stuck() const { return stuck_; }
  std::uint64_t submitted() const { return submitted_; }
  std::uint64_t edges() const { return edges_; }
  std::uint64_t conservative_overlaps() const { return map_.overlap_statistics().conservative; }
  const Slot<E>* find(TaskRef ref) const {
    return ref == 0 ? nullptr : &rings_[Ring<E>::ring_of(ref)]->slot(Ring<E>::serial_of(ref));
  }
  const Ring<E>& ring(std::uint32_t index) const { return *rings_[index]; }
  const Scopes& scopes() const { return scopes_; }
  // Has its slot, and nobody knows it yet; or null.
  const Slot<E>* placed() const { return placed_; }
  // The orchestrator stands inside it while it changes what all these tell.
  Gate<E>& gate() { return gate_; }
  // The producers that the task submitted last waits for, while OrchestratorHost::submitted() is told of it.
  template <class Visit>
  void for_each_producer(Visit&& visit) const {
    for (const Producer& producer : producers_)
      if (producer.wait) visit(*producer.slot);
  }
  std::uint32_t region_entries() const { return map_.capacity(); }
  // When no round runs.
  RoomUse room_use() const;

 private:
  struct Producer {
    Slot<E>* slot;
    TaskRef ref;
    bool wait;    // the consumer starts after it
    bool retain;  // the consumer uses its memory
  };
  static constexpr std::uint32_t yield_interval = 64;
  static constexpr std::size_t predicate_bytes = (sizeof(heddle::detail::PredicateRecord) + 63) / 64 * 64;

  auto live() {
    return [this](TaskRef ref) {
      const Ring<E>& ring = *rings_[Ring<E>::ring_of(ref)];
      const std::uint64_t serial = Ring<E>::serial_of(ref);
      return serial >= ring.tail() && !ring.slot(serial).complete();
    };
  }

  // The ring with its memory, which only those have that a scope has needed.
  Ring<E>& open_ring(std::uint32_t index) {
    Ring<E>& ring = *rings_[index];
    if (ring.mapped()) return ring;
    seen_[index] =
        LazyMemory(std::bit_ceil(std::uint64_t{ring.config().task_window}) * sizeof(std::uint32_t), "the task window");
    ring.map();
    return ring;
  }

  void begin_producers() {
    producers_.clear();
    if (++stamp_ == 0) {  // the stamps of 2^32 submits ago could be taken for this one's
      for (auto& seen : seen_)
        if (seen.data() != nullptr) std::memset(seen.data(), 0, seen.bytes());
      stamp_ = 1;
    }
  }

  void add_producer(TaskRef ref, bool wait, bool retain) {
    Ring<E>& ring = *rings_[Ring<E>::ring_of(ref)];
    const std::uint64_t serial = Ring<E>::serial_of(ref);
    if (serial < ring.tail()) return;  // retired
    const std::uint64_t index = serial & (std::bit_ceil(std::uint64_t{ring.config().task_window}) - 1);
    auto& seen = reinterpret_cast<std::uint32_t*>(seen_[Ring<E>::ring_of(ref)].data())[index];
    Slot<E>* slot = &ring.slot(serial);
    if (seen == stamp_) {
      if (retain || wait) {
        for (auto& producer : producers_) {
          if (producer.slot != slot) continue;
          producer.wait |= wait;
          producer.retain |= retain;
        }
      }
      return;
    }
    seen = stamp_;
    producers_.push_back({slot, ref, wait, retain});
  }

  // Producers that retired while the orchestrator waited for room: their slots may be given out anew, to this very
  // task.
  void drop_retired() {
    std::erase_if(producers_, [this](const Producer& producer) {
      return Ring<E>::serial_of(producer.ref) < rings_[Ring<E>::ring_of(producer.ref)]->tail();
    });
  }

  void drop_complete() {
    std::erase_if(producers_, [](const Producer& producer) { return producer.slot->complete(); });
  }

  // Whether a handle still names a task: its scope is open, so that it has not retired.
  bool is_current(TaskRef ref) const {
    const Ring<E>& ring = *rings_[Ring<E>::ring_of(ref)];
    const std::uint64_t serial = Ring<E>::serial_of(ref);
    return serial >= ring.tail() && serial < ring.head() && scopes_.is_open(ring.slot(serial).scope);
  }

  void check_owner(const heddle::detail::Owner& owner, const char* what) const {
    if (owner.task != 0 && !is_current(owner.task))
      throw Error(Code::invalid_argument,
                  std::string(what) + ": the tensor's scope has ended; its memory is no longer its own")
          .with_hint("submit what uses a runtime-allocated tensor before its scope ends");
  }

  static Region region_of(const heddle::detail::ArgRecord& arg) {
    const Region region = Region::from_view(arg.data, arg.rank, arg.shape, arg.stride, arg.element_bytes);
    if (!base::faulty<E>("region_bounding_box")) return region;
    return Region::contiguous(arg.data, region.extent);
  }
  static bool inferred(const heddle::detail::ArgRecord& arg) {
    return arg.tag == heddle::detail::Tag::in || arg.tag == heddle::detail::Tag::out ||
           arg.tag == heddle::detail::Tag::inout;
  }

  static std::uint64_t round_up(std::uint64_t bytes) {
    return (bytes + heap_alignment - 1) / heap_alignment * heap_alignment;
  }

  // What a task keeps in its ring's heap besides tensors: what does not fit into its slot.
  static std::uint64_t extra_bytes(const heddle::detail::TaskRequest& request) {
    std::uint64_t bytes = request.conditions.size() * deferred_condition_bytes;
    if (request.predicate != nullptr) bytes += predicate_bytes;
    if (closure_is_large(request)) bytes += request.closure_bytes + request.closure_align;
    return bytes;
  }
  static bool closure_is_large(const heddle::detail::TaskRequest& request) {
    return request.closure_bytes > Slot<E>::inline_closure_bytes || request.closure_align > alignof(Slot<E>);
  }

  std::uint32_t accesses(const heddle::detail::TaskRequest& request) const {
    std::uint32_t count = request.predicate != nullptr ? 1 : 0;
    for (const auto& arg : request.args) count += inferred(arg) ? 1 : 0;
    return count;
  }

  void record(const heddle::detail::TaskRequest& request, TaskRef ref) {
    for (const auto& arg : request.args)
      if (inferred(arg))
        map_.record(region_of(arg), arg.tag == heddle::detail::Tag::in ? Access::read : Access::write, ref, live());
    if (request.predicate != nullptr)
      map_.record(Region::contiguous(request.predicate->element, request.predicate->element_bytes), Access::read, ref,
                  live());
  }

  void validate(const heddle::detail::TaskRequest& request) const;
  RingRequest infer(const heddle::detail::TaskRequest& request, const ScopeFrame& scope);
  void fill(Slot<E>& slot, heddle::detail::TaskRequest& request, const RingRequest& need);
  void fill_early(Slot<E>& slot, const heddle::detail::TaskRequest& request);
  void place_memory(Slot<E>& slot, heddle::detail::TaskRequest& request);

  bool make_map_room(const heddle::detail::TaskRequest& request);
  bool make_room(Ring<E>& ring, const RingRequest& need, const heddle::detail::TaskRequest& request);
  void wait_for(Ring<E>& ring, OrchestratorWait wait);
  void wait_for_task(Slot<E>& slot, const OrchestratorWait& wait);
  void wait_for_readers(Slot<E>& slot, const OrchestratorWait& wait);

  void deadlock(Ring<E>& ring, Resource resource, const RingRequest& need, const heddle::detail::TaskRequest& request,
                bool exceeds);
  heddle::detail::Placement place_nothing(heddle::detail::TaskRequest& request);
  void report_sizing();

  void refresh_open_from(std::uint32_t index) {
    const std::uint64_t first = scopes_.first_in(index);
    rings_[index]->set_open_from(first == 0 ? rings_[index]->head() : first);
  }

  void note_scopes(std::size_t depth);

  static constexpr std::uint64_t refused_most = 10'000'000;

  OrchestratorHost<E>& host_;
  Gate<E> gate_;
  bool checked_;
  bool watched_;
  bool early_;
  RegionMap map_;
  std::unique_ptr<Ring<E>> rings_[ring_count];
  LazyMemory seen_[ring_count];
  Scopes scopes_;
  ScopeBook book_;
  std::vector<Producer> producers_;
  std::uint32_t stamp_ = 0;
  std::uint32_t since_yield_ = 0;
  Slot<E>* placed_ = nullptr;
  Slot<E> waker_{base::Work::Kind::wake};
  Edge<E> waker_edge_;
  void* readers_waker_ = nullptr;
  OrchestratorWait wait_;
  bool failed_ = false;
  bool sizing_ = false;
  StuckRing stuck_;
  std::uint64_t refused_ = 0;
  std::uint64_t waits_ = 0;
  std::uint64_t submitted_ = 0;
  std::uint64_t edges_ = 0;
};

}  // namespace heddle::graph

#include "graph/orchestrator_room.hpp"
#include "graph/orchestrator_submit.hpp"
