// SPDX-License-Identifier: Apache-2.0
#include "host/pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/host_environment.hpp"
#include "base/mutant.hpp"
#include "base/sanitizer.hpp"
#include "lab/lab_environment.hpp"
#include "lab/mutant_search.hpp"

namespace heddle::host {
namespace {

using base::HostEnvironment;
using base::MutantHostEnvironment;
using lab::LabEnvironment;
using lab::Machine;
using lab::Outcome;

// On real threads nobody catches this: the process ends with the message.
void expect(bool condition, const char* what) {
  if (condition) return;
  if (Machine* const machine = Machine::current()) machine->fail(what);
  throw std::runtime_error(what);
}

template <base::Environment E>
struct NoTasks final : PoolClient<E> {
  void execute(base::Work&) override { throw std::logic_error("there are no tasks here"); }
};

struct Call final : CallWork {
  std::function<void()> body;
  void run() override { body(); }
};

PoolConfig small(std::uint32_t workers) {
  PoolConfig config;
  config.workers = workers;
  config.fibers_most = 64;
  config.deque_capacity = 4;
  config.spin_rounds = 2;
  config.patience = 2;
  config.patience_most = 4;
  return config;
}

// A pool and the calls that run on it. An agent outside of the pool injects the first of them, waits until all have
// ended, and stops the pool.
template <base::Environment E>
class Scene {
 public:
  explicit Scene(std::uint32_t workers) : pool_(small(workers), client_) {}
  virtual ~Scene() = default;
  Pool<E>& pool() { return pool_; }

  virtual void outside() {
    for (Call* call : first_) pool_.inject(*call);
    done_.park();
    pool_.stop();
  }

 protected:
  // Before the agents run. `injected`: from outside; otherwise another call makes it ready.
  Call& add(bool injected, std::function<void()> body) {
    calls_.push_back(std::make_unique<Call>());
    Call& call = *calls_.back();
    if (injected) first_.push_back(&call);
    left_.store(left_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    call.body = [this, counted = std::move(body)] {
      counted();
      // acq_rel: a release sequence over the calls; the last one's unpark publishes all of them.
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.unpark();
    };
    return call;
  }
  void suspend() {
    LoopFiber<E>* with = pool_.spare();
    expect(with != nullptr, "there was no spare fiber");
    pool_.suspend(*with);
  }

  NoTasks<E> client_;
  Pool<E> pool_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<Call*> first_;
  typename E::template Atomic<std::uint32_t> left_{0};
  typename E::Parker done_;
};

// Pairs of calls that exchange values, round after round: the first to come suspends until the second resumes it.
template <base::Environment E>
class Meetings final : public Scene<E> {
 public:
  Meetings(std::uint32_t workers, std::uint32_t rounds) : Scene<E>(workers), rounds_(rounds) {
    for (auto& pair : pairs_) {
      pair = std::make_unique<Meeting[]>(rounds);
      for (std::uint32_t side = 0; side < 2; ++side) this->add(true, [this, &pair, side] { attend(pair.get(), side); });
    }
  }

 private:
  struct Meeting {
    typename E::template Atomic<LoopFiber<E>*> first{nullptr};
    typename E::template Plain<std::uint32_t> value[2];
  };

  void attend(Meeting* meetings, std::uint32_t side) {
    for (std::uint32_t round = 0; round < rounds_; ++round) {
      Meeting& meeting = meetings[round];
      meeting.value[side].store(round + 1);
      // acq_rel: whoever comes second sees the first one's value.
      LoopFiber<E>* first = meeting.first.exchange(this->pool_.current_fiber(), std::memory_order_acq_rel);
      if (first == nullptr) {
        // Written when this fiber can be found already: nothing but its parking and its resumption order it.
        typename E::template Plain<std::uint32_t> kept;
        kept.store(round + 1);
        this->suspend();
        expect(kept.load() == round + 1, "a resumed fiber does not see what it wrote");
      } else {
        this->pool_.resume(*first);
      }
      expect(meeting.value[1 - side].load() == round + 1, "what was written before the resumption was not seen");
    }
  }

  std::uint32_t rounds_;
  std::unique_ptr<Meeting[]> pairs_[2];
};

// One call that makes more calls ready than its deque holds, some of which let others go first.
template <base::Environment E>
class Spread final : public Scene<E> {
 public:
  Spread(std::uint32_t workers, std::uint32_t leaves) : Scene<E>(workers), leaves_(leaves) {
    for (std::uint32_t i = 0; i < leaves; ++i) {
      leaf_calls_.push_back(&this->add(false, [this, i] {
        if (i % 3 == 0) this->pool_.yield();
        expect(leaves_[i].load() == i + 1, "what was written before ready() was not seen");
        leaves_[i].store(0);
      }));
    }
    this->add(true, [this] {
      for (std::uint32_t i = 0; i < leaves_.size(); ++i) {
        leaves_[i].store(i + 1);
        this->pool_.ready(*leaf_calls_[i]);
      }
    });
  }

 private:
  std::vector<typename E::template Plain<std::uint32_t>> leaves_;
  std::vector<Call*> leaf_calls_;
};

// A call that polls, without ever suspending, for another one that it has made ready.
template <base::Environment E>
class Polling final : public Scene<E> {
 public:
  Polling(std::uint32_t workers, std::uint32_t rounds) : Scene<E>(workers), flags_(rounds) {
    for (std::uint32_t i = 0; i < rounds; ++i) {
      // release: partner is the poll below.
      answers_.push_back(&this->add(false, [this, i] { flags_[i].store(1, std::memory_order_release); }));
    }
    this->add(true, [this] {
      for (std::uint32_t i = 0; i < flags_.size(); ++i) {
        this->pool_.ready(*answers_[i]);
        for (std::uint32_t n = 0; flags_[i].load(std::memory_order_acquire) == 0; ++n) E::pause(n);
      }
    });
  }

 private:
  std::vector<typename E::template Atomic<std::uint32_t>> flags_;
  std::vector<Call*> answers_;
};

// Calls that all suspend, so that only the pool's own finding that nothing can run gets them on, phase after phase.
template <base::Environment E>
class Standstill final : public Scene<E>, public QuiescenceListener {
 public:
  Standstill(std::uint32_t workers, std::uint32_t calls, std::uint32_t phases)
      : Scene<E>(workers), fibers_(calls), notes_(calls), runnable_(calls) {
    for (std::uint32_t i = 0; i < calls; ++i) {
      this->add(true, [this, i, phases] {
        for (std::uint32_t phase = 1; phase <= phases; ++phase) {
          fibers_[i].store(this->pool_.current_fiber());
          notes_[i].store(phase);
          runnable_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a count that must order nothing here
          this->suspend();
        }
      });
    }
    this->pool_.add(*this);
  }

  // Whoever queues work from outside holds the registry lock, as at the start of a round.
  void outside() override {
    {
      const std::lock_guard guard(this->pool_.registry_lock());
      for (Call* call : this->first_) this->pool_.inject(*call);
      started_.store(1);
    }
    this->done_.park();
    this->pool_.stop();
  }

  void quiescent() override {
    if (started_.load() == 0 || this->left_.load(std::memory_order_relaxed) == 0) return;
    expect(runnable_.load(std::memory_order_relaxed) == 0, "a standstill was told while something could run");
    ++told_;
    runnable_.store(static_cast<std::uint32_t>(fibers_.size()), std::memory_order_relaxed);
    for (std::size_t i = 0; i < fibers_.size(); ++i) {
      expect(notes_[i].load() == told_, "what a fiber wrote before it suspended was not seen");
      this->pool_.resume(*fibers_[i].load());
    }
  }

 private:
  std::vector<typename E::template Plain<LoopFiber<E>*>> fibers_;
  std::vector<typename E::template Plain<std::uint32_t>> notes_;
  typename E::template Atomic<std::uint32_t> runnable_;
  typename E::template Plain<std::uint32_t> started_;  // under the registry lock, as is told_
  std::uint32_t told_ = 0;
};

// Every scene, with the number of workers that the seed says.
template <template <class> class S, class... Size>
auto in_lab(std::uint32_t least_workers, Size... size) {
  return [=](Machine& machine) {
    const std::uint32_t workers = least_workers + static_cast<std::uint32_t>(machine.seed() % (4 - least_workers));
    S<LabEnvironment> scene(workers, size...);
    for (std::uint32_t i = 0; i < workers; ++i)
      machine.spawn("worker " + std::to_string(i), [&scene, i] { scene.pool().run_worker(i); });
    machine.spawn("outside", [&] { scene.outside(); });
    return machine.run();
  };
}

template <base::Environment E, template <class> class S, class... Size>
void on_threads(std::uint32_t workers, Size... size) {
  S<E> scene(workers, size...);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < workers; ++i) threads.emplace_back([&scene, i] { scene.pool().run_worker(i); });
  scene.outside();
  for (std::thread& thread : threads) thread.join();
}

const lab::Options options{.step_limit = 20'000};

const auto meetings = in_lab<Meetings>(1, 2U);
const auto spread = in_lab<Spread>(1, 9U);
const auto polling = in_lab<Polling>(2, 3U);
const auto standstill = in_lab<Standstill>(1, 3U, 6U);

TEST(Pool, calls_suspend_and_resume_each_other_in_the_lab) {
  std::set<std::string> reached;
  const Outcome outcome = lab::first_failure(
      lab::seeds(3000),
      [&](Machine& machine) {
        Outcome one = meetings(machine);
        reached.insert(one.marks.begin(), one.marks.end());
        return one;
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  EXPECT_EQ(reached.count("resumed_before_parked"), 1U);
}

TEST(Pool, work_spreads_and_overflows_in_the_lab) {
  std::set<std::string> reached;
  const Outcome outcome = lab::first_failure(
      lab::seeds(3000),
      [&](Machine& machine) {
        Outcome one = spread(machine);
        reached.insert(one.marks.begin(), one.marks.end());
        return one;
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  for (const char* const state : {"deque_full", "deque_steal_lost"}) EXPECT_EQ(reached.count(state), 1U) << state;
}

TEST(Pool, a_sleeping_worker_is_woken_for_work_that_somebody_polls_for_in_the_lab) {
  const Outcome outcome = lab::first_failure(lab::seeds(3000), polling, options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
}

// In the lab a standstill that is not told ends as a deadlock.
TEST(Pool, a_standstill_is_told_when_everything_is_parked_and_never_else_in_the_lab) {
  const Outcome outcome = lab::first_failure(lab::seeds(5000), standstill, options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
}

TEST(Pool, does_the_same_on_real_threads) {
  for (std::uint32_t workers = 1; workers <= 3; ++workers) {
    on_threads<HostEnvironment, Meetings>(workers, 3000U);
    on_threads<HostEnvironment, Spread>(workers, 2000U);
    on_threads<HostEnvironment, Standstill>(workers, 6U, 500U);
    if (workers > 1) on_threads<HostEnvironment, Polling>(workers, 500U);
  }
}

void expect_each_found(const char* test, const std::vector<lab::Mutant>& faults, auto scene) {
  for (const lab::Mutant& mutant : faults) {
    const Outcome outcome = lab::find_mutant(mutant, test, 10'000, scene, options);
    EXPECT_FALSE(outcome.finished()) << mutant.place << " " << outcome.describe();
  }
}

TEST(Pool, the_lab_catches_each_order_that_is_left_out) {
  expect_each_found("Pool, meetings",
                    {
                        {"fiber_park", "a resumed block finds its own stack as it was before it suspended"},
                        {"fiber_resume", "a resumed block reads what the notifier had not written yet"},
                        {"deque_push_publish", "a thief runs a task whose arguments are not written yet"},
                        {"lock_acquire", "two workers take the same fiber from the list of spare ones"},
                        {"lock_release", "two workers take the same fiber from the list of spare ones"},
                    },
                    meetings);
  expect_each_found("Pool, polling",
                    {{"wake_fence", "a block polls for ever for one that no sleeping worker is woken for"}}, polling);
}

#if defined(__x86_64__) && !HEDDLE_TSAN
// The same scene, the same faults: real x86 cores publish in program order and see nothing.
TEST(Pool, real_threads_do_not_catch_dropped_orders_that_the_lab_catches) {
  for (const char* const place : {"fiber_park", "fiber_resume", "deque_push_publish"}) {
    const base::mutants::Scope fault(place);
    on_threads<MutantHostEnvironment, Meetings>(3, 3000U);
    const Outcome outcome = lab::first_failure(10'000, meetings, options);
    EXPECT_EQ(outcome.kind, Outcome::Kind::race) << place << " " << outcome.describe();
  }
}
#endif

}  // namespace
}  // namespace heddle::host
