// SPDX-License-Identifier: Apache-2.0
//
// A kernel that blocks its thread without telling the runtime: no fiber of that thread goes on.
#include <unistd.h>

#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct Blocks {
  void rank(Orchestrator& graph, const Io&) const {
    graph.submit("sleeper", vector_core, [](Block&) {
      for (;;) ::pause();
    });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<Blocks>("blocks", "blocks its thread"));
