// SPDX-License-Identifier: Apache-2.0
//
// The whole engine in the lab: programs of two ranks, under thousands of interleavings of their workers.
#include <gtest/gtest.h>

#include <cstdint>
#include <heddle/program.hpp>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/engine_impl.hpp"
#include "lab/lab_environment.hpp"
#include "lab/mutant_search.hpp"

namespace heddle::host {
namespace {

using lab::LabEnvironment;
using lab::Machine;
using lab::Outcome;
template <class T>
using Plain = LabEnvironment::Plain<T>;
using Ints = View<std::int32_t>;
using ConstInts = View<const std::int32_t>;

constexpr int ranks = 2;
constexpr std::uint64_t small_heap = 4096;  // four allocations

SessionConfig small_session() {
  SessionConfig config;
  config.ring = {.task_window = 8, .heap_bytes = small_heap, .dep_pool = 16};
  config.region_entries = 64;
  config.waiting_blocks = 16;
  config.recorder = false;
  return config;
}

PoolConfig small_pool(std::uint32_t workers) {
  PoolConfig config;
  config.workers = workers;
  config.fibers_most = 64;
  config.deque_capacity = 16;
  config.spin_rounds = 2;
  config.patience = 2;
  config.patience_most = 4;
  return config;
}

// An engine with its pool. Where a run did not come to its end, agents may hold its locks: then it is kept for good.
struct Ground {
  Ground(std::uint32_t workers, std::shared_ptr<ProgramBase> program)
      : pool(small_pool(workers), client), engine(pool, program, plan_ranks(*program, ranks), small_session()) {}
  EngineClient<LabEnvironment> client;
  Pool<LabEnvironment> pool;
  Engine<LabEnvironment> engine;
  LabEnvironment::Parker fence;
};
void keep_for_good(std::unique_ptr<Ground> ground) {
  static std::vector<std::unique_ptr<Ground>>* const kept = new std::vector<std::unique_ptr<Ground>>;
  kept->push_back(std::move(ground));
}

// Runs rounds of a program on one to three workers. before(engine, round) and after(engine, round) are the host's part.
template <class P, class Before, class After>
Outcome run_program(Machine& machine, const P& program, std::int64_t rounds, Before&& before, After&& after) {
  const auto workers = 1 + static_cast<std::uint32_t>(machine.seed() % 3);
  auto ground = std::make_unique<Ground>(workers, std::shared_ptr<ProgramBase>(make_program(program)));
  auto& engine = ground->engine;
  for (std::uint32_t i = 0; i < workers; ++i)
    machine.spawn("worker " + std::to_string(i), [&ground, i] { ground->pool.run_worker(i); });
  machine.spawn("host", [&] {
    for (std::int64_t round = 0; round < rounds; ++round) {
      before(engine, round);
      engine.start_round(round, ground->fence);
      while (!engine.finished()) ground->fence.park();
      after(engine, round);
    }
    ground->pool.stop();
  });
  Outcome outcome = machine.run();
  if (!outcome.finished()) keep_for_good(std::move(ground));
  return outcome;
}

void expect(bool condition, const std::string& what) {
  if (!condition) Machine::current()->fail(what);
}
void expect_no_error(const Engine<LabEnvironment>& engine) {
  const auto error = engine.first_error();
  expect(!error, error ? error->what() : "");
}

// What orders kernels is seen in cells of the lab that go with the data: one for each place of a rank's heap and half
// of it, and for what each rank sums, leaves for the other, and reports.
struct Witness {
  Plain<std::int32_t> heap[ranks][small_heap / 1024][2];
  Plain<std::int32_t> sum[ranks];
  Plain<std::int32_t> left[ranks];
  Plain<std::int32_t> result[ranks];  // by the orchestrators
};

// Each rank sums squares in a ring too small for them, sends the sum to the other, and adds the other's.
struct Exchange {
  Witness* witness;
  bool throws_in_first_round = false;

  void plan(Plan& plan) const {
    plan.input<std::int32_t>("x", {4});
    plan.output<std::int32_t>("sum", {4});
    plan.output<std::int32_t>("y", {4});
    plan.output<std::int32_t>("probe", {1});
    plan.window("inbox", 4 * sizeof(std::int32_t));
    plan.window("arrived", sizeof(std::int32_t));
  }

  static constexpr std::int32_t steps = 6;

  void rank(Orchestrator& graph, const Io& io) const {
    Witness* const seen = witness;
    const int me = graph.rank(), peer = 1 - me;
    const auto x = io.input<std::int32_t>("x");
    const auto sum = io.output<std::int32_t>("sum");
    const auto probe = io.output<std::int32_t>("probe");
    const auto inbox = graph.window("inbox").tensor<std::int32_t>(4);
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    const bool broken = throws_in_first_round && graph.round() == 0 && me == 0;

    // The cell goes on counting, except after a failure, which clears it.
    const std::int32_t count = throws_in_first_round ? 1 : static_cast<std::int32_t>(graph.round()) + 1;

    graph.submit(
        "clear", vector_core, [=](Block&, Ints s) { store_sum(seen, me, s, [](std::int64_t) { return 0; }); },
        out(sum));
    for (std::int32_t step = 0; step < steps; ++step) {
      const auto scope = graph.scope();
      const auto square = graph.spmd(
          "square", vector_core, 2,
          [=](Block& block, ConstInts in_x, Ints squares) {
            const std::int64_t half = block.index();
            seen->heap[me][place(&squares(0))][half].store(step);
            for (std::int64_t i = 2 * half; i < 2 * half + 2; ++i) squares(i) = in_x(i) * in_x(i);
          },
          in(x), new_tensor<std::int32_t>(4));
      graph.submit(
          "add", vector_core,
          [=](Block&, ConstInts squares, Ints s) {
            for (std::int64_t half = 0; half < 2; ++half)
              expect(seen->heap[me][place(&squares(0))][half].load() == step,
                     "a tensor was overwritten while it was in use");
            store_sum(seen, me, s, [&](std::int64_t i) { return s(i) + squares(i); });
          },
          in(square.output<0>()), inout(sum));
    }
    graph.submit(
        "send", vector_core,
        [=](Block& block, ConstInts s) {
          if (broken) throw std::runtime_error("broken");
          expect(seen->sum[me].load() == s(0), "a sum was sent before it was complete");
          block.put(inbox.at(peer), s);
          seen->left[me].store(count);  // left for the peer, as in an own window that it gets from
          block.notify(arrived.at(peer)[0], 1, Notify::add);
        },
        in(sum));

    const auto collect = [=](Block&, ConstInts mine, ConstInts theirs, Ints y, Ints p) {
      expect(seen->sum[peer].load() == theirs(0), "the inbox was read before it was filled");
      expect(seen->left[peer].load() == count, "what was left for the peer before the notify was not seen");
      for (std::int64_t i = 0; i < 4; ++i) y(i) = mine(i) + theirs(i);
      p(0) = y(0) + y(1) + y(2) + y(3);
    };
    const auto y = io.output<std::int32_t>("y");
    if (me == 0) {
      const auto arrival = graph.dummy("arrival", completes_when(arrived.mine()[0], Compare::ge, count));
      graph.submit("collect", vector_core, collect, in(sum), in(inbox.mine()), out(y), out(probe), after(arrival));
    } else {
      graph.submit(
          "wait and collect", vector_core,
          [=](Block& block, ConstInts mine, ConstInts theirs, Ints to, Ints p) {
            block.wait(arrived.mine()[0], Compare::ge, count);
            collect(block, mine, theirs, to, p);
          },
          in(sum), in(inbox.mine()), out(y), out(probe));
    }
    seen->result[me].store(graph.read(probe));
  }

  template <class F>
  static void store_sum(Witness* seen, int me, const Ints& s, F&& value) {
    for (std::int64_t i = 0; i < 4; ++i) s(i) = static_cast<std::int32_t>(value(i));
    seen->sum[me].store(s(0));
  }
  static std::size_t place(const std::int32_t* data) {
    return reinterpret_cast<std::uintptr_t>(data) / 1024 % (small_heap / 1024);
  }
};

// The inputs of rank r in round n are r + n + 1 .. r + n + 4.
constexpr std::int32_t input_of(std::int64_t rank, std::int64_t round, std::int64_t i) {
  return static_cast<std::int32_t>(rank + round + i + 1);
}
std::int32_t output_of(std::int64_t round, std::int64_t i) {
  std::int32_t sum = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    sum += Exchange::steps * input_of(rank, round, i) * input_of(rank, round, i);
  return sum;
}

void check(Engine<LabEnvironment>& engine, const Witness& witness, std::int64_t round) {
  std::int32_t total = 0;
  for (std::int64_t i = 0; i < 4; ++i) total += output_of(round, i);
  for (int rank = 0; rank < ranks; ++rank) {
    HostIo io(engine.rank(rank).io(), rank, ranks, round, 0);
    for (std::int64_t i = 0; i < 4; ++i)
      expect(io.tensor<std::int32_t>("y")[static_cast<std::size_t>(i)] == output_of(round, i),
             "a wrong output of rank " + std::to_string(rank));
    expect(witness.result[rank].load() == total, "the orchestrator read a wrong scalar");
  }
}

void fill(Engine<LabEnvironment>& engine, std::int64_t round) {
  for (int rank = 0; rank < ranks; ++rank) {
    HostIo io(engine.rank(rank).io(), rank, ranks, round, 0);
    for (std::int64_t i = 0; i < 4; ++i)
      io.input<std::int32_t>("x")[static_cast<std::size_t>(i)] = input_of(rank, round, i);
  }
}

Outcome exchange(Machine& machine) {
  Witness witness;
  return run_program(machine, Exchange{&witness}, 2, fill, [&](Engine<LabEnvironment>& engine, std::int64_t round) {
    expect_no_error(engine);
    check(engine, witness, round);
  });
}

// A kernel of rank 0 throws in the first round, while a block of rank 1 waits for its notify.
Outcome broken_exchange(Machine& machine) {
  Witness witness;
  const auto before = [](Engine<LabEnvironment>& engine, std::int64_t round) {
    if (round == 1) engine.make_usable();
    fill(engine, round);
  };
  return run_program(machine, Exchange{&witness, true}, 2, before,
                     [&](Engine<LabEnvironment>& engine, std::int64_t round) {
                       if (round == 1) {
                         expect_no_error(engine);
                         return check(engine, witness, round);
                       }
                       const auto error = engine.first_error();
                       expect(error && error->code() == Code::kernel_failed && error->rank() == 0,
                              error ? error->what() : "the kernel's exception was lost");
                       for (int rank = 0; rank < ranks; ++rank)
                         expect(engine.rank(rank).state() == RankState::failed, "a rank has not failed");
                     });
}

// Every rank waits for a notify of the other, in a block and in a deferred condition: nobody sends any.
struct Deadlock {
  void plan(Plan& plan) const { plan.window("cells", 2 * sizeof(std::int64_t)); }
  void rank(Orchestrator& graph, const Io&) const {
    const auto cells = graph.window("cells").signals<std::int64_t>();
    graph.spmd("wait", vector_core, 2, [=](Block& block) { block.wait(cells.mine()[block.index()], Compare::ge, 1); });
    graph.dummy("arrival", completes_when(cells.mine()[0], Compare::ge, 2));
    graph.submit("send", vector_core,
                 [=](Block& block) { block.notify(cells.at(1 - block.rank())[0], 1, Notify::set); });
  }
};
Outcome deadlock(Machine& machine) {
  const auto before = [](Engine<LabEnvironment>& engine, std::int64_t round) {
    if (round > 0) engine.make_usable();
  };
  return run_program(machine, Deadlock{}, 2, before, [](Engine<LabEnvironment>& engine, std::int64_t) {
    const auto error = engine.first_error();
    expect(error && error->code() == Code::signal_deadlock, error ? error->what() : "the deadlock was not reported");
    expect(error->waits().size() == 4, "not every wait, or more than them, were reported");
    for (const WaitRecord& wait : error->waits()) expect(wait.has < wait.needs, "a satisfied wait was reported");
  });
}

const lab::Options options{.step_limit = 200'000};

TEST(EngineInTheLab, two_ranks_exchange_their_sums_with_exact_results) {
  std::set<std::string> reached;
  const Outcome outcome = lab::first_failure(
      lab::seeds(2000),
      [&](Machine& machine) {
        Outcome one = exchange(machine);
        reached.insert(one.marks.begin(), one.marks.end());
        return one;
      },
      options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
  if (lab::seeds(2000) < 2000) return;  // too few to reach every state
  for (const char* const state : {"orchestrator_waited", "orchestrator_waited_for_readers", "ring_wrapped",
                                  "resumed_before_parked", "wait_taken_while_registering"})
    EXPECT_EQ(reached.count(state), 1U) << state;
}

TEST(EngineInTheLab, a_deadlock_is_reported_with_all_its_waits_in_every_run) {
  const Outcome outcome = lab::first_failure(lab::seeds(2000), deadlock, options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
}

TEST(EngineInTheLab, a_kernel_that_throws_ends_the_waits_of_others_and_the_next_round_is_exact) {
  const Outcome outcome = lab::first_failure(lab::seeds(2000), broken_exchange, options);
  EXPECT_TRUE(outcome.finished()) << outcome.describe();
}

constexpr lab::Mutant faults[] = {
    {"fan_in_drop", "a task starts and reads stale inputs of a producer that another core completed"},
    {"slot_close", "a task that is submitted after its producer completed reads stale inputs"},
    {"link_publish", "a completing core follows an edge that is not written yet"},
    {"unpin", "a tensor's memory is handed out again while a reader is not done"},
    {"block_done", "a task completes before the effects of its other blocks are visible"},
    {"signal_update", "a peer is notified before the data that was put has arrived"},
    {"signal_load", "a block that is let through reads the data of the round before"},
    {"fiber_resume", "a resumed block reads what the notifier had not written yet"},
    {"deque_push_publish", "a thief runs a task whose arguments are not written yet"},
    {"rank_done", "the host reads outputs that are not written yet"},
};

TEST(EngineInTheLab, the_lab_catches_each_order_that_is_left_out) {
  for (const lab::Mutant& mutant : faults) {
    const Outcome outcome = lab::find_mutant(mutant, "whole engine", 3000, exchange, options);
    EXPECT_FALSE(outcome.finished()) << mutant.place << " " << outcome.describe();
  }
}

}  // namespace
}  // namespace heddle::host
