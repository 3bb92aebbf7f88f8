// SPDX-License-Identifier: Apache-2.0
//
// Reduce-scatter: rank p gets the sum of everybody's p-th part.
#include "collective.hpp"

namespace {

using namespace heddle;
using namespace heddle::programs;

constexpr std::int64_t sum_blocks = 4;

struct ReduceScatter : Collective {
  void plan(Plan& plan) const {
    with_type([&]<class T>() {
      check_summands<T>(plan.ranks());
      plan.input<T>("input", {plan.ranks() * count});
      plan.output<T>("output", {count});
      plan.window("inbox", bytes<T>(plan.ranks() * count));
    });
    plan_flags(plan, "arrived", plan.ranks());
  }

  void rank(Orchestrator& graph, const Io& io) const {
    with_type([&]<class T>() { run<T>(graph, io); });
  }

  template <class T>
  void run(Orchestrator& graph, const Io& io) const {
    const auto inbox = graph.window("inbox").tensor<T>(graph.ranks() * count);
    const auto arrived = flags(graph, "arrived");
    const int ranks = graph.ranks();
    const std::int64_t mine = graph.rank(), size = count;

    const auto push = graph.spmd(
        "push", vector_core, ranks,
        [=](Block& block, View<const T> input) {
          const int peer = static_cast<int>(block.index());
          block.put(inbox.at(peer).rows(mine * size, size), input.rows(peer * size, size));
          block.notify(arrived.at(peer)[mine], now(block), Notify::set);
        },
        in(io.input<T>("input")));
    const auto arrival = graph.submit(
        "arrival", vector_core,
        [=](Block& block) {
          for (int peer = 0; peer < ranks; ++peer) block.wait(arrived.mine()[peer], Compare::ge, now(block));
        },
        after(push));
    graph.spmd("sum", vector_core, sum_blocks, sum_rows<T>, in(inbox.mine()), out(io.output<T>("output")),
               after(arrival));
  }

  void fill(HostIo& io) const {
    with_type([&]<class T>() { fill_periodic(io.input<T>("input"), summand<T>(io, io.rank())); });
  }
  void check(const HostIo& io) const {
    with_type(
        [&]<class T>() { expect_periodic(io, "output", io.tensor<T>("output"), total<T>(io, io.rank() * count)); });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<ReduceScatter>("reduce_scatter", "the sum over all ranks, a part of it to each"));
