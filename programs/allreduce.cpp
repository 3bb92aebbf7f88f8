// SPDX-License-Identifier: Apache-2.0
//
// Allreduce: every rank gets the sum over all ranks.
//   ring    each rank talks to its right-hand neighbour only: partial sums of one chunk after the other go round, then
//           the finished chunks do. 2 (ranks - 1) steps, of 1 / ranks of the data each.
//   direct  everybody sends everything to everybody and sums it. One step, ranks times the data.
#include "collective.hpp"

namespace {

using namespace heddle;
using namespace heddle::programs;

constexpr std::int64_t sum_blocks = 4;

struct Allreduce : Collective {
  std::string algorithm = "ring";

  void parameters(ParameterList& list) {
    Collective::parameters(list);
    list.add("algorithm", algorithm, "how the sum is formed", {"ring", "direct"});
  }
  static std::vector<Variant> matrix() {
    return {{"ring_fp32", {{"algorithm", "ring"}, {"type", "fp32"}}},
            {"ring_bf16", {{"algorithm", "ring"}, {"type", "bf16"}}},
            {"direct_fp32", {{"algorithm", "direct"}, {"type", "fp32"}}},
            {"direct_bf16", {{"algorithm", "direct"}, {"type", "bf16"}}}};
  }

  void plan(Plan& plan) const {
    const int ranks = plan.ranks();
    if (is_ring() && count < ranks)
      detail::throw_invalid("count: a ring of " + std::to_string(ranks) + " ranks needs as many elements, not " +
                            std::to_string(count));
    with_type([&]<class T>() {
      check_summands<T>(ranks);
      plan.input<T>("input", {count});
      plan.output<T>("output", {count});
      plan.window("inbox", bytes<T>(is_ring() ? std::max(steps(ranks), 1) * longest_chunk(ranks) : ranks * count));
    });
    plan_flags(plan, "arrived", is_ring() ? steps(ranks) : ranks);
  }

  void rank(Orchestrator& graph, const Io& io) const {
    with_type([&]<class T>() {
      if (is_ring())
        run_ring<T>(graph, io);
      else
        run_direct<T>(graph, io);
    });
  }

  template <class T>
  void run_ring(Orchestrator& graph, const Io& io) const {
    const int ranks = graph.ranks(), mine = graph.rank(), right = (mine + 1) % ranks;
    const std::int64_t slot = longest_chunk(ranks);
    const auto inbox = graph.window("inbox").tensor<T>(std::max(steps(ranks), 1) * slot);
    const auto arrived = flags(graph, "arrived");
    const auto output = io.output<T>("output");
    const auto chunk = [&](int index) {  // of a ring that goes on in both directions
      const std::int64_t c = (index % ranks + ranks) % ranks, first = count * c / ranks;
      return output.rows(first, count * (c + 1) / ranks - first);
    };

    graph.submit("load", vector_core, copy_all<T>, in(io.input<T>("input")), out(output));
    for (int step = 0; step < steps(ranks); ++step) {
      const auto send = graph.submit(
          "send", vector_core,
          [=](Block& block, View<const T> data) {
            block.put(inbox.at(right).rows(step * slot, data.size()), data);
            block.notify(arrived.at(right)[step], now(block), Notify::set);
          },
          in(chunk(mine - step)));
      // What comes is a partial sum in the first half of the steps, and a finished chunk in the second. A wait may hold
      // a core: it starts after the send, so that the neighbour's wait never depends on one that has no core.
      const bool is_sum = step < ranks - 1;
      const auto into = chunk(mine - step - 1);
      graph.submit(
          "receive", vector_core,
          [=](Block& block, View<const T> received, View<T> data) {
            block.wait(arrived.mine()[step], Compare::ge, now(block));
            if (!block.values()) return;
            if (is_sum)
              add_to(data, received);
            else
              copy(received, data);
          },
          in(inbox.mine().rows(step * slot, into.size())), inout(into), after(send));
    }
  }

  template <class T>
  void run_direct(Orchestrator& graph, const Io& io) const {
    const int ranks = graph.ranks();
    const std::int64_t mine = graph.rank(), size = count;
    const auto inbox = graph.window("inbox").tensor<T>(ranks * count);
    const auto arrived = flags(graph, "arrived");

    const auto push = graph.spmd(
        "push", vector_core, ranks,
        [=](Block& block, View<const T> input) {
          const int peer = static_cast<int>(block.index());
          block.put(inbox.at(peer).rows(mine * size, size), input);
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
    with_type([&]<class T>() { expect_periodic(io, "output", io.tensor<T>("output"), total<T>(io)); });
  }

 private:
  bool is_ring() const { return algorithm == "ring"; }
  static int steps(int ranks) { return 2 * (ranks - 1); }
  std::int64_t longest_chunk(int ranks) const { return (count + ranks - 1) / ranks; }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<Allreduce>("allreduce", "the sum over all ranks, to all of them"));
