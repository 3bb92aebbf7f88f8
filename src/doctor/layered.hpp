// SPDX-License-Identifier: Apache-2.0
//
// Places for the nodes of a small graph in layers, so that edges lead down. One way through it, the spine, is a column
// of its own; the rest stands beside it.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::doctor {

struct LayeredEdge {
  std::uint32_t from = 0, to = 0;
};

struct Layers {
  std::vector<std::uint32_t> layer, column;  // by node
  std::vector<std::uint8_t> back;            // by edge: it leads up, or stays in its layer
  std::uint32_t layers = 0, columns = 0;
};

// `spine`: nodes in their order, each once. What the spine leads to stands as high as it can, what leads to the spine
// as low as it can.
Layers layered(std::uint32_t nodes, const std::vector<LayeredEdge>& edges, const std::vector<std::uint32_t>& spine);

}  // namespace heddle::doctor
