// SPDX-License-Identifier: Apache-2.0
//
// Programs that several benchmarks of the laboratory run.
#pragma once

#include <cstdint>
#include <heddle/program.hpp>

namespace heddle::lab {

// 20 tasks on two ranks, with a signal each way.
struct SmallProgram {
  int chain = 8;
  void plan(Plan& plan) const {
    plan.window("arrived", sizeof(std::int32_t));
    plan.output<std::int32_t>("x", {64});
  }
  void rank(Orchestrator& graph, const Io& io) const {
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    const auto x = io.output<std::int32_t>("x");
    const int peer = 1 - graph.rank();
    graph.submit("tell", vector_core, [=](Block& block) { block.notify(arrived.at(peer)[0], 1, Notify::add); });
    const auto round = static_cast<std::int32_t>(graph.round()) + 1;
    const auto heard =
        graph.submit("hear", vector_core, [=](Block& block) { block.wait(arrived.mine()[0], Compare::ge, round); });
    for (int i = 0; i < chain; ++i)
      graph.submit("step", vector_core, [](Block&, View<std::int32_t> view) { view(0) += 1; }, inout(x), after(heard));
  }
};

// A part of every rank's data to each rank, a signal for each part, and a read of each.
struct ExchangeProgram {
  std::int64_t part = 4096;  // elements
  void plan(Plan& plan) const {
    plan.input<std::int32_t>("from", {plan.ranks() * part});
    plan.output<std::int32_t>("to", {plan.ranks() * part});
    plan.window("inbox", static_cast<std::uint64_t>(plan.ranks() * part) * sizeof(std::int32_t));
    plan.window("arrived", static_cast<std::uint64_t>(plan.ranks()) * 64);
  }
  void rank(Orchestrator& graph, const Io& io) const {
    const auto inbox = graph.window("inbox").tensor<std::int32_t>(graph.ranks() * part);
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    const std::int64_t mine = graph.rank();
    const std::int64_t size = part;
    constexpr std::int64_t cells_a_line = 16;
    const auto push = graph.spmd(
        "push", vector_core, graph.ranks(),
        [=](Block& block, View<const std::int32_t> from) {
          const int peer = static_cast<int>(block.index());
          block.put(inbox.at(peer).rows(mine * size, size), from.rows(peer * size, size));
          block.notify(arrived.at(peer)[mine * cells_a_line], 1, Notify::add);
        },
        in(io.input<std::int32_t>("from")));
    const auto round = static_cast<std::int32_t>(graph.round()) + 1;
    graph.spmd(
        "collect", vector_core, graph.ranks(),
        [=](Block& block, View<const std::int32_t> from, View<std::int32_t> to) {
          block.wait(arrived.mine()[block.index() * cells_a_line], Compare::ge, round);
          to(block.index() * size) = from(block.index() * size);
        },
        in(inbox.mine()), out(io.output<std::int32_t>("to")), after(push));
  }
};

// 1,400 tasks of all kinds: 200 layers, each over four column blocks of one tensor, whose edges are inferred.
struct LayersProgram {
  static constexpr int layers = 200, columns = 4;
  static constexpr std::int64_t rows = 64;
  static void plan(Plan& plan) { plan.output<float>("x", {columns, rows}); }
  static void rank(Orchestrator& graph, const Io& io) {
    const auto x = io.output<float, 2>("x");
    const auto step = [](Block& block, View<float, 2>) { block.spend(2'000); };
    for (int layer = 0; layer < layers; ++layer) {
      for (int column = 0; column < columns; ++column)
        graph.spmd("part", column % 2 == 0 ? mixed_cores : cube_core, 8, step, inout(x.rows(column, 1)));
      graph.spmd("join", vector_core, 16, step, inout(x));
      graph.spmd("pairs", mixed_pair, 4, step, inout(x.rows(0, 2)));
      graph.spmd("rest", vector_core, 4, step, inout(x.rows(2, 2)));
    }
  }
};

}  // namespace heddle::lab
