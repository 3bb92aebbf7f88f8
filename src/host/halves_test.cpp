// SPDX-License-Identifier: Apache-2.0
//
// Halves of mixed tasks that talk by flags and tiles, on the host backend.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host/test_program.hpp"

namespace heddle::host {
namespace {

constexpr std::int64_t side = 8, blocks = 24;

// y = relu(a * b) - part, tile by tile: the cube half multiplies, each vector half takes its rows of the product.
struct Fused {
  Cores cores;
  void plan(Plan& plan) const {
    plan.input<std::int32_t>("a", {blocks, side, side});
    plan.input<std::int32_t>("b", {side, side});
    plan.output<std::int32_t>("y", {blocks * side, side});
  }
  void rank(Orchestrator& graph, const Io& io) const {
    graph.spmd(
        "fused", cores, blocks,
        [halves = std::int64_t{cores.vectors}](Block& block, View<const std::int32_t, 3> a,
                                               View<const std::int32_t, 2> b, View<std::int32_t, 2> y) {
          const std::int64_t rows = side / halves;
          std::array<std::int32_t, side * side> storage{};
          const View<std::int32_t, 2> tile(storage.data(), {side, side});
          if (block.core() == Core::cube) {
            for (std::int64_t i = 0; i < side; ++i)
              for (std::int64_t j = 0; j < side; ++j)
                for (std::int64_t k = 0; k < side; ++k) tile(i, j) += a(block.index(), i, k) * b(k, j);
            for (int part = 0; part < halves; ++part) block.push_to(part, tile.rows(part * rows, rows));
            block.flag_wait(0);
          } else {
            const auto mine = tile.rows(0, rows);
            block.pop(mine);
            for (std::int64_t i = 0; i < rows; ++i)
              for (std::int64_t j = 0; j < side; ++j)
                y(block.index() * side + block.part() * rows + i, j) = std::max(mine(i, j), 0) - block.part();
            block.flag_set(0);
          }
        },
        in(io.input<std::int32_t, 3>("a")), in(io.input<std::int32_t, 2>("b")), out(io.output<std::int32_t, 2>("y")));
  }
  static void fill(HostIo& io) {
    std::int32_t next = -500;
    for (std::int32_t& each : io.input<std::int32_t>("a")) each = next++ % 17;
    for (std::int32_t& each : io.input<std::int32_t>("b")) each = next++ % 13;
  }
  void check(const HostIo& io) const {
    const auto a = io.tensor<std::int32_t>("a"), b = io.tensor<std::int32_t>("b"), y = io.tensor<std::int32_t>("y");
    const std::size_t n = side;
    for (std::size_t row = 0; row < blocks * n; ++row)
      for (std::size_t j = 0; j < n; ++j) {
        std::int32_t sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + j];
        const auto part = static_cast<std::int32_t>(row % n / (n / cores.vectors));
        io.expect(y[row * n + j] == std::max(sum, 0) - part, "a tile is not what was computed");
      }
  }
};

TEST(Halves, ProductAndReluGoThroughTilesExactlyWithOneAndWithTwoVectorHalvesAndAlsoOnOneThread) {
  for (const Cores cores : {mixed_pair, mixed_cores}) {
    for (const int threads : {1, 2, 4}) {
      Session session = open_host(1, threads).prepare(Fused{cores});
      session.fill(0);
      for (int round = 0; round < 3; ++round) session.run();
      EXPECT_NO_THROW(session.check(0)) << threads << " threads, " << int{cores.vectors} << " vector halves";
    }
  }
}

// More sets than a flag counts to, and more tiles than a queue holds: each side waits for the other, in either
// direction.
TEST(Halves, SetsAndPushesWaitWhileThereIsNoRoom) {
  constexpr int times = 200, blocks_most = 8;
  for (const Cores cores : {mixed_pair, mixed_cores}) {
    std::vector<std::int64_t> sums(3 * blocks_most);
    Device device = open_host(1, 2);
    const auto kernel = [&](Block& block) {
      std::int64_t* const sum = &sums[static_cast<std::size_t>(block.index() * 3)];
      std::int64_t cell = 0;
      const View<std::int64_t> tile(&cell, {1});
      const bool on_cube = block.core() == Core::cube;
      for (int i = 0; i < times; ++i) on_cube ? block.flag_set(3) : block.flag_wait(3);
      for (int i = 0; i < times; ++i) on_cube ? block.flag_wait(3) : block.flag_set(3);
      for (cell = 0; on_cube && cell < times; ++cell) block.push(tile);
      for (int i = 0; !on_cube && i < times; ++i) {
        block.pop(tile);
        sum[1 + block.part()] += cell;
      }
      for (cell = 0; !on_cube && cell < times; ++cell) block.push(tile);
      for (int i = 0; on_cube && i < times; ++i)
        for (int part = 0; part < int{cores.vectors}; ++part) {
          block.pop_from(part, tile);
          sum[0] += cell;
        }
    };
    run_once(device, {[&](Orchestrator& graph, const Io&) { graph.spmd("ping", cores, blocks_most, kernel); }, {}});
    constexpr std::int64_t expected = times * (times - 1) / 2;
    for (std::size_t block = 0; block < blocks_most; ++block) {
      EXPECT_EQ(sums[block * 3], expected * cores.vectors);
      for (std::size_t part = 0; part < cores.vectors; ++part) EXPECT_EQ(sums[block * 3 + 1 + part], expected);
    }
  }
}

void expect_refused(Cores cores, const std::vector<std::string>& parts, void (*kernel)(Block&)) {
  std::uint32_t line = 0;
  const Error error = failure_of({}, [&](Orchestrator& graph, const Io&) {
    line = __LINE__ + 1;
    graph.submit("talks", cores, kernel);
  });
  expect_error(error, Code::invalid_argument, parts);
  EXPECT_EQ(error.task(), "talks");
  expect_at(error, __FILE__, line);
}

std::int32_t four[4];

TEST(Halves, RefuseWhatIsNoFlagNoHalfAndNoTile) {
  const std::vector<std::string> not_mixed{"the task is not mixed", "mixed_cores"};
  expect_refused(vector_core, not_mixed, [](Block& block) { block.flag_set(0); });
  expect_refused(cube_core, not_mixed, [](Block& block) { block.flag_wait(0); });
  expect_refused({0, 2}, not_mixed, [](Block& block) { block.push(View<std::int32_t>(four, {4})); });
  expect_refused(vector_core, not_mixed, [](Block& block) { block.pop(View<std::int32_t>(four, {4})); });
  expect_refused(mixed_pair, {"there is no flag 16", "from 0 to 15"}, [](Block& block) { block.flag_set(16); });
  expect_refused(mixed_pair, {"there is no flag -1"}, [](Block& block) { block.flag_wait(-1); });
  expect_refused(mixed_pair, {"there is no flag 4294967296"}, [](Block& block) { block.flag_set(1LL << 32U); });
  expect_refused(mixed_cores, {"no vector half 2", "has 2"}, [](Block& block) {
    if (block.core() == Core::cube) block.push_to(2, View<std::int32_t>(four, {4}));
  });
  expect_refused(mixed_cores, {"no vector half -1"}, [](Block& block) {
    if (block.core() == Core::cube) block.pop_from(-1, View<std::int32_t>(four, {4}));
  });
  expect_refused(mixed_cores, {"names the one", "pop_from"}, [](Block& block) {
    if (block.core() == Core::cube) block.pop(View<std::int32_t>(four, {4}));
  });
  expect_refused(mixed_pair, {"one other side"}, [](Block& block) {
    if (block.core() == Core::vector) block.push_to(0, View<std::int32_t>(four, {4}));
  });
  expect_refused(mixed_pair, {"4 elements of 4 bytes", "2 x 2 elements of 4 bytes"}, [](Block& block) {
    std::int32_t mine[4] = {};
    if (block.core() == Core::cube)
      block.push(View<std::int32_t>(mine, {4}));
    else
      block.pop(View<std::int32_t, 2>(mine, {2, 2}));
  });
}

void leaves_flags(Orchestrator& graph, const Io&) {
  graph.spmd("leaves", mixed_pair, 3, [](Block& block) {
    for (int i = 0; i < 3; ++i)
      if (block.core() == Core::cube) block.flag_set(5);
    if (block.core() == Core::vector) block.flag_wait(5);
  });
}

TEST(Halves, FlagsThatAreLeftAreToldOfTheBlockThatLeftThem) {
  const Error error = failure_of({}, leaves_flags);
  expect_error(error, Code::flags_unbalanced,
               {"the cube half set flag 5 2 times more than vector half 0 waited for it"});
  EXPECT_EQ(error.task(), "leaves");
  const Error tiles = failure_of({}, [](Orchestrator& graph, const Io&) {
    graph.submit("leaves a tile", mixed_pair, [](Block& block) {
      std::int32_t cell = 0;
      if (block.core() == Core::vector) block.push(View<std::int32_t>(&cell, {1}));
    });
  });
  expect_error(tiles, Code::flags_unbalanced, {"1 tile that vector half 0 pushed and the cube half did not pop"});
}

TEST(Halves, FlagsThatAreLeftTroubleNobodyOnTheHostWhereNothingIsChecked) {
  Device device = open_host();
  Session session = device.prepare(TestProgram{leaves_flags, {}}, {.checked = false});
  for (int round = 0; round < 20; ++round) session.run();
}

TEST(Halves, WaitThatNobodyEndsIsProvedAndTheReportNamesFlagAndHalf) {
  constexpr std::uint32_t line = __LINE__ + 3;
  const Error error = failure_of({}, [](Orchestrator& graph, const Io&) {
    graph.spmd("lonely", mixed_cores, 2, [](Block& block) {
      if (block.core() == Core::cube && block.index() == 1) block.flag_wait(7);
      if (block.core() == Core::vector && block.index() == 1 && block.part() == 0) block.flag_set(7);
    });
  });
  expect_error(error, Code::signal_deadlock, {"task lonely", "block 1", "flag 7 (it has 0, needs 1)", "vector half 1"});
  ASSERT_EQ(error.waits().size(), 1U);
  EXPECT_EQ(error.waits()[0].what, WaitRecord::What::flag);
  EXPECT_TRUE(contains(error.report(), "cube half at " + Location(__FILE__, line).text())) << error.report();
}

TEST(Halves, KernelThatThrowsEndsTheWaitOfItsOtherHalf) {
  const Error error = failure_of({}, [](Orchestrator& graph, const Io&) {
    graph.spmd("throws", mixed_cores, 4, [](Block& block) {
      if (block.core() == Core::vector) throw std::runtime_error("broken");
      block.flag_wait(0);
    });
  });
  expect_error(error, Code::kernel_failed, {"broken"});
}

}  // namespace
}  // namespace heddle::host
