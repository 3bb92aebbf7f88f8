// SPDX-License-Identifier: Apache-2.0
//
// The worker pool: agents that take up work, and fibers that let a block wait without holding its worker.
//
// Every worker runs a *loop fiber*: find work, do it, repeat. Work that does not wait costs no switch. Work that waits
// suspends the loop fiber that it stands on, and the worker goes on with a spare one; resumed, the fiber is work
// itself, for any worker.
//
// fiber state   running -> parked (by the worker that left it, once its context is kept) -> resumed -> running
//               running -> resumed (somebody was faster than the switch) -> queued by the worker that left it
//
// A worker that finds nothing spins for a bounded time, announces that it sleeps, looks once more, and parks. Whoever
// makes work looks for sleepers after queueing it, so that one of the two sees the other. The worker whose announcement
// completes the count, and which then finds nothing, has proved that no work of the pool can make progress: every
// fiber is parked, and only an agent outside could wake one. It tells the listeners.
//
// Stealing. To move a task to another core costs more than to run a short one. A thief therefore takes work only when
// it has seen the same oldest item wait for its *patience*, and then takes up to half of what is there. Work that turns
// out to be long makes the thief impatient, short work makes it patient.
#pragma once

#include <algorithm>
#include <cstdint>
#include <heddle/types.hpp>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/deque.hpp"
#include "base/environment.hpp"
#include "base/fiber.hpp"
#include "base/lock.hpp"
#include "base/work.hpp"
#include "host/worker_busy.hpp"

namespace heddle::host {

struct PoolConfig {
  std::uint32_t workers = 1;
  std::size_t stack_bytes = 256U << 10U;
  std::uint32_t fibers_most = 17U << 10U;  // loop fibers, parked ones included
  std::uint32_t deque_capacity = 8192;
  std::uint32_t spin_rounds = 48;  // looks for work before a worker sleeps
  std::uint32_t patience = 128;    // pauses; the least of a patient thief
  std::uint32_t patience_most = 1U << 14U;
  std::uint32_t short_ns = 1000;  // work shorter than this is not worth moving
};

template <base::Environment E>
class Pool;

// A loop fiber.
template <base::Environment E>
struct LoopFiber : base::Work {
  enum State : std::uint32_t { running, parked, resumed };
  LoopFiber(Pool<E>& in, std::size_t stack_bytes, void (*entry)(void*))
      : Work(Kind::fiber), pool(in), fiber(stack_bytes, entry, this) {}
  Pool<E>& pool;
  base::Fiber fiber;
  typename E::template Atomic<std::uint32_t> state{running};
};

template <base::Environment E>
struct alignas(64) Worker {
  Worker(Pool<E>& in, std::uint32_t number, std::uint32_t capacity) : pool(in), index(number), deque(capacity) {}
  Pool<E>& pool;
  std::uint32_t index;
  std::uint32_t turn = 0;
  base::Work* next = nullptr;  // taken up before anything else; no thief sees it
  bool idled = true;           // it has looked for work since it last ran a block; the block's services clear it
  WorkerBusy<E> busy;
  LoopFiber<E>* current = nullptr;
  // What the fiber that a switch has left is to become, once it is left.
  enum class Leave : std::uint8_t { nothing, spare, park, yield } leave = Leave::nothing;
  LoopFiber<E>* left = nullptr;
  base::Fiber outside = base::Fiber::adopt();  // the agent's own context
  struct Thief {
    std::uint32_t patience = 0;
    std::uint32_t victim = 0;  // the item last seen waiting, and for how long
    std::int64_t oldest = -1;
    std::uint32_t waited = 0;
    std::uint32_t turn = 0;  // when it last stole
    std::uint64_t since = 0;
    bool measuring = false;
  } thief;
  base::WorkDeque<E, base::Work*> deque;
  alignas(64) typename E::template Atomic<std::uint32_t> sleeping{0};
  typename E::Parker parker;
};

// Work of kind `call`.
struct CallWork : base::Work {
  CallWork() : Work(Kind::call) {}
  virtual void run() = 0;

 protected:
  ~CallWork() = default;
};

// What the pool runs, and tells.
template <base::Environment E>
class PoolClient {
 public:
  virtual void execute(base::Work& task) = 0;

 protected:
  ~PoolClient() = default;
};
class QuiescenceListener {
 public:
  // Nothing in the pool can make progress. Called under the pool's registry lock.
  virtual void quiescent() = 0;

 protected:
  ~QuiescenceListener() = default;
};

template <base::Environment E>
class Pool {
 public:
  Pool(const PoolConfig& config, PoolClient<E>& client) : config_(config), client_(client) {
    for (std::uint32_t i = 0; i < config.workers; ++i)
      workers_.push_back(std::make_unique<Worker<E>>(*this, i, config.deque_capacity));
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  std::uint32_t size() const { return config_.workers; }
  Worker<E>& worker(std::uint32_t index) { return *workers_[index]; }

  // The worker that the calling agent is, or null. Never keep it across a suspension.
  static Worker<E>* current() { return static_cast<Worker<E>*>(E::self()); }

  // The body of one of the pool's agents; returns after stop().
  void run_worker(std::uint32_t index) {
    Worker<E>& worker = *workers_[index];
    E::self() = &worker;
    LoopFiber<E>* fiber = spare();
    worker.current = fiber;
    base::Fiber::switch_to(worker.outside, fiber->fiber);
    finish_leaving(worker);
    E::self() = nullptr;
  }

  // Makes the workers return once they find no more work. Parked fibers are not unwound: resume them first.
  void stop() {
    stopping_.store(1, std::memory_order_seq_cst);  // seq_cst: partner is the look before sleeping
    for (auto& worker : workers_) wake(*worker);
  }

  // ---- from workers ----

  // Queues work on this worker; from any other agent, on the common queue.
  void ready(base::Work& work) {
    Worker<E>* worker = current();
    if (worker == nullptr || &worker->pool != this || !worker->deque.push(&work)) {
      inject(work);
      return;
    }
    wake_a_sleeper();
  }

  // As ready(), for work that the calling worker takes up next: the first task that the end of another makes ready runs
  // where its producer's data is.
  void ready_next(base::Work& work) {
    if (Worker<E>* worker = current(); worker != nullptr && worker->next == nullptr) {
      worker->next = &work;
    } else {
      ready(work);
    }
  }

  // Blocks that can run at the same time, each of them on these cores.
  std::int64_t width_for(Cores cores) const { return static_cast<std::int64_t>(config_.workers) / cores.count(); }
  static constexpr bool values() { return true; }

  LoopFiber<E>* current_fiber() const { return current()->current; }

  // A loop fiber to go on with when this one suspends; null when the limit is reached or there is no memory for it.
  LoopFiber<E>* spare() {
    {
      const std::lock_guard guard(fibers_lock_);
      if (spares_ != nullptr) {
        LoopFiber<E>* fiber = spares_;
        spares_ = static_cast<LoopFiber<E>*>(fiber->next);
        return fiber;
      }
      if (fibers_made_ >= config_.fibers_most) return nullptr;
      ++fibers_made_;
    }
    return make_fiber();
  }

  // Leaves this fiber until resume() names it, which may have happened already. `with` comes from spare().
  void suspend(LoopFiber<E>& with) { leave(Worker<E>::Leave::park, with); }

  // A spare fiber that was not needed after all.
  void give_back(LoopFiber<E>& fiber) { keep(fiber); }

  // Lets queued work go first, when there is any.
  void yield() {
    Worker<E>* worker = current();
    if (worker->deque.empty()) return;
    if (LoopFiber<E>* with = spare(); with != nullptr) leave(Worker<E>::Leave::yield, *with);
  }

  // From any agent, once for each suspend().
  void resume(LoopFiber<E>& fiber) {
    // acq_rel: partner is the exchange in finish_leaving(); whichever comes second queues the fiber.
    if (fiber.state.exchange(LoopFiber<E>::resumed, E::order("fiber_resume", std::memory_order_acq_rel)) ==
        LoopFiber<E>::parked)
      ready(fiber);
  }

  // ---- from any agent ----

  void inject(base::Work& work) {
    {
      const std::lock_guard guard(inject_lock_);
      work.next = nullptr;
      *inject_end_ = &work;
      inject_end_ = &work.next;
      injected_.fetch_add(1, std::memory_order_relaxed);  // relaxed: the lock orders, and the fence in wake_a_sleeper()
    }
    wake_a_sleeper();
  }

  // Whether every worker sleeps now; one that is being woken does not.
  bool all_asleep() const { return sleepers_.load(std::memory_order_seq_cst) == config_.workers; }

  // Under the registry lock no round starts and none is judged.
  base::SpinLock<E>& registry_lock() { return registry_lock_; }
  void add(QuiescenceListener& listener) {
    const std::lock_guard guard(registry_lock_);
    listeners_.push_back(&listener);
  }
  void remove(QuiescenceListener& listener) {
    const std::lock_guard guard(registry_lock_);
    std::erase(listeners_, &listener);
  }

  // Whether the calling worker has other work queued that a spin would hold up.
  bool has_local_work() const { return !current()->deque.empty() || injected_.load(std::memory_order_relaxed) != 0; }

 private:
  static void loop_entry(void* argument) {
    auto& self = *static_cast<LoopFiber<E>*>(argument);
    Pool& pool = self.pool;
    finish_leaving(*current());
    for (;;) {
      base::Work* work = pool.find();
      if (work == nullptr) {
        Worker<E>& worker = *current();
        worker.leave = Worker<E>::Leave::spare;
        worker.left = &self;
        base::Fiber::switch_to(self.fiber, worker.outside);
        finish_leaving(*current());  // a later run_worker took it up again
        continue;
      }
      if (work->kind == base::Work::Kind::fiber) {
        pool.leave(Worker<E>::Leave::spare, *static_cast<LoopFiber<E>*>(work));
      } else if (work->kind == base::Work::Kind::call) {
        static_cast<CallWork*>(work)->run();
      } else {
        pool.client_.execute(*work);
      }
    }
  }

  // Switches from the fiber that runs to another, and says what becomes of the one left.
  void leave(typename Worker<E>::Leave how, LoopFiber<E>& to) {
    Worker<E>& worker = *current();
    LoopFiber<E>& self = *worker.current;
    worker.leave = how;
    worker.left = &self;
    worker.current = &to;
    base::Fiber::switch_to(self.fiber, to.fiber);
    Worker<E>& here = *current();  // perhaps another worker
    finish_leaving(here);
    self.state.store(LoopFiber<E>::running,
                     std::memory_order_relaxed);  // relaxed: nobody resumes it before it registers anew
  }

  // On the far side of a switch, when the context left is kept and may be taken up elsewhere.
  static void finish_leaving(Worker<E>& worker) {
    using Leave = typename Worker<E>::Leave;
    LoopFiber<E>* left = worker.left;
    const Leave how = worker.leave;
    worker.left = nullptr;
    worker.leave = Leave::nothing;
    switch (how) {
      case Leave::nothing:
        break;
      case Leave::spare:
        worker.pool.keep(*left);
        break;
      case Leave::yield:
        worker.pool.inject(*left);
        break;
      case Leave::park:
        // acq_rel: partner is the exchange in resume().
        if (left->state.exchange(LoopFiber<E>::parked, E::order("fiber_park", std::memory_order_acq_rel)) ==
            LoopFiber<E>::resumed) {
          E::mark("resumed_before_parked");
          worker.pool.ready(*left);
        }
        break;
    }
  }

  LoopFiber<E>* make_fiber() {
    std::unique_ptr<LoopFiber<E>> made;
    try {
      made = std::make_unique<LoopFiber<E>>(*this, config_.stack_bytes, &Pool::loop_entry);
    } catch (const std::bad_alloc&) {  // no memory or no mapping left
      const std::lock_guard guard(fibers_lock_);
      --fibers_made_;
      return nullptr;
    }
    LoopFiber<E>* fiber = made.get();
    const std::lock_guard guard(fibers_lock_);
    fibers_.push_back(std::move(made));
    return fiber;
  }

  void keep(LoopFiber<E>& fiber) {
    const std::lock_guard guard(fibers_lock_);
    fiber.next = spares_;
    spares_ = &fiber;
  }

  // Work to do, or null when the pool stops.
  base::Work* find() {
    for (;;) {
      Worker<E>& worker = *current();
      if (base::Work* work = take(worker); work != nullptr) return work;
      if (base::Work* work = spin(worker); work != nullptr) return work;
      if (!sleep(worker)) return nullptr;
    }
  }

  base::Work* take(Worker<E>& worker) {
    if (worker.next != nullptr) return std::exchange(worker.next, nullptr);
    if (++worker.turn % inject_interval == 0) {
      if (base::Work* work = take_injected(); work != nullptr) return work;
    }
    if (base::Work* work = worker.deque.pop(); work != nullptr) return work;
    return take_injected();
  }

  base::Work* take_injected() {
    if (injected_.load(std::memory_order_relaxed) == 0)
      return nullptr;  // relaxed: a hint; a sleeper looks under seq_cst
    const std::lock_guard guard(inject_lock_);
    base::Work* work = inject_first_;
    if (work == nullptr) return nullptr;
    inject_first_ = work->next;
    if (inject_first_ == nullptr) inject_end_ = &inject_first_;
    injected_.fetch_sub(1, std::memory_order_relaxed);
    return work;
  }

  // The oldest work of another worker, if it has waited for this thief's patience; `pauses` have passed since the last
  // look.
  base::Work* steal(Worker<E>& worker, std::uint32_t pauses) {
    auto& thief = worker.thief;
    for (std::uint32_t i = 1; i < config_.workers; ++i) {
      const std::uint32_t index = (worker.index + i) % config_.workers;
      auto& deque = workers_[index]->deque;
      const auto seen = deque.glance();
      if (seen.count <= 0) continue;
      if (thief.patience > 0) {
        const bool same = thief.victim == index && thief.oldest == seen.oldest;
        thief.waited = same ? thief.waited + pauses : 0;
        thief.victim = index;
        thief.oldest = seen.oldest;
        if (thief.waited < thief.patience) return nullptr;
      }
      base::Work* work = deque.steal();
      if (work == nullptr) continue;
      for (std::int64_t more = std::min(seen.count / 2, std::int64_t{steal_most}); more > 0; --more) {
        base::Work* another = deque.steal();
        if (another == nullptr || !keep_stolen(worker, *another)) break;
      }
      thief.measuring = true;
      thief.turn = worker.turn;
      thief.since = E::now();
      return work;
    }
    return nullptr;
  }

  // A thief's own deque is empty when it steals, and larger than what it takes at a time.
  bool keep_stolen(Worker<E>& worker, base::Work& work) {
    if (worker.deque.push(&work)) return true;
    inject(work);
    return false;
  }

  // What was stolen last is done: was it worth it?
  void judge_theft(Worker<E>& worker) {
    auto& thief = worker.thief;
    if (!thief.measuring) return;
    thief.measuring = false;
    const std::uint64_t each = (E::now() - thief.since) / (worker.turn - thief.turn + 1);
    thief.patience =
        each >= config_.short_ns ? 0 : std::clamp(thief.patience * 2, config_.patience, config_.patience_most);
  }

  // The pauses between looks grow, so that a thief does not slow down whom it watches.
  base::Work* spin(Worker<E>& worker) {
    judge_theft(worker);
    worker.idled = true;
    std::uint32_t pauses = 0;
    std::uint32_t step = 0;
    for (std::uint32_t round = 0; round < config_.spin_rounds; ++round) {
      if (base::Work* work = take_injected(); work != nullptr) return work;
      if (base::Work* work = steal(worker, step); work != nullptr) return work;
      step = std::max(2U << std::min(round / 4, 6U), worker.thief.patience / 4);
      for (std::uint32_t i = 0; i < step; ++i) E::pause(pauses++);
    }
    return nullptr;
  }

  // Parks the agent until there may be work. False when the pool stops.
  bool sleep(Worker<E>& worker) {
    worker.sleeping.store(1, std::memory_order_seq_cst);
    // seq_cst: before the looks below; partner is the fence in wake_a_sleeper().
    const bool is_last =
        sleepers_.fetch_add(1, E::order("sleep_announce", std::memory_order_seq_cst)) + 1 == config_.workers;
    const bool stopping = stopping_.load(std::memory_order_seq_cst) != 0;
    if (stopping || anything_queued()) {
      if (!claim(worker)) worker.parker.park();  // a waker was faster: take its token
      return !stopping || anything_queued();
    }
    if (is_last) tell_listeners();
    worker.parker.park();
    return true;
  }

  bool anything_queued() {
    E::fence(std::memory_order_seq_cst);
    if (injected_.load(std::memory_order_relaxed) != 0) return true;
    return std::any_of(workers_.begin(), workers_.end(), [](const auto& worker) { return !worker->deque.empty(); });
  }

  void tell_listeners() {
    const std::lock_guard guard(registry_lock_);
    // Since this worker looked, a listener told by another one, or an agent outside, may have queued work. Then it has
    // woken a worker, and the last one to sleep after that tells.
    if (!all_asleep() || anything_queued()) return;
    for (QuiescenceListener* listener : listeners_) listener->quiescent();
  }

  // Takes a worker out of the sleepers. False when another agent has.
  bool claim(Worker<E>& worker) {
    if (worker.sleeping.exchange(0, std::memory_order_seq_cst) == 0) return false;
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    return true;
  }
  void wake(Worker<E>& worker) {
    if (claim(worker)) worker.parker.unpark();
  }
  void wake_a_sleeper() {
    // seq_cst: after the work was queued; partner is the announcement in sleep().
    E::fence(E::order("wake_fence", std::memory_order_seq_cst));
    if (sleepers_.load(std::memory_order_relaxed) == 0) return;
    for (auto& worker : workers_) {
      if (worker->sleeping.load(std::memory_order_relaxed) == 0 || !claim(*worker)) continue;
      worker->parker.unpark();
      return;
    }
  }

  static constexpr std::uint32_t inject_interval = 61;
  static constexpr std::uint32_t steal_most = 16;

  PoolConfig config_;
  PoolClient<E>& client_;
  std::vector<std::unique_ptr<Worker<E>>> workers_;

  alignas(64) typename E::template Atomic<std::uint32_t> sleepers_{0};
  alignas(64) typename E::template Atomic<std::uint32_t> injected_{0};
  typename E::template Atomic<std::uint32_t> stopping_{0};
  base::SpinLock<E> inject_lock_;
  base::Work* inject_first_ = nullptr;
  base::Work** inject_end_ = &inject_first_;

  base::SpinLock<E> fibers_lock_;
  LoopFiber<E>* spares_ = nullptr;
  std::uint32_t fibers_made_ = 0;
  std::vector<std::unique_ptr<LoopFiber<E>>> fibers_;

  base::SpinLock<E> registry_lock_;
  std::vector<QuiescenceListener*> listeners_;
};

}  // namespace heddle::host
