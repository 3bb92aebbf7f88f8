// SPDX-License-Identifier: Apache-2.0
//
// The chain of waits as a graph, for whoever draws it: whom it goes through, each once, and what leads from one to the
// next. A task and a block of it are one node: the chain goes on from the one where it has come to the other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "doctor/report.hpp"

namespace heddle::doctor {

struct ChainGraph {
  static constexpr std::uint32_t none = UINT32_MAX;

  struct Node {
    Party who;                  // kind none: nobody, or something without a name of its own, as a flag
    std::string name;           // of that: "nobody", "a flag of its cluster"
    std::uint32_t step = none;  // that first leads to it
    bool is_end = false;        // nothing that is left can change it
  };
  struct Edge {
    std::uint32_t from = 0, to = 0;
    std::uint32_t step = none;  // none: the one stands for the other
  };

  std::vector<Node> nodes;           // in the order of the chain
  std::vector<Edge> edges;           // that the chain comes back is one of them
  std::vector<std::uint32_t> spine;  // the nodes of the way from its beginning on

  std::map<std::string, std::uint32_t> by_id;  // the nodes of those whom the chain names
};

ChainGraph chain_graph_of(const Report& report);

// What stands on the edge of a step: "waits for signal", "which would be changed by".
std::string label_of(const Step& step);

}  // namespace heddle::doctor
