// SPDX-License-Identifier: Apache-2.0
#include "doctor/draw_chain.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "doctor/chain_graph.hpp"

namespace heddle::doctor {
namespace {

constexpr int width = 500, margin = 14, box_width = 290, box_height = 44, gap = 36;
constexpr int lane = 14;  // between arrows at the side
constexpr std::size_t letters_of_a_line = 40;

struct Box {
  std::string id, title, below;
  const char* look = "box";  // its class: box, culprit, cell, end, good
};

struct Arrow {
  std::size_t from = 0, to = 0;
  std::string label;
};

std::string escaped_xml(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else
      safe += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return safe;
}

// Never within a character of several bytes.
std::string shortened(std::string text) {
  if (text.size() <= letters_of_a_line) return text;
  std::size_t end = letters_of_a_line - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "\xE2\x80\xA6";
}

// What tells a party from others of its name: "(rank 0, task 1) block 0 part 0".
std::string place_of(const Party& party) {
  if (party.name.empty() || !party.text.starts_with(party.name + " ")) return {};
  return party.text.substr(party.name.size() + 1);
}

Box box_of(const Party& party) {
  Box box{party.id, party.name.empty() ? party.text : party.name, place_of(party), "box"};
  if (party.kind != Party::Kind::cell && party.kind != Party::Kind::ring) return box;
  box.look = "cell";
  box.below = party.text;
  return box;
}

// Whether a party is another one, or a part of it: "r0.t2.b0" of "r0.t2".
bool is_of(const std::string& id, const std::string& whole) {
  return !whole.empty() && (id == whole || id.starts_with(whole + "."));
}

bool is_in_chain(const Party& party, const Report& report) {
  return std::any_of(report.chain.begin(), report.chain.end(),
                     [&](const Step& step) { return is_of(step.from.id, party.id) || is_of(step.to.id, party.id); });
}

class Drawing {
 public:
  std::size_t add(Box box) {
    boxes_.push_back(std::move(box));
    return boxes_.size() - 1;
  }
  void blame(const std::string& id) {
    for (Box& box : boxes_)
      if (is_of(box.id, id)) box.look = "culprit";
  }
  void arrow(std::size_t from, std::size_t to, std::string label) { arrows_.push_back({from, to, std::move(label)}); }

  std::string svg(const std::string& title) const {
    const int height = 2 * margin + static_cast<int>(boxes_.size()) * (box_height + gap) - gap;
    std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) + "\" height=\"" +
                       std::to_string(height) + "\" viewBox=\"0 0 " + std::to_string(width) + " " +
                       std::to_string(height) + "\" role=\"img\">\n<title>" + escaped_xml(title) + "</title>\n" + style;
    for (const Arrow& each : arrows_)
      if (each.to == each.from + 1) text += straight(each);
    int lanes = 0;
    for (const Arrow& each : arrows_)
      if (each.to != each.from + 1) text += around(each, lanes++);
    for (std::size_t i = 0; i < boxes_.size(); ++i) text += drawn(boxes_[i], top(i));
    return text + "</svg>\n";
  }

 private:
  static constexpr const char* style =
      "<style>text{font:13px sans-serif;fill:#222}.small{font-size:11px;fill:#555}.label{font-size:11px;fill:#845}"
      ".box{fill:#eef3fb;stroke:#4a6fa5}.cell{fill:#fdf6e3;stroke:#b58900}.end{fill:#fff;stroke:#b03030;"
      "stroke-dasharray:5 "
      "3}.culprit{fill:#fbeaea;stroke:#b03030;stroke-width:2}.good{fill:#edf7ed;stroke:#3a7d3a}path{fill:none;stroke:#"
      "555;stroke-width:1.5}</style>\n"
      "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
      "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" style=\"fill:#555;stroke:none\"/></marker></defs>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";

  static int top(std::size_t i) { return margin + static_cast<int>(i) * (box_height + gap); }
  static std::string at(int x, int y) { return std::to_string(x) + " " + std::to_string(y); }
  static std::string words(const char* look, int x, int y, const std::string& text) {
    return "<text class=\"" + std::string(look) + "\" x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) +
           "\">" + escaped_xml(text) + "</text>\n";
  }
  static std::string path(const std::string& d) { return "<path d=\"" + d + "\" marker-end=\"url(#tip)\"/>\n"; }

  static std::string drawn(const Box& box, int y) {
    std::string text = "<rect class=\"" + std::string(box.look) + "\" x=\"" + std::to_string(margin) + "\" y=\"" +
                       std::to_string(y) + "\" width=\"" + std::to_string(box_width) + "\" height=\"" +
                       std::to_string(box_height) + "\" rx=\"6\"/>\n";
    text += words("", margin + 10, y + (box.below.empty() ? 27 : 19), shortened(box.title));
    return box.below.empty() ? text : text + words("small", margin + 10, y + 35, shortened(box.below));
  }
  static std::string straight(const Arrow& arrow) {
    const int x = margin + 40, y = top(arrow.from) + box_height;
    return path("M" + at(x, y) + "L" + at(x, y + gap - 1)) + words("label", x + 10, y + gap / 2 + 4, arrow.label);
  }
  // Beside the boxes; the last one of most chains, which comes back to the first.
  static std::string around(const Arrow& arrow, int lane_number) {
    const int right = margin + box_width, x = right + 22 + lane_number * lane;
    const int apart = arrow.from == arrow.to ? 10 : 0;
    const int from = top(arrow.from) + box_height / 2 + apart, to = top(arrow.to) + box_height / 2 - apart;
    return path("M" + at(right, from) + "H" + std::to_string(x) + "V" + std::to_string(to) + "H" +
                std::to_string(right + 2)) +
           words("label", x + 6, (from + to) / 2, arrow.label);
  }

  std::vector<Box> boxes_;
  std::vector<Arrow> arrows_;
};

}  // namespace

std::string draw_chain(const Report& report) {
  Drawing drawing;
  if (report.chain.empty()) {
    const bool is_known = report.culprit.kind != Party::Kind::none;
    const std::size_t culprit =
        is_known ? drawing.add(box_of(report.culprit)) : drawing.add(Box{"", "nobody is named", "", "end"});
    drawing.arrow(culprit, drawing.add(Box{"", report.verdict, report.code_name, "end"}), "leads to");
    drawing.blame(report.culprit.id);
    return drawing.svg(report.verdict);
  }
  // Whoever is to blame may be gone by the time that others wait.
  if (report.culprit.kind != Party::Kind::none && !is_in_chain(report.culprit, report))
    drawing.arrow(drawing.add(box_of(report.culprit)), 1, "leads to");
  const ChainGraph graph = chain_graph_of(report);
  std::vector<std::size_t> boxes;
  for (const ChainGraph::Node& node : graph.nodes)
    boxes.push_back(drawing.add(
        node.who.kind != Party::Kind::none ? box_of(node.who) : Box{"", node.name, "", node.is_end ? "end" : "cell"}));
  for (const ChainGraph::Edge& edge : graph.edges) {
    const bool is_same = edge.step == ChainGraph::none;
    drawing.arrow(boxes[edge.from], boxes[edge.to], is_same ? "which stands for" : label_of(report.chain[edge.step]));
  }
  drawing.blame(report.culprit.id);
  return drawing.svg(report.verdict + ": the chain of waits");
}

std::string draw_passed(const std::string& verdict) {
  Drawing drawing;
  drawing.add(Box{"", verdict, "", "good"});
  return drawing.svg(verdict);
}

}  // namespace heddle::doctor
