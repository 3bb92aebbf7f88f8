// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_chain.hpp"

#include "doctor/chain_graph.hpp"

namespace heddle::cli {

lab::TraceChain trace_chain(const doctor::Report& report) {
  const doctor::ChainGraph graph = doctor::chain_graph_of(report);
  lab::TraceChain chain;
  for (const doctor::ChainGraph::Node& node : graph.nodes) {
    const doctor::Party& who = node.who;
    if (who.kind == doctor::Party::Kind::none)
      chain.places.push_back({report.chain[node.step].from.rank, -1, -1, node.name});
    else
      chain.places.push_back({who.rank, who.task, who.core, who.text});
  }
  for (const doctor::ChainGraph::Edge& edge : graph.edges) {
    if (edge.step == doctor::ChainGraph::none) {
      chain.arrows.push_back({edge.from, edge.to, "stands for", {}});
      continue;
    }
    const doctor::Step& step = report.chain[edge.step];
    chain.arrows.push_back({edge.from, edge.to, doctor::label_of(step), step.sentence});
  }
  return chain;
}

}  // namespace heddle::cli
