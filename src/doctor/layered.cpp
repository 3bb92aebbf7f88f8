// SPDX-License-Identifier: Apache-2.0
#include "doctor/layered.hpp"

#include <algorithm>

namespace heddle::doctor {
namespace {

constexpr std::int64_t unplaced = INT64_MIN;

class Placing {
 public:
  Placing(std::uint32_t nodes, const std::vector<LayeredEdge>& edges, const std::vector<std::uint32_t>& spine)
      : edges_(edges), spine_(spine), level_(nodes, unplaced) {}

  Layers place() {
    for (std::size_t i = 0; i < spine_.size(); ++i) level_[spine_[i]] = static_cast<std::int64_t>(i);
    // Each pass places at least one node, or is the last.
    for (bool more = true; more;) more = grow();
    for (std::int64_t& each : level_)
      if (each == unplaced) each = 0;
    return finish();
  }

 private:
  // Down from what is placed first, then up; in the order of the edges, so that the same graph looks the same.
  bool grow() {
    const auto add = [&](std::uint32_t node, std::int64_t level) {
      if (level_[node] != unplaced) return false;
      level_[node] = level;
      return true;
    };
    bool any = false;
    for (const LayeredEdge& edge : edges_)
      if (level_[edge.from] != unplaced) any = add(edge.to, level_[edge.from] + 1) || any;
    if (any) return true;
    for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge)
      if (level_[edge->to] != unplaced) any = add(edge->from, level_[edge->to] - 1) || any;
    return any;
  }

  Layers finish() {
    Layers layers;
    const std::size_t nodes = level_.size();
    layers.layer.resize(nodes);
    layers.column.resize(nodes);
    if (nodes == 0) return layers;
    const std::int64_t least = *std::min_element(level_.begin(), level_.end());
    for (std::size_t i = 0; i < nodes; ++i) layers.layer[i] = static_cast<std::uint32_t>(level_[i] - least);
    layers.layers = *std::max_element(layers.layer.begin(), layers.layer.end()) + 1;

    std::vector<std::uint8_t> in_spine(nodes, 0);
    for (const std::uint32_t node : spine_) in_spine[node] = 1;
    std::vector<std::uint32_t> next(layers.layers, spine_.empty() ? 0 : 1);
    for (std::size_t i = 0; i < nodes; ++i) layers.column[i] = in_spine[i] != 0 ? 0 : next[layers.layer[i]]++;
    layers.columns = *std::max_element(layers.column.begin(), layers.column.end()) + 1;

    layers.back.resize(edges_.size());
    for (std::size_t i = 0; i < edges_.size(); ++i)
      layers.back[i] = layers.layer[edges_[i].to] <= layers.layer[edges_[i].from] ? 1 : 0;
    return layers;
  }

  const std::vector<LayeredEdge>& edges_;
  const std::vector<std::uint32_t>& spine_;
  std::vector<std::int64_t> level_;
};

}  // namespace

Layers layered(std::uint32_t nodes, const std::vector<LayeredEdge>& edges, const std::vector<std::uint32_t>& spine) {
  return Placing(nodes, edges, spine).place();
}

}  // namespace heddle::doctor
