// SPDX-License-Identifier: Apache-2.0
//
// Every rank waits for a notify that nobody sends.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct Deadlock {
  void plan(Plan& plan) const { plan.window("flags", 64); }
  Defaults defaults() const { return {.ranks = 2}; }
  void rank(Orchestrator& graph, const Io&) const {
    const auto flags = graph.window("flags").signals<std::int32_t>();
    graph.spmd("wait_for_ever", vector_core, 2,
               [=](Block& block) { block.wait(flags.mine()[3 + block.index()], Compare::ge, 8); });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<Deadlock>("deadlock", "waits for a notify that nobody sends"));
