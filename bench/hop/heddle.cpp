// SPDX-License-Identifier: Apache-2.0
// put + notify -> wait of a running waiter: two blocks, of two ranks on two workers, answer each other.
#include "common/heddle_session.hpp"

namespace {
using namespace heddle::bench;

constexpr std::int32_t round_trips = 20'000;

// Both blocks must be on a worker before they begin: a block that waits for the other by test() does not park.
void meet(heddle::Block& block, const heddle::Signals<std::int32_t>& here, std::int32_t round) {
  const int peer = 1 - block.rank();
  block.notify(here.at(peer)[0], round, heddle::Notify::set);
  while (!block.test(here.mine()[0], heddle::Compare::ge, round)) {
  }
}

struct Hops {
  void plan(heddle::Plan& plan) const {
    plan.window("here", 64);
    plan.window("turn", 64);
    plan.window("data", 64);
    plan.output<std::int64_t>("time", {1});
    plan.output<std::int64_t>("wrong", {1});
  }
  void rank(heddle::Orchestrator& graph, const heddle::Io& io) const {
    const auto here = graph.window("here").signals<std::int32_t>();
    const auto turn = graph.window("turn").signals<std::int32_t>();
    const auto data = graph.window("data").tensor<std::int64_t>(1);
    graph.submit(
        "ping", heddle::vector_core,
        [=](heddle::Block& block, const heddle::View<std::int64_t>& time, const heddle::View<std::int64_t>& wrong,
            const heddle::View<std::int64_t>& inbox) {
          const auto base = static_cast<std::int32_t>(block.round()) * round_trips;
          std::int64_t value = 0, faults = 0;
          const heddle::View<std::int64_t> source(&value, {1});
          meet(block, here, static_cast<std::int32_t>(block.round()) + 1);
          const std::int64_t start = now_ns();
          for (std::int32_t i = base + 1; i <= base + round_trips; ++i) {
            if (block.rank() == 1) {
              block.wait(turn.mine()[0], heddle::Compare::ge, i);
              faults += inbox[0] == i ? 0 : 1;
            }
            value = i;
            block.put(data.at(1 - block.rank()), source);
            block.notify(turn.at(1 - block.rank())[0], i, heddle::Notify::set);
            if (block.rank() == 0) {
              block.wait(turn.mine()[0], heddle::Compare::ge, i);
              faults += inbox[0] == i ? 0 : 1;
            }
          }
          time[0] = now_ns() - start;
          wrong[0] = faults;
        },
        out(io.output<std::int64_t>("time")), out(io.output<std::int64_t>("wrong")), inout(data.mine()));
  }
};
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    auto device = heddle::Device::open("host", {.ranks = 2, .threads = thread_count});
    auto session = device.prepare(Hops{});
    Contender contender{"hop", "heddle", 2LL * round_trips, {}, {}};
    contender.sample = [&] {
      session.run();
      for (int rank = 0; rank < 2; ++rank)
        require(session.output<std::int64_t>(rank, "wrong")[0] == 0, "a signal came before its data");
      return session.output<std::int64_t>(0, "time")[0];
    };
    measure(contender, options);
  });
}
