// SPDX-License-Identifier: Apache-2.0
//
// The chain of waits as a picture: its nodes one below the other, and beside them who waits for the same.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "doctor/chain_graph.hpp"
#include "doctor/layered.hpp"
#include "doctor/page.hpp"
#include "snapshot/fields.hpp"

namespace heddle::doctor {
namespace {

constexpr int node_width = 266, node_height = 66, row_gap = 52, between = 36, left_edge = 30, top_edge = 8;
constexpr std::size_t aside_most = 8;
constexpr std::size_t title_most = 25, line_most = 36;

struct Drawn {
  std::string id;  // empty: stands for nothing that has a name
  Party party;
  std::string title, second, third, tip;
  enum class Look : std::uint8_t { plain, culprit, cell, missing, aside } look = Look::plain;
};
struct Edge {
  std::uint32_t from = 0, to = 0;
  std::string label, second;  // what it waits for, and why that does not come
  bool is_aside = false;
};

class Graph {
 public:
  explicit Graph(const Shown& shown) : shown_(shown), report_(shown.report), chain_(chain_graph_of(report_)) {
    for (const ChainGraph::Node& node : chain_.nodes) nodes_.push_back(drawn(node));
    for (const ChainGraph::Edge& edge : chain_.edges) edges_.push_back(drawn(edge));
    add_aside();
  }

  std::string draw() {
    std::vector<LayeredEdge> edges;
    for (const Edge& each : edges_) edges.push_back({each.from, each.to});
    layers_ = layered(static_cast<std::uint32_t>(nodes_.size()), edges, chain_.spine);
    const int width = left_edge + static_cast<int>(layers_.columns) * (node_width + between) - between + 8;
    const int height = top_edge + static_cast<int>(layers_.layers) * (node_height + row_gap) - row_gap + 8 +
                       (report_.chain_closes ? 42 : 0);
    std::string svg = fmt::format(
        "<svg class=\"graph\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
        "aria-label=\"The chain of waits as a graph; the list of steps says the same\">\n"
        "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
        "orient=\"auto\"><path class=\"tip\" d=\"M0 0 8 4 0 8z\"/></marker>"
        "<marker id=\"tip-aside\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
        "orient=\"auto\"><path class=\"tip aside\" d=\"M0 0 8 4 0 8z\"/></marker></defs>\n",
        width, height);
    for (std::size_t i = 0; i < edges_.size(); ++i) draw(edges_[i], layers_.back[i] != 0);
    if (report_.chain_closes) draw_return(height);
    for (std::size_t i = 0; i < nodes_.size(); ++i) draw(nodes_[i], static_cast<std::uint32_t>(i));
    svg += text_;
    svg += "</svg>\n";
    if (aside_left_ != 0)
      svg += fmt::format("<p class=\"left\">{} more waits hang on this chain, and are not drawn</p>\n", aside_left_);
    return svg;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  // ---- what is drawn
  Drawn drawn(const ChainGraph::Node& node) const {
    Drawn made;
    made.party = node.who;
    made.id = node.who.id;
    if (node.who.kind != Party::Kind::none) {
      describe(made);
      return made;
    }
    const Step& step = report_.chain[node.step];
    made.title = node.name;
    made.tip = step.sentence;
    made.look = node.is_end ? Drawn::Look::missing : Drawn::Look::cell;
    if (node.is_end) made.second = "nothing that is left can change this";
    if (const WaitReport* wait = wait_of(step.from)) (node.is_end ? made.third : made.second) = value_text(*wait);
    return made;
  }
  Edge drawn(const ChainGraph::Edge& edge) const {
    if (edge.step == ChainGraph::none) return {edge.from, edge.to, "which stands for", "", false};
    const Step& step = report_.chain[edge.step];
    return {edge.from, edge.to, fmt::format("{}  {}", edge.step + 1, label_of(step)), why(step), false};
  }
  std::uint32_t push(Drawn node) {
    nodes_.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  void describe(Drawn& node) const {
    const Party& party = node.party;
    const std::string rank = "rank " + std::to_string(party.rank);
    node.tip = party.text;
    if (party.kind == Party::Kind::cell) {
      node.look = Drawn::Look::cell;
      node.title = party.name + "[" + std::to_string(party.cell) + "]";
      node.second = "cell " + std::to_string(party.cell) + " of a window on " + rank;
      if (const WaitReport* wait = wait_for(party)) node.third = value_text(*wait);
    } else if (party.task >= 0) {
      node.title = party.name.empty() ? "task " + std::to_string(party.task) : party.name;
      node.second = rank + " · task " + std::to_string(party.task);
      if (party.block >= 0) node.second += " · block " + std::to_string(party.block);
      node.third = state_of(party);
    } else {
      node.title = party.kind == Party::Kind::program ? "program of " + rank : party.text;
      node.second = name_of(party.kind);
    }
    const Party& culprit = report_.culprit;
    const bool is_culprit = culprit.kind != Party::Kind::none && party.rank == culprit.rank &&
                            (party.id == culprit.id || (party.task >= 0 && party.task == culprit.task));
    if (is_culprit && node.look == Drawn::Look::plain) node.look = Drawn::Look::culprit;
  }
  std::string state_of(const Party& party) const {
    const Situation& situation = shown_.situation;
    const std::uint32_t task = situation.task(party.rank, party.task);
    if (task == Situation::none) return {};
    std::string text;
    if (party.block >= 0) {
      const auto [first, last] = situation.blocks_of(task);
      for (std::uint32_t at = first; at < last; ++at) {
        const snapshot::Block& block = shown_.all.blocks[situation.blocks()[at]];
        if (block.block != party.block || situation.of_block(situation.blocks()[at]).id != party.id) continue;
        if (block.state == snapshot::BlockState::dispatched)
          text = "given to ";
        else if (block.state != snapshot::BlockState::unknown)
          text = std::string(word_of(block.state)) + " on ";
        if (party.core >= 0) return text + core(party);
      }
    }
    switch (shown_.all.tasks[task].state) {
      case snapshot::TaskState::submitted:
        return "not begun, behind its producers";
      case snapshot::TaskState::not_submitted:
        return "not submitted yet";
      case snapshot::TaskState::waiting:
        return "ran; its condition is not met";
      case snapshot::TaskState::unknown:
        return {};
      default:
        return std::string(word_of(shown_.all.tasks[task].state));
    }
  }
  std::string core(const Party& party) const {
    const std::uint32_t found = shown_.situation.core(party.rank, party.core);
    return found == Situation::none || shown_.all.cores[found].name.empty() ? "core " + std::to_string(party.core)
                                                                            : shown_.all.cores[found].name;
  }
  const WaitReport* wait_for(const Party& cell) const {
    for (const WaitReport& wait : report_.waits)
      if (wait.what.id == cell.id) return &wait;
    return nullptr;
  }

  const WaitReport* wait_of(const Party& who) const {
    for (const WaitReport& wait : report_.waits)
      if (wait.who.id == who.id) return &wait;
    return nullptr;
  }
  std::string why(const Step& step) const {
    if (step.from.kind != Party::Kind::cell) return {};
    for (const WaitReport& wait : report_.waits) {
      if (wait.what.id != step.from.id) continue;
      for (const Satisfier& each : wait.could)
        if (each.who.id == step.to.id) return name_of(each.why);
    }
    return {};
  }

  // Waits that are not in the chain and lead into it, those of a kind as one.
  void add_aside() {
    std::map<std::tuple<std::string, std::string, std::uint32_t>, std::vector<const WaitReport*>> groups;
    std::vector<std::vector<const WaitReport*>*> order;
    for (const WaitReport& wait : report_.waits) {
      if (chain_.by_id.contains(wait.who.id)) continue;
      std::uint32_t to = none;
      const auto look = [&](const Party& party) {
        const auto found = chain_.by_id.find(party.id);
        if (to == none && !party.id.empty() && found != chain_.by_id.end()) to = found->second;
      };
      look(wait.what);
      for (const Satisfier& each : wait.could) look(each.who);
      if (to == none) continue;
      auto& group = groups[{wait.who.name, wait.what.name, to}];
      if (group.empty()) order.push_back(&group);
      group.push_back(&wait);
    }
    std::map<const std::vector<const WaitReport*>*, std::uint32_t> targets;
    for (const auto& [key, group] : groups) targets[&group] = std::get<2>(key);
    std::size_t told = 0;
    for (const auto* group : order) {
      if (told++ >= aside_most) {
        aside_left_ += group->size();
        continue;
      }
      const WaitReport& first = *group->front();
      Drawn node{"", first.who, first.who.name, "", "", first.sentence, Drawn::Look::aside};
      if (node.title.empty()) node.title = first.who.text;
      node.second = group->size() == 1 ? place(first.who) : ranks_of(*group);
      node.third = first.what.kind == Party::Kind::cell
                       ? fmt::format("{}[{}] {}", first.what.name, first.what.cell, value_text(first))
                       : std::string(name_of(first.kind));
      if (group->size() > 1) node.title += fmt::format(" ×{}", group->size());
      edges_.push_back({push(std::move(node)), targets.at(group), "", "", true});
    }
  }
  static std::string place(const Party& party) {
    std::string text = "rank " + std::to_string(party.rank);
    if (party.task >= 0) text += " · task " + std::to_string(party.task);
    if (party.block >= 0) text += " · block " + std::to_string(party.block);
    return text;
  }
  static std::string ranks_of(const std::vector<const WaitReport*>& group) {
    std::set<int> ranks;
    for (const WaitReport* each : group) ranks.insert(each->who.rank);
    std::string text = ranks.size() == 1 ? "rank" : "ranks";
    for (const int rank : ranks) text += (rank == *ranks.begin() ? " " : ", ") + std::to_string(rank);
    return text;
  }

  // ---- how
  int x(std::uint32_t node) const {
    return left_edge + static_cast<int>(layers_.column[node]) * (node_width + between);
  }
  int y(std::uint32_t node) const { return top_edge + static_cast<int>(layers_.layer[node]) * (node_height + row_gap); }

  void draw(const Edge& edge, bool is_back) {
    const char* look = edge.is_aside ? "edge aside" : "edge";
    const char* tip = edge.is_aside ? "tip-aside" : "tip";
    const int to_x = x(edge.to), to_y = y(edge.to), from_x = x(edge.from), from_y = y(edge.from);
    std::string path;
    if (edge.from == edge.to) return;
    if (is_back && layers_.column[edge.from] == 0 && layers_.column[edge.to] == 0) {
      path = fmt::format("M{} {}H10V{}H{}", from_x, from_y + node_height / 2, to_y + node_height / 2, to_x - 2);
    } else if (layers_.column[edge.from] == layers_.column[edge.to] && !is_back) {
      path = fmt::format("M{} {}V{}", from_x + 26, from_y + node_height, to_y - 2);
    } else if (layers_.column[edge.from] > layers_.column[edge.to]) {
      // Into the side of what stands further left.
      const int start = from_x + 40, low = from_y + node_height, side = to_x + node_width + 2,
                middle = to_y + node_height / 2;
      path = low > middle
                 ? fmt::format("M{} {}H{}V{}H{}", from_x, from_y + node_height / 2, from_x - between / 2, middle, side)
                 : fmt::format("M{} {}V{}H{}", start, low, middle, side);
    } else {
      const int start = from_x + node_width, middle = from_y + node_height / 2, end = to_x + 40;
      path = is_back ? fmt::format("M{} {}H{}", start, middle, to_x - 2)
                     : fmt::format("M{} {}H{}V{}", start, middle, end, to_y - 2);
    }
    text_ += fmt::format("<path class=\"{}\" d=\"{}\" marker-end=\"url(#{})\"/>\n", look, path, tip);
    if (edge.label.empty()) return;
    if (is_back || layers_.column[edge.from] > layers_.column[edge.to]) return;
    const int at = layers_.column[edge.from] == layers_.column[edge.to] ? to_x + 38 : to_x + 52;
    const int low = to_y - row_gap / 2 + (edge.second.empty() ? 5 : -3);
    text_ +=
        fmt::format("<text class=\"label\" x=\"{}\" y=\"{}\">{}</text>\n", at, low, escaped(edge.label, line_most));
    if (!edge.second.empty())
      text_ += fmt::format("<text class=\"label why\" x=\"{}\" y=\"{}\">{}</text>\n", at + 17, low + 16,
                           escaped(edge.second, line_most));
  }

  void draw_return(int height) {
    const auto back = std::find_if(edges_.begin(), edges_.end(), [&](const Edge& each) {
      return each.from == chain_.spine.back() && each.to == chain_.spine.front();
    });
    const auto line = [&](int at, const std::string& words) {
      text_ += fmt::format("<text class=\"label cycle\" x=\"{}\" y=\"{}\">{}</text>\n", left_edge, height - at,
                           escaped(words, line_most));
    };
    if (back != edges_.end()) line(24, back->label);
    line(7, "the first one: so it is a cycle");
    // A chain that was too long to be told whole does not come back by a step of its own.
    if (back == edges_.end()) draw(Edge{chain_.spine.back(), chain_.spine.front(), "", "", false}, true);
  }

  void draw(const Drawn& node, std::uint32_t index) {
    static constexpr const char* looks[] = {"node", "node culprit", "node cell", "node missing", "node aside"};
    const int left = x(index), top = y(index);
    const std::string to = shown_.target(node.party);
    if (!to.empty()) text_ += "<a href=\"#" + to + "\">";
    text_ +=
        fmt::format("<g class=\"{}\"><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>",
                    looks[static_cast<int>(node.look)], escaped(node.tip, 300), left, top, node_width, node_height,
                    node.look == Drawn::Look::cell ? 22 : 7);
    if (node.party.rank >= 0)
      text_ += fmt::format("<rect class=\"stripe {}\" x=\"{}\" y=\"{}\" width=\"5\" height=\"{}\" rx=\"2\"/>",
                           colour_of(node.party.rank), left + 8, top + 12, node_height - 24);
    const auto line = [&](const char* kind, int at, const std::string& words, std::size_t most) {
      if (!words.empty())
        text_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>", kind, left + 22, top + at,
                             escaped(words, most));
    };
    line("title", 22, node.title, title_most);
    line("line", 40, node.second, line_most);
    line("line", 56, node.third, line_most);
    if (node.look == Drawn::Look::culprit)
      text_ += fmt::format("<text class=\"mark\" x=\"{}\" y=\"{}\">culprit</text>", left + node_width - 10, top + 20);
    text_ += "</g>";
    text_ += to.empty() ? "\n" : "</a>\n";
  }

  const Shown& shown_;
  const Report& report_;
  const ChainGraph chain_;
  std::vector<Drawn> nodes_;
  std::vector<Edge> edges_;
  Layers layers_;
  std::string text_;
  std::uint64_t aside_left_ = 0;
};

}  // namespace

std::string chain_graph(const Shown& shown) { return shown.report.chain.empty() ? "" : Graph(shown).draw(); }

}  // namespace heddle::doctor
