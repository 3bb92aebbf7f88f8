// SPDX-License-Identifier: Apache-2.0
//
// One kernel takes very long, a chain of short ones goes on beside it, and all the other cores and schedulers have
// nothing to do. Nothing is wrong with it.
#include <heddle/heddle.hpp>
#include <vector>

namespace {

using namespace heddle;

struct IdleIsNotStuck {
  int short_kernels = 12;
  std::int64_t short_milliseconds = 500;

  void parameters(ParameterList& list) {
    list.add("short_kernels", short_kernels, "short kernels, one after the other; the long one takes as long as all", 1,
             1000);
    list.add("short_milliseconds", short_milliseconds, "how long each of them takes", 0, 100'000);
  }
  static Defaults defaults() { return {.ranks = 2, .rounds = 1}; }

  void rank(Orchestrator& graph, const Io&) const {
    const auto nanoseconds = static_cast<std::uint64_t>(short_milliseconds) * 1'000'000;
    graph.submit("long_kernel", vector_core,
                 [all = nanoseconds * static_cast<std::uint64_t>(short_kernels)](Block& block) { block.spend(all); });
    std::vector<TaskHandle> last;
    for (int i = 0; i < short_kernels; ++i)
      last = {graph.submit(
          "short_kernel", vector_core, [nanoseconds](Block& block) { block.spend(nanoseconds); }, after(last))};
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<IdleIsNotStuck>("idle_is_not_stuck", "control: a very long kernel, and idle schedulers"));
