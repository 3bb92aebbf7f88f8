// SPDX-License-Identifier: Apache-2.0
//
// Broadcast along a binomial tree: who has the data forwards it to ranks that are 1, 2, 4, ... further on.
#include <bit>

#include "collective.hpp"

namespace {

using namespace heddle;
using namespace heddle::programs;

struct Broadcast : Collective {
  int root = 0;

  void parameters(ParameterList& list) {
    Collective::parameters(list);
    list.add("root", root, "the rank whose data all others get", 0, 1023);
  }
  void plan(Plan& plan) const {
    if (root >= plan.ranks())
      detail::throw_invalid("root: there is no rank " + std::to_string(root) + " among " +
                            std::to_string(plan.ranks()));
    with_type([&]<class T>() {
      plan.input<T>("input", {count});  // only the root's is used
      plan.output<T>("output", {count});
      plan.window("inbox", bytes<T>(count));
    });
    plan_flags(plan, "arrived", 1);
  }

  void rank(Orchestrator& graph, const Io& io) const {
    with_type([&]<class T>() { run<T>(graph, io); });
  }

  template <class T>
  void run(Orchestrator& graph, const Io& io) const {
    const auto inbox = graph.window("inbox").tensor<T>(count);
    const auto arrived = flags(graph, "arrived");
    const int ranks = graph.ranks(), first = root;
    const int place = (graph.rank() - root + ranks) % ranks;  // the root is at place 0

    if (place == 0) {
      graph.submit("load", vector_core, copy_all<T>, in(io.input<T>("input")), out(inbox.mine()));
    } else {
      graph.submit(
          "receive", vector_core,
          [=](Block& block, View<T>) { block.wait(arrived.mine()[0], Compare::ge, now(block)); }, inout(inbox.mine()));
    }
    // Place p is reached from the place without p's highest bit.
    for (int step = static_cast<int>(std::bit_ceil(static_cast<unsigned>(place + 1))); place + step < ranks;
         step *= 2) {
      graph.submit(
          "forward", vector_core,
          [=](Block& block, View<const T> data) {
            const int peer = (place + step + first) % ranks;
            block.put(inbox.at(peer), data);
            block.notify(arrived.at(peer)[0], now(block), Notify::set);
          },
          in(inbox.mine()));
    }
    graph.submit("deliver", vector_core, copy_all<T>, in(inbox.mine()), out(io.output<T>("output")));
  }

  void fill(HostIo& io) const {
    with_type([&]<class T>() { fill_periodic(io.input<T>("input"), contributed<T>(io, io.rank())); });
  }
  void check(const HostIo& io) const {
    with_type([&]<class T>() { expect_periodic(io, "output", io.tensor<T>("output"), contributed<T>(io, root)); });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<Broadcast>("broadcast", "one rank's data to all, along a binomial tree"));
