// SPDX-License-Identifier: Apache-2.0
//
// A put, and a relaxed notify that says that it is there: the notify may arrive before the data.
#include <algorithm>
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct SignalOvertakesData {
  bool repaired = false;
  int elements = 4096;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "the notify is released");
    list.add("elements", elements, "elements that are sent", 1, 1e6);
  }
  static Defaults defaults() { return {.ranks = 2, .rounds = 1, .group = 2}; }

  void plan(Plan& plan) const {
    plan.window("inbox", static_cast<std::uint64_t>(elements) * sizeof(std::int32_t));
    plan.window("arrived", sizeof(std::int32_t));
    plan.input<std::int32_t>("data", {elements});
    plan.output<std::int32_t>("received", {elements});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const Group pair = graph.group(2);
    const int peer = pair[1 - pair.mine().index].rank;
    const auto inbox = graph.window("inbox").tensor<std::int32_t>(elements);
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    const auto epoch = static_cast<std::int32_t>(graph.round() + 1);
    graph.submit(
        "send", vector_core,
        [=, order = repaired ? Order::released : Order::relaxed](Block& block, View<const std::int32_t> data) {
          block.put(inbox.at(peer), data);
          block.notify(arrived.at(peer)[0], epoch, Notify::set, order);
        },
        in(io.input<std::int32_t>("data")));
    const auto came = graph.dummy("came", completes_when(arrived.mine()[0], Compare::ge, epoch));
    graph.submit(
        "receive", vector_core,
        [](Block&, View<const std::int32_t> from, View<std::int32_t> to) {
          std::copy_n(from.data(), from.size(), to.data());
        },
        in(inbox.mine()), out(io.output<std::int32_t>("received")), after(came));
  }

  static void fill(HostIo& io) { std::ranges::fill(io.input<std::int32_t>("data"), value(io.rank(), io.round())); }
  static void check(const HostIo& io) {
    for (const std::int32_t each : io.tensor<std::int32_t>("received"))
      io.expect(each == value(io.rank() ^ 1, io.round()), "the data was read before it had come");
  }

 private:
  static std::int32_t value(int rank, std::int64_t round) {
    return static_cast<std::int32_t>((rank + 1) * 1'000 + round);
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<SignalOvertakesData>("signal_overtakes_data",
                                                 "case: a relaxed notify arrives before the data"));
