// SPDX-License-Identifier: Apache-2.0
//
// Allgather: every rank gets the contributions of all, in the order of the ranks.
#include "collective.hpp"

namespace {

using namespace heddle;
using namespace heddle::programs;

struct Allgather : Collective {
  void plan(Plan& plan) const {
    with_type([&]<class T>() {
      plan.input<T>("input", {count});
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
          block.put(inbox.at(peer).rows(mine * size, size), input);
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
      for (std::size_t rank = 0; rank < output.size() / size; ++rank)
        expect_periodic(io, "output", output.subspan(rank * size, size), contributed<T>(io, static_cast<int>(rank)),
                        static_cast<std::int64_t>(rank * size));
    });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<Allgather>("allgather", "every rank's data to all ranks"));
