// SPDX-License-Identifier: Apache-2.0
#include "doctor/chain_graph.hpp"

#include <algorithm>
#include <utility>

namespace heddle::doctor {
namespace {

class Maker {
 public:
  explicit Maker(const Report& report) : report_(report) {}

  ChainGraph make() {
    for (step_ = 0; step_ < report_.chain.size(); ++step_) add(report_.chain[step_]);
    return std::move(made_);
  }

 private:
  std::uint32_t push(ChainGraph::Node node) {
    const auto at = static_cast<std::uint32_t>(made_.nodes.size());
    node.step = step_;
    if (!node.who.id.empty()) made_.by_id.emplace(node.who.id, at);
    made_.nodes.push_back(std::move(node));
    return at;
  }
  // The node of a task for a block of it, and of a block for its task.
  std::uint32_t same_task(const Party& party) const {
    for (std::uint32_t i = 0; party.task >= 0 && i < made_.nodes.size(); ++i) {
      const Party& who = made_.nodes[i].who;
      const bool are_blocks = who.kind == Party::Kind::block && party.kind == Party::Kind::block;
      if (who.rank == party.rank && who.task == party.task && !who.id.empty() && !are_blocks) return i;
    }
    return ChainGraph::none;
  }
  std::uint32_t node_of(const Party& party) {
    if (const auto found = made_.by_id.find(party.id); found != made_.by_id.end()) return found->second;
    const std::uint32_t same = same_task(party);
    if (same == ChainGraph::none) return push({party, {}});
    made_.by_id.emplace(party.id, same);
    if (party.kind == Party::Kind::block) made_.nodes[same].who = party;
    return same;
  }
  std::uint32_t unnamed(const Step& step) {
    const bool goes_on = step_ + 1 < report_.chain.size();
    const char* const name = !goes_on                      ? "nobody"
                             : step.kind == EdgeKind::flag ? "a flag of its cluster"
                                                           : "what it waits for";
    return push({{}, name, ChainGraph::none, !goes_on});
  }
  bool is_in_spine(std::uint32_t node) const {
    return std::find(made_.spine.begin(), made_.spine.end(), node) != made_.spine.end();
  }
  void to_spine(std::uint32_t node) {
    if (!is_in_spine(node)) made_.spine.push_back(node);
  }

  void add(const Step& step) {
    std::uint32_t from = last_;
    if (step.from.kind != Party::Kind::none) from = node_of(step.from);
    if (from == ChainGraph::none) from = push({{}, "a wait"});
    if (made_.spine.empty()) to_spine(from);
    if (!is_in_spine(from) && last_ != ChainGraph::none) {
      made_.edges.push_back({last_, from, ChainGraph::none});
      to_spine(from);
    }
    // The step that says that the chain comes back adds nothing to the one that does.
    if (report_.chain_closes && step_ + 1 == report_.chain.size() && step.from.id == step.to.id) return;
    const std::uint32_t to = step.to.kind != Party::Kind::none ? node_of(step.to) : unnamed(step);
    // One of several that end the chain stands beside the first.
    if (made_.edges.empty() || from == made_.spine.back()) to_spine(to);
    made_.edges.push_back({from, to, step_});
    last_ = to;
  }

  const Report& report_;
  ChainGraph made_;
  std::uint32_t step_ = 0;
  std::uint32_t last_ = ChainGraph::none;  // where the chain has come to
};

}  // namespace

ChainGraph chain_graph_of(const Report& report) { return Maker(report).make(); }

std::string label_of(const Step& step) {
  // A cell or a flag waits for nobody.
  if (step.from.kind == Party::Kind::cell || step.from.kind == Party::Kind::none)
    return step.kind == EdgeKind::flag ? "which would be set by" : "which would be changed by";
  return step.kind == EdgeKind::core && step.to.task >= 0 ? "waits for a core, held by" : name_of(step.kind);
}

}  // namespace heddle::doctor
