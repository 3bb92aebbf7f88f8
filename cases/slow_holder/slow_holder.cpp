// SPDX-License-Identifier: Apache-2.0
//
// One task of more than a second holds a ring that is full behind it: the orchestrator waits for a slot, and everything
// else is done. Nothing is wrong with it, it is slow.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct SlowHolder {
  int tasks = 64;
  std::int64_t milliseconds = 1'300;

  void parameters(ParameterList& list) {
    list.add("tasks", tasks, "short tasks after the slow one", 1, 1e6);
    list.add("milliseconds", milliseconds, "how long the slow one takes", 0, 100'000);
  }

  void rank(Orchestrator& graph, const Io&) const {
    {
      const Scope scope = graph.scope();
      graph.submit("slow", vector_core,
                   [nanoseconds = static_cast<std::uint64_t>(milliseconds) * 1'000'000](Block& block) {
                     block.spend(nanoseconds);
                   });
    }
    for (int i = 0; i < tasks; ++i) {
      const Scope scope = graph.scope();
      graph.submit("short", vector_core, [](Block& block) { block.spend(1'000); });
    }
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<SlowHolder>("slow_holder", "control: one slow task holds a full ring"));
