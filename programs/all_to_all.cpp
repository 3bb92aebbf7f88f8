// SPDX-License-Identifier: Apache-2.0
//
// All to all: rank r's p-th part goes to rank p, as its r-th part.
#include "collective.hpp"

namespace {

using namespace heddle;
using namespace heddle::programs;

struct AllToAll : Collective {
  void plan(Plan& plan) const {
    with_type([&]<class T>() {
      plan.input<T>("input", {plan.ranks() * count});
      plan.output<T>("output", {plan.ranks() * count});
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
    const std::int64_t mine = graph.rank(), size = count;

    const auto push = graph.spmd(
        "push", vector_core, graph.ranks(),
        [=](Block& block, View<const T> input) {
          const int peer = static_cast<int>(block.index());
          block.put(inbox.at(peer).rows(mine * size, size), input.rows(peer * size, size));
          block.notify(arrived.at(peer)[mine], now(block), Notify::set);
        },
        in(io.input<T>("input")));
    graph.spmd(
        "collect", vector_core, graph.ranks(),
        [=](Block& block, View<const T> from, View<T> to) {
          block.wait(arrived.mine()[block.index()], Compare::ge, now(block));
          if (block.values()) copy(from.rows(block.index() * size, size), to.rows(block.index() * size, size));
        },
        in(inbox.mine()), out(io.output<T>("output")), after(push));
  }

  void fill(HostIo& io) const {
    with_type([&]<class T>() { fill_periodic(io.input<T>("input"), contributed<T>(io, io.rank())); });
  }
  void check(const HostIo& io) const {
    with_type([&]<class T>() {
      const auto output = io.tensor<T>("output");
      const auto size = static_cast<std::size_t>(count);
      for (int rank = 0; rank < io.ranks(); ++rank) {
        const std::size_t first = static_cast<std::size_t>(rank) * size;
        expect_periodic(io, "output", output.subspan(first, size), contributed<T>(io, rank, io.rank() * count),
                        static_cast<std::int64_t>(first));
      }
    });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<AllToAll>("all_to_all", "a part of every rank's data to each rank"));
