// SPDX-License-Identifier: Apache-2.0
//
// One block of one rank throws.
#include <heddle/heddle.hpp>
#include <stdexcept>

namespace {

using namespace heddle;

struct Throws {
  Defaults defaults() const { return {.ranks = 2}; }
  void rank(Orchestrator& graph, const Io&) const {
    graph.spmd("explode", vector_core, 4, [](Block& block) {
      if (block.rank() == 1 && block.index() == 2) throw std::runtime_error("the kernel's own words");
    });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<Throws>("throws", "throws in a kernel"));
