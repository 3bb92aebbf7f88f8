// SPDX-License-Identifier: Apache-2.0
#include "host/probe.hpp"

#include <chrono>
#include <cstdint>
#include <heddle/heddle.hpp>
#include <string>

namespace heddle::host {

namespace {

// Every rank makes a number, puts it into the next one's window and tells it; what has come is added up. A deferred
// task and memory of the runtime's take part.
struct Probe {
  void plan(Plan& plan) const {
    plan.output<std::int64_t>("sum", {1});
    plan.window("number", sizeof(std::int64_t));
    plan.window("told", sizeof(std::int64_t));
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const int next = (graph.rank() + 1) % graph.ranks();
    const auto number = graph.window("number").tensor<std::int64_t>(1);
    const auto told = graph.window("told").signals<std::int64_t>();
    const auto own = told.mine()[0];
    const std::int64_t round = graph.round() + 1;
    const auto made = graph.submit(
        "probe_make", vector_core, [](Block&, View<std::int64_t> out_view, std::int64_t value) { out_view(0) = value; },
        new_tensor<std::int64_t>(1), number_of(graph.rank()));
    graph.submit(
        "probe_tell", vector_core,
        [there = number.at(next), cell = told.at(next)[0]](Block& block, View<const std::int64_t> from) {
          block.put(there, from);
          block.notify(cell, 1, Notify::add);
        },
        in(made.output<0>()));
    const auto heard = graph.dummy("probe_heard", completes_when(own, Compare::ge, round));
    graph.submit(
        "probe_add", vector_core,
        [](Block&, View<const std::int64_t> mine, View<const std::int64_t> came, View<std::int64_t> sum) {
          sum(0) = mine(0) + came(0);
        },
        in(made.output<0>()), in(number.mine()), out(io.output<std::int64_t>("sum")), after(heard));
  }

  static std::int64_t number_of(int rank) { return 1000 + rank; }
};

}  // namespace

void probe(Device& device) {
  SessionConfig config;
  config.ring = {.task_window = 16, .heap_bytes = 16384, .dep_pool = 64};
  config.region_entries = 256;
  config.recorder = false;
  config.timeouts = {std::chrono::seconds(5), std::chrono::seconds(8), std::chrono::seconds(10),
                     std::chrono::seconds(8)};
  Session session = device.prepare(Probe{}, config);
  const int ranks = session.ranks();
  session.run();
  for (int r = 0; r < ranks; ++r) {
    const std::int64_t is = session.output<std::int64_t>(r, "sum")[0];
    const std::int64_t should = Probe::number_of(r) + Probe::number_of((r + ranks - 1) % ranks);
    if (is != should)
      throw Error(Code::user_error,
                  "the probe computed " + std::to_string(is) + " where " + std::to_string(should) + " was expected")
          .at_rank(r)
          .with_hint("do not use this device: open another one");
  }
}

}  // namespace heddle::host
