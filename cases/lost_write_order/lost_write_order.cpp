// SPDX-License-Identifier: Apache-2.0
//
// A loop carries a buffer: each step reads it and then writes it for the next one. In a manual scope nothing is
// inferred; the program orders the reader after the writer, and forgets that the next writer has to wait for the
// reader.
#include <heddle/heddle.hpp>
#include <vector>

namespace {

using namespace heddle;

struct LostWriteOrder {
  bool repaired = false;
  int steps = 3;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "the scope infers its edges: the writer comes after the reader");
    list.add("steps", steps, "steps of the loop", 1, 1000);
  }

  static void plan(Plan& plan) {
    plan.inout<std::int32_t>("carried", {64});
    plan.output<std::int32_t>("seen", {64});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const auto carried = io.output<std::int32_t>("carried"), seen = io.output<std::int32_t>("seen");
    const Scope scope = graph.scope(repaired ? ScopeMode::automatic : ScopeMode::manual);
    std::vector<TaskHandle> last_write, last_read;
    for (int step = 0; step < steps; ++step) {
      last_read.push_back(graph.submit(
          "read_step", vector_core,
          [](Block&, View<const std::int32_t> from, View<std::int32_t> to) {
            for (std::int64_t i = 0; i < to.size(); ++i) to(i) = from(i);
          },
          in(carried), out(seen), after(last_write), after(last_read)));
      last_write = {graph.submit(
          "write_step", vector_core,
          [step](Block&, View<std::int32_t> to) {
            for (std::int64_t i = 0; i < to.size(); ++i) to(i) = step + 1;
          },
          out(carried), after(last_write))};
    }
  }

  static void fill(HostIo& io) {
    for (std::int32_t& each : io.input<std::int32_t>("carried")) each = 0;
  }
  void check(const HostIo& io) const {
    for (const std::int32_t each : io.tensor<std::int32_t>("seen"))
      io.expect(each == steps - 1, "a step has read what a later one has written");
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<LostWriteOrder>("lost_write_order",
                                            "case: a buffer is written while the step before reads it"));
