// SPDX-License-Identifier: Apache-2.0
//
// Kernels that fail and waits that nothing can satisfy: what is reported, and who is not affected.
#include <stdexcept>

#include "host/test_program.hpp"

namespace heddle::host {
namespace {

TEST(Failure, KernelThatThrows) {
  const auto failure = [](std::function<void(Block&)> kernel) {
    std::uint32_t line = 0;
    const Error error = failure_of({.ranks = 3, .threads = 2}, [&](Orchestrator& graph, const Io&) {
      if (graph.rank() != 1) return;
      line = __LINE__ + 1;
      graph.spmd("throws", vector_core, 40,
                 [keep = std::make_shared<std::function<void(Block&)>>(kernel)](Block& block) {
                   if (block.index() == 7) (*keep)(block);
                 });
    });
    expect_at(error, __FILE__, line);
    EXPECT_EQ(error.rank(), 1);
    EXPECT_EQ(error.task(), "throws");
    EXPECT_EQ(error.block(), 7);
    EXPECT_TRUE(error.attached().empty()) << error.report();
    return error;
  };
  expect_error(failure([](Block&) { throw std::runtime_error("division by zero"); }), Code::kernel_failed,
               {"the kernel threw: division by zero"});
  expect_error(failure([](Block&) { throw Error(Code::user_error, "unlucky"); }), Code::kernel_failed,
               {"user_error", "unlucky"});
  expect_error(failure([](Block&) { throw 5; }), Code::kernel_failed, {"not a std::exception"});
  expect_error(failure([](Block&) {
                 int room[4] = {};
                 const View<int> view({room, {4}, {1}});
                 view(view.shape(0)) = 1;
               }),
               Code::kernel_failed, {"index 4 of dimension 0", "extent there is 4"});
}

TEST(Failure, IndexOutsideOfAnArgument) {
  int room[12] = {};
  const auto failure = [&](std::int64_t row, std::int64_t column) {
    return failure_of({}, [&room, row, column](Orchestrator& graph, const Io&) {
      graph.submit(
          "outside", vector_core, [row, column](Block&, View<int, 2> view) { view(row, column) = 1; },
          out(wrap(room, 3, 4)));
    });
  };
  expect_error(failure(3, 0), Code::kernel_failed, {"index 3 of dimension 0", "extent there is 3"});
  expect_error(failure(0, -1), Code::kernel_failed, {"index -1 of dimension 1", "extent there is 4"});
  for (const int value : room) EXPECT_EQ(value, 0);
}

TEST(Failure, RestOfAVeryWideTaskIsDropped) {
  std::atomic<std::int64_t> ran{0};
  const Error error = failure_of({}, [&](Orchestrator& graph, const Io&) {
    graph.spmd("wide", vector_core, (std::int64_t{1} << 31) - 1, [&](Block& block) {
      if (block.index() == 100) throw std::runtime_error("enough");
      ++ran;
    });
  });
  expect_error(error, Code::kernel_failed, {"enough"});
  EXPECT_LT(ran.load(), 10'000'000);
}

TEST(Failure, WaitOfAForeignCell) {
  const Error error = failure_of({.ranks = 2}, [](Orchestrator& graph, const Io&) {
    if (graph.rank() == 1)
      graph.submit("wait", vector_core,
                   [foreign = graph.window("told").signals<std::int64_t>().at(0)[0]](Block& block) {
                     block.wait(foreign, Compare::eq, 1);
                   });
  });
  expect_error(error, Code::kernel_failed, {"wait", "rank 0"});
}

TEST(Failure, MoreParkedWaitsThanAllowed) {
  const Error error = failure_of({.config = {.waiting_blocks = 4}}, [](Orchestrator& graph, const Io&) {
    graph.spmd("wait", vector_core, 8, [own = graph.window("told").signals<std::int64_t>().mine()[0]](Block& block) {
      block.wait(own, Compare::eq, 1);
    });
  });
  expect_error(error, Code::queue_overflow, {"waiting_blocks = 4"});
}

TEST(Failure, DeadlockNamesEveryWaitAtOnce) {
  // No timer may be what finds it.
  const Timeouts off{.scheduler = {}, .operation = {}, .host_fence = {}, .tensor_access = {}};
  for (const int ranks : {1, 16}) {
    for (const int threads : {1, 3}) {
      std::uint32_t line = 0;
      const Error error = failure_of({ranks, threads, {.timeouts = off}}, [&](Orchestrator& graph, const Io&) {
        const auto own = graph.window("told").signals<std::int64_t>().mine()[0];
        graph.submit("notify", vector_core, [own](Block& block) { block.notify(own, 2, Notify::set); });
        if (graph.rank() == 0) line = __LINE__ + 1;
        graph.spmd("wait", vector_core, 3, [own](Block& block) { block.wait(own, Compare::ge, 3 + block.index()); });
        graph.dummy("deferred", completes_when(own, Compare::lt, 0));
      });
      expect_error(error, Code::signal_deadlock,
                   {std::to_string(4 * ranks) + " waits can never be satisfied", "told[0]"});
      ASSERT_EQ(error.waits().size(), static_cast<std::size_t>(4 * ranks)) << error.report();
      for (std::size_t i = 0; i < error.waits().size(); ++i) {
        const WaitRecord& wait = error.waits()[i];
        EXPECT_EQ(wait.rank, static_cast<int>(i / 4));
        EXPECT_EQ(wait.window, "told");
        EXPECT_EQ(wait.cell, 0);
        EXPECT_EQ(wait.has, 2);
        if (i % 4 == 0) {
          EXPECT_EQ(wait.task, "deferred");
          EXPECT_EQ(wait.what, WaitRecord::What::completion);
          EXPECT_EQ(wait.compare, "lt");
          continue;
        }
        EXPECT_EQ(wait.task, "wait");
        EXPECT_EQ(wait.what, WaitRecord::What::signal);
        EXPECT_EQ(wait.block, static_cast<std::int64_t>(i % 4 - 1));
        EXPECT_EQ(wait.needs, 3 + wait.block);
        EXPECT_EQ(wait.compare, "ge");
        EXPECT_EQ(wait.location.line, line);
      }
    }
  }
}

TEST(Failure, RanksThatWaitForEachOtherInACycle) {
  const Error error = failure_of({.ranks = 5}, [](Orchestrator& graph, const Io&) {
    const auto told = graph.window("told").signals<std::int64_t>();
    graph.submit("wait first", vector_core,
                 [own = told.mine()[0], next = told.at((graph.rank() + 1) % 5)[0]](Block& block) {
                   block.wait(own, Compare::eq, 1);
                   block.notify(next, 1, Notify::set);
                 });
  });
  expect_error(error, Code::signal_deadlock, {"5 waits", "wait first", "== 1"});
  EXPECT_EQ(error.waits().size(), 5U);
}

TEST(Failure, ScalarReadOfATaskThatNothingLetsEnd) {
  int cell = 0;
  std::uint32_t line = 0;
  const Error error = failure_of({}, [&](Orchestrator& graph, const Io&) {
    const auto own = graph.window("told").signals<std::int64_t>().mine()[0];
    graph.submit(
        "wait", vector_core, [own](Block& block, View<int>) { block.wait(own, Compare::eq, 1); }, out(wrap(&cell, 1)));
    line = __LINE__ + 1;
    graph.read(wrap(&cell, 1));
    graph.submit("too late", vector_core, [own](Block& block) { block.notify(own, 1, Notify::set); });
  });
  expect_error(error, Code::signal_deadlock, {"wait"});
  ASSERT_EQ(error.waits().size(), 2U);
  EXPECT_EQ(error.waits()[1].task, "orchestrator");
  EXPECT_EQ(error.waits()[1].what, WaitRecord::What::tensor);
  EXPECT_EQ(error.waits()[1].location.line, line);
}

// Groups of two ranks; in the broken one, the first rank fails and the second waits for it.
TEST(Failure, GroupsThatDoNotDependOnAFailedOneFinish) {
  for (const int threads : {1, 3}) {
    Device device = open_host(8, threads);
    constexpr int broken = 2;
    std::atomic<bool> others_are_slow{true};
    Session session = device.prepare(
        TestProgram{[&](Orchestrator& graph, const Io& io) {
                      const auto told = graph.window("told").signals<std::int64_t>();
                      const auto group = graph.group(2);
                      const bool first = group.mine().index == 0;
                      const Peer peer = group[first ? 1 : 0];
                      if (graph.rank() == broken) {
                        graph.submit("fails", vector_core, [&](Block&) {
                          others_are_slow = false;
                          throw std::runtime_error("broken");
                        });
                        return;
                      }
                      graph.submit(
                          "exchange", vector_core,
                          [&, there = told.at(peer.rank)[0], own = told.mine()[0]](Block& block, View<std::int64_t> y) {
                            block.notify(there, 1, Notify::set);
                            block.wait(own, Compare::eq, 1);
                            y(0) = 40 + block.rank();
                          },
                          out(io.output<std::int64_t>("y")));
                    },
                    [](Plan& plan) {
                      plan.output<std::int64_t>("y", {1});
                      plan.window("told", 8);
                    }});
    std::vector<std::int64_t> bound(8, 7);
    std::vector<Binding> bindings;
    for (int r = 0; r < 8; ++r)
      bindings.push_back(bind(r, "y", std::span(bound).subspan(static_cast<std::size_t>(r), 1)));
    const Error error = error_of([&] { session.run(bindings); });
    expect_error(error, Code::kernel_failed, {"broken"});
    EXPECT_EQ(error.rank(), broken);
    ASSERT_EQ(error.attached().size(), 1U) << error.report();
    const Error& victims = error.attached()[0];
    EXPECT_EQ(victims.code(), Code::signal_deadlock);
    ASSERT_EQ(victims.waits().size(), 1U);
    EXPECT_EQ(victims.waits()[0].rank, broken + 1);
    for (int r = 0; r < 8; ++r) {
      const bool failed = r == broken || r == broken + 1;
      EXPECT_EQ(session.finished(r), !failed);
      EXPECT_EQ(bound[static_cast<std::size_t>(r)], failed ? 7 : 40 + r) << "rank " << r;
      if (failed) {
        expect_error(error_of([&] { session.output<std::int64_t>(r, "y"); }), Code::invalid_argument,
                     {"rank " + std::to_string(r), "failed in the last round"});
      } else {
        EXPECT_EQ(session.output<std::int64_t>(r, "y")[0], 40 + r);
      }
    }
    expect_error(error_of([&] { session.check(0); }), Code::invalid_argument, {"rank 2"});
  }
}

TEST(Failure, FailuresOfManyRanksAreAttachedToTheFirst) {
  const Error error = failure_of({.ranks = 12, .threads = 1}, [](Orchestrator& graph, const Io&) {
    graph.submit("fails", vector_core,
                 [](Block& block) { throw std::runtime_error("rank " + std::to_string(block.rank())); });
  });
  expect_error(error, Code::kernel_failed, {"rank "});
  EXPECT_EQ(error.attached().size(), 11U);
  for (const Error& later : error.attached()) {
    EXPECT_EQ(later.code(), Code::kernel_failed);
    EXPECT_NE(later.rank(), error.rank());
  }
}

}  // namespace
}  // namespace heddle::host
