// SPDX-License-Identifier: Apache-2.0
//
// What happened around the failure, from the tail of the flight recorder: the cores and cells of the chain over time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "doctor/page.hpp"
#include "snapshot/fields.hpp"

namespace heddle::doctor {

using snapshot::Event;

namespace {

constexpr int gutter = 176, line_width = 1000, right = 16, lane_height = 32, head_height = 20, top = 30;
constexpr std::size_t few = 60;  // blocks that are drawn however long ago they ran
constexpr std::size_t core_lanes_most = 16, cell_lanes_most = 10, arrows_most = 80;

using Core = std::pair<int, std::int64_t>;  // of a rank
struct Lane {
  Party party;
  std::uint32_t cell = Situation::none;  // else a core
  int y = 0;
};

class Timeline {
 public:
  Timeline(Shown& shown) : shown_(shown), all_(shown.all) {}

  std::string write() {
    if (all_.events.empty())
      return "<p class=\"none\">The last events were not recorded. Runs in the laboratory record them.</p>\n";
    choose_lanes();
    choose_span();
    std::string text = lanes_.empty() || end_ <= begin_ ? "" : picture();
    return text + event_table(shown_);
  }

 private:
  bool is_involved(const Event& event) const { return shown_.involved.contains({event.rank, event.task}); }

  // ---- what is shown
  // Those of the tasks of the chain, then those of who changed its cells.
  std::vector<Core> cores_of(const std::vector<std::uint32_t>& cells) {
    std::vector<Core> cores;
    const auto add = [&](const Core& core) {
      if (core.second < 0 || cores.size() == core_lanes_most) return;
      if (std::find(cores.begin(), cores.end(), core) == cores.end()) cores.push_back(core);
    };
    add({shown_.report.culprit.rank, shown_.report.culprit.core});
    for (const Step& step : shown_.report.chain) {
      add({step.from.rank, step.from.core});
      add({step.to.rank, step.to.core});
    }
    for (const bool unfinished : {true, false})
      for (auto event = all_.events.rbegin(); event != all_.events.rend(); ++event)
        if (event->kind == "block" && event->unfinished == unfinished && is_involved(*event))
          add({event->rank, event->core});
    for (const Event& event : all_.events)
      if (event.kind == "block" && event.core >= 0) core_of_[{event.rank, event.task, event.block}] = event.core;
    for (const std::uint32_t i : cells)
      for (const snapshot::Change& change : all_.cells[i].history)
        if (const auto found = core_of_.find({change.rank, change.task, change.block}); found != core_of_.end())
          add({change.rank, found->second});
    if (shown_.involved.empty())
      for (auto event = all_.events.rbegin(); event != all_.events.rend() && cores.size() < 8; ++event)
        if (event->kind == "block") add({event->rank, event->core});
    return cores;
  }

  void choose_lanes() {
    std::vector<std::uint32_t> cells;
    for (const std::uint32_t i : shown_.cells.shown) {
      if (cells.size() == cell_lanes_most) break;
      if (!all_.cells[i].history.empty() || !shown_.report.waits.empty()) cells.push_back(i);
    }
    std::vector<Core> cores = cores_of(cells);
    std::map<int, std::vector<Lane>> by_rank;
    std::sort(cores.begin(), cores.end());
    for (const auto& [rank, core] : cores) {
      Party party;
      const std::uint32_t found = shown_.situation.core(rank, core);
      if (found != Situation::none) {
        party = shown_.situation.of_core(found);
      } else {
        party.rank = rank;
        party.core = core;
        party.text = "core " + std::to_string(core);
      }
      by_rank[rank].push_back({party, Situation::none, 0});
    }
    for (const std::uint32_t i : cells) {
      const snapshot::Cell& cell = all_.cells[i];
      by_rank[cell.rank].push_back({shown_.situation.of_cell(cell.rank, cell.window, cell.cell), i, 0});
    }
    int y = top;
    for (auto& [rank, lanes] : by_rank) {
      heads_.emplace_back(rank, y);
      y += head_height;
      for (Lane& lane : lanes) {
        lane.y = y;
        y += lane_height;
        lanes_.push_back(lane);
      }
    }
    bottom_ = y;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (lanes_[i].cell == Situation::none) lane_of_core_[{lanes_[i].party.rank, lanes_[i].party.core}] = i;
  }

  // All of it when that is little; else the time since what stands began to stand there, and as much before it.
  void choose_span() {
    std::uint64_t first = UINT64_MAX, stuck = UINT64_MAX;
    for (const Event& event : all_.events) {
      if (!event.start) continue;
      end_ = std::max(end_, event.end ? *event.end : *event.start);
      if (event.kind != "submit") first = std::min(first, *event.start);
      if (event.unfinished && is_involved(event)) stuck = std::min(stuck, *event.start);
    }
    if (all_.time) end_ = std::max(end_, *all_.time);
    if (first == UINT64_MAX) return;
    begin_ = first;
    std::size_t blocks = 0;
    for (const Event& event : all_.events)
      blocks += event.kind == "block" && lane_of_core_.contains({event.rank, event.core}) ? 1 : 0;
    if (stuck == UINT64_MAX || stuck <= first || blocks <= few) return;
    const std::uint64_t before = std::max<std::uint64_t>(end_ - stuck, 1);
    if (stuck - first > before) begin_ = stuck - before;
  }

  // ---- the picture
  double x(std::uint64_t time) const {
    const std::uint64_t in = std::clamp(time, begin_, end_);
    return gutter +
           static_cast<double>(in - begin_) / static_cast<double>(end_ - begin_) * (line_width - gutter - right);
  }
  int colour(const std::string& name) {
    return static_cast<int>(colours_.emplace(name, colours_.size()).first->second % 8);
  }

  std::string picture() {
    const int height = bottom_ + 8;
    svg_ = fmt::format(
        "<div class=\"scroll\"><svg class=\"time\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
        "aria-label=\"What the cores and cells of the chain did over time; the table below says the same\">\n"
        "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect class=\"hatch\" width=\"2.4\" height=\"6\"/></pattern></defs>\n",
        line_width, height);
    axis();
    for (const auto& [rank, y] : heads_)
      svg_ += fmt::format("<text class=\"head\" x=\"0\" y=\"{}\">rank {}</text>\n", y + 15, rank);
    for (const Lane& lane : lanes_) lane_name(lane);
    bars();
    for (const Lane& lane : lanes_)
      if (lane.cell != Situation::none) changes(lane);
    svg_ += "</svg></div>\n";
    std::string text =
        "<p class=\"legend\"><i class=\"swatch\"></i> a block on its core <i class=\"swatch of-wait\"></i> "
        "waits <i class=\"swatch of-last\"></i> still stands there <i class=\"dot\"></i> a notify arrives at a "
        "cell, and whence <i class=\"square\"></i> a store or reset <b class=\"cross\">✕</b> lost, or not "
        "arrived</p>\n" +
        svg_;
    text += left_out(bars_left_, "blocks");
    if (begin_ != 0)
      text += fmt::format("<p class=\"left\">Drawn from {} to {}; what was before is not drawn.</p>\n",
                          time_text(begin_), time_text(end_));
    return text;
  }
  void axis() {
    std::uint64_t step = 1;
    for (const std::uint64_t span = end_ - begin_; span / step > 8;) {
      const std::uint64_t power = step;
      std::uint64_t lead = power;
      while (lead >= 10) lead /= 10;
      step = lead == 2 ? power / 2 * 5 : power * 2;
    }
    for (std::uint64_t at = (begin_ + step - 1) / step * step; at <= end_; at += step) {
      const double line = x(at);
      svg_ += fmt::format(
          "<path class=\"tick\" d=\"M{0:.1f} {1}V{2}\"/><text class=\"at\" x=\"{0:.1f}\" y=\"16\">{3}</text>\n", line,
          top - 8, bottom_, tick_text(at));
      if (at > UINT64_MAX - step) break;
    }
  }
  static std::string tick_text(std::uint64_t ns) {
    std::string text = time_text(ns);
    const std::size_t space = text.find(' ');
    std::string number = text.substr(0, space);
    while (number.back() == '0') number.pop_back();
    if (number.back() == '.') number.pop_back();
    return number + text.substr(space);
  }
  void lane_name(const Lane& lane) {
    const std::string to = shown_.target(lane.party);
    const bool is_cell = lane.cell != Situation::none;
    const std::string words = is_cell                   ? lane.party.name + "[" + std::to_string(lane.party.cell) + "]"
                              : lane.party.name.empty() ? lane.party.text
                                                        : lane.party.name;
    svg_ += fmt::format("<rect class=\"lane{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                        is_cell ? " of-cell" : "", gutter, lane.y + 2, line_width - gutter - right, lane_height - 4);
    if (!to.empty()) svg_ += "<a href=\"#" + to + "\">";
    svg_ += fmt::format("<text class=\"name\" x=\"10\" y=\"{}\">{}</text>", lane.y + 20, escaped(words, 25));
    svg_ += to.empty() ? "\n" : "</a>\n";
  }

  void bars() {
    std::size_t drawn = 0;
    for (const char* const kind : {"block", "wait", "notify"}) {
      // The newest first, as long as there is room.
      for (auto event = all_.events.rbegin(); event != all_.events.rend(); ++event) {
        if (event->kind != kind || !event->start) continue;
        const auto lane = lane_of_core_.find({event->rank, event->core});
        const std::uint64_t end = event->unfinished ? end_ : event->end.value_or(*event->start);
        if (lane == lane_of_core_.end() || end < begin_) continue;
        if (drawn == shown_.options.bars) {
          ++bars_left_;
          continue;
        }
        ++drawn;
        bar(*event, lanes_[lane->second].y, end);
      }
    }
  }
  void bar(const Event& event, int y, std::uint64_t end) {
    const double left = x(*event.start), length = std::max(1.5, x(end) - left);
    const std::string tip =
        fmt::format("{} {} · rank {} · task {} · block {}: {} to {}", event.kind, event.name, event.rank, event.task,
                    event.block, time_text(*event.start), event.unfinished ? "not ended" : time_text(end));
    const std::string title = "<title>" + escaped(tip, 300) + "</title>";
    if (event.kind == "notify") {
      svg_ += fmt::format("<path class=\"sent\" d=\"M{0:.1f} {1}l-3 -6h6z\">{2}</path>\n", left, y + lane_height - 4,
                          title);
      return;
    }
    if (event.kind == "wait") {
      svg_ += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\">{}</rect>\n",
                          event.unfinished ? "wait last" : "wait", left, y + lane_height - 12, length, 8, title);
      return;
    }
    Party party;
    if (const std::uint32_t task = shown_.situation.task(event.rank, event.task); task != Situation::none)
      party = shown_.situation.of_task(task);
    const std::string to = shown_.target(party);
    if (!to.empty()) svg_ += "<a href=\"#" + to + "\">";
    svg_ +=
        fmt::format("<rect class=\"bar f{}{}\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\">{}</rect>",
                    colour(event.name), event.unfinished ? " last" : "", left, y + 4, length, lane_height - 8, title);
    const auto room = static_cast<std::size_t>(std::max(0.0, (length - 8) / 7.4));
    if (room >= 4)
      svg_ += fmt::format("<text class=\"in-bar\" x=\"{:.1f}\" y=\"{}\">{}</text>", left + 5, y + 17,
                          escaped(event.name, width_of(event.name) <= room ? room : room - 1));
    svg_ += to.empty() ? "\n" : "</a>\n";
  }

  // Where the block stood that sent a change: the lane of its core.
  std::optional<int> lane_of(const snapshot::Change& change) {
    const auto core = core_of_.find({change.rank, change.task, change.block});
    if (core == core_of_.end()) return std::nullopt;
    const auto lane = lane_of_core_.find({change.rank, core->second});
    if (lane == lane_of_core_.end()) return std::nullopt;
    return lanes_[lane->second].y;
  }
  void changes(const Lane& lane) {
    for (const WaitReport& wait : shown_.report.waits) {
      if (wait.what.id != lane.party.id) continue;
      svg_ += fmt::format("<text class=\"need\" x=\"{}\" y=\"{}\">{}</text>\n", line_width - right - 6, lane.y + 20,
                          escaped(value_text(wait), name_most));
      break;
    }
    const int middle = lane.y + lane_height / 2;
    for (const snapshot::Change& change : all_.cells[lane.cell].history) {
      const bool is_notify = change.kind == snapshot::ChangeKind::notify;
      const bool is_missing = change.lost || (is_notify && !change.arrived);
      const std::optional<std::uint64_t> at = is_missing || !change.arrived ? change.issued : change.arrived;
      if (!at || *at < begin_) continue;
      const double place = x(*at);
      const std::string title =
          fmt::format("<title>{}</title>",
                      escaped(fmt::format("{}{} by {}, rank {}: {}", word_of(change.kind),
                                          change.value ? fmt::format(" of {}", *change.value) : "", change.name,
                                          change.rank, is_missing ? "not arrived" : time_text(*at)),
                              300));
      if (const auto from = lane_of(change); from && is_notify && change.issued && arrows_ < arrows_most) {
        ++arrows_;
        const int start = *from + (*from < lane.y ? lane_height - 4 : 4);
        svg_ += fmt::format("<path class=\"arrow{}\" d=\"M{:.1f} {}L{:.1f} {}\"/>\n", is_missing ? " lost" : "",
                            x(*change.issued), start, place, middle);
      }
      if (is_missing)
        svg_ += fmt::format("<path class=\"cross\" d=\"M{0:.1f} {1}l10 10m0 -10l-10 10\">{2}</path>\n", place - 5,
                            middle - 5, title);
      else if (is_notify)
        svg_ +=
            fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{}\" r=\"4\">{}</circle>\n", place, middle, title);
      else
        svg_ += fmt::format("<rect class=\"square\" x=\"{:.1f}\" y=\"{}\" width=\"8\" height=\"8\">{}</rect>\n",
                            place - 4, middle - 4, title);
    }
  }

  Shown& shown_;
  const snapshot::Snapshot& all_;
  std::vector<Lane> lanes_;
  std::vector<std::pair<int, int>> heads_;  // rank and y
  std::map<std::pair<int, std::int64_t>, std::size_t> lane_of_core_;
  std::map<std::tuple<int, std::int64_t, std::int64_t>, std::int64_t> core_of_;
  std::map<std::string, std::size_t> colours_;
  std::uint64_t begin_ = 0, end_ = 0, bars_left_ = 0;
  std::size_t arrows_ = 0;
  int bottom_ = 0;
  std::string svg_;
};

}  // namespace

std::string timeline_part(Shown& shown) { return Timeline(shown).write(); }

}  // namespace heddle::doctor
