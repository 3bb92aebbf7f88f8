// SPDX-License-Identifier: Apache-2.0
//
// A round that moves more through the heap than it holds, and of which one scope holds too much at once. In KiB what
// was MiB: 696 of 1,200 are held, and the heap has 256.
#include <algorithm>
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct HeapTooSmall {
  bool repaired = false;
  int held = 174, rest = 126;  // tensors of 4 KiB

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "each stage has a scope of its own, and gives its tensors back");
    list.add("held", held, "tensors that the first stage makes", 65, 1e6);
    list.add("rest", rest, "tensors of the stages after it", 0, 1e6);
  }

  void rank(Orchestrator& graph, const Io&) const {
    stage(graph, held, repaired ? 32 : held);
    stage(graph, rest, 32);
  }

 private:
  static void stage(Orchestrator& graph, int tensors, int of_a_scope) {
    constexpr std::int64_t bytes = 4096;
    for (int begun = 0; begun < tensors; begun += of_a_scope) {
      const Scope scope = graph.scope();
      for (int i = begun; i < std::min(begun + of_a_scope, tensors); ++i)
        graph.submit(
            "stage", vector_core, [](Block&, View<std::uint8_t> out) { out(0) = 1; }, new_tensor<std::uint8_t>(bytes));
    }
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<HeapTooSmall>("heap_too_small", "case: one scope holds more than the heap has"));
