// SPDX-License-Identifier: Apache-2.0
//
// Steps that send through the same window: what one step has put there is overwritten by the next one, which does not
// ask whether the peer has read it.
#include <algorithm>
#include <heddle/heddle.hpp>
#include <vector>

namespace {

using namespace heddle;

constexpr std::int64_t width = 64;

struct WindowReused {
  bool repaired = false;
  int steps = 3;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "the peer says that it has read the window before it is used again");
    list.add("steps", steps, "steps that use the window", 2, 1000);
  }
  static Defaults defaults() { return {.ranks = 2, .rounds = 1, .group = 2}; }

  void plan(Plan& plan) const {
    plan.window("inbox", static_cast<std::uint64_t>(width) * sizeof(std::int32_t));
    plan.window("arrived", sizeof(std::int32_t));
    plan.window("consumed", sizeof(std::int32_t));
    plan.input<std::int32_t>("data", {steps, width});
    plan.output<std::int32_t>("received", {steps, width});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const Group pair = graph.group(2);
    const int peer = pair[1 - pair.mine().index].rank;
    const auto inbox = graph.window("inbox").tensor<std::int32_t>(1, width);
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    const auto consumed = graph.window("consumed").signals<std::int32_t>();
    std::vector<TaskHandle> last_send, last_receive;
    for (int step = 0; step < steps; ++step) {
      const auto number = static_cast<std::int32_t>(graph.round() * steps + step + 1);
      if (repaired && step > 0)
        last_send.push_back(graph.dummy("window_free", completes_when(consumed.mine()[0], Compare::ge, number - 1)));
      last_send = {graph.submit(
          "send", vector_core,
          [=](Block& block, View<const std::int32_t, 2> data) {
            block.put(inbox.at(peer), data);
            block.notify(arrived.at(peer)[0], number, Notify::set);
          },
          in(io.input<std::int32_t, 2>("data").rows(step, 1)), after(last_send))};

      const auto came = graph.dummy("came", completes_when(arrived.mine()[0], Compare::ge, number));
      const auto received = graph.submit(
          "receive", vector_core,
          [](Block&, View<const std::int32_t, 2> from, View<std::int32_t, 2> to) {
            std::copy_n(from.data(), width, to.data());
          },
          in(inbox.mine()), out(io.output<std::int32_t, 2>("received").rows(step, 1)), after(came));
      if (repaired)
        graph.submit(
            "consumed", vector_core, [=](Block& block) { block.notify(consumed.at(peer)[0], number, Notify::set); },
            after(received));
    }
  }

  static void fill(HostIo& io) {
    const auto data = io.input<std::int32_t>("data");
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = value(io.rank(), io.round(), i);
  }
  static void check(const HostIo& io) {
    const auto received = io.tensor<std::int32_t>("received");
    for (std::size_t i = 0; i < received.size(); ++i)
      io.expect(received[i] == value(io.rank() ^ 1, io.round(), i), "a step received what a later one has sent");
  }

 private:
  static std::int32_t value(int rank, std::int64_t round, std::size_t i) {
    return static_cast<std::int32_t>((rank + 1) * 1'000'000 + round * 10'000 + static_cast<std::int64_t>(i));
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<WindowReused>("window_reused",
                                          "case: a window is overwritten before the peer has read it"));
