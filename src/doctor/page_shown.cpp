// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "doctor/page.hpp"

namespace heddle::doctor {

using snapshot::CoreState;
using snapshot::RankState;
using snapshot::TaskState;

namespace {

// Of indices in the order of their importance, the first ones without repetition, in the order of the list.
class Choice {
 public:
  Choice(std::size_t size, std::size_t most) : taken_(size, 0), most_(most) {}
  void add(std::uint32_t index) {
    if (index >= taken_.size() || taken_[index] != 0 || count_ == most_) return;
    taken_[index] = 1;
    ++count_;
  }
  // `total`: how many could be shown.
  Part take(std::uint64_t total) const {
    Part part;
    for (std::uint32_t i = 0; i < taken_.size(); ++i)
      if (taken_[i] != 0) part.shown.push_back(i);
    part.left = total > part.shown.size() ? total - part.shown.size() : 0;
    return part;
  }

 private:
  std::vector<std::uint8_t> taken_;
  std::size_t most_, count_ = 0;
};

std::string id_of(const Party& party, Party::Kind kind) {
  std::string rank = "r" + std::to_string(party.rank);
  if (kind == Party::Kind::task) return rank + ".t" + std::to_string(party.task);
  if (kind == Party::Kind::core) return rank + ".c" + std::to_string(party.core);
  return rank;
}

}  // namespace

Shown::Shown(const Report& report_of, const snapshot::Snapshot& snapshot, const HtmlOptions& of)
    : report(report_of), all(snapshot), options(of), situation(snapshot) {
  const auto add = [&](const Party& party) {
    if (party.task >= 0) involved.insert({party.rank, party.task});
  };
  add(report.culprit);
  for (const Step& step : report.chain) {
    add(step.from);
    add(step.to);
  }
  for (const WaitReport& wait : report.waits)
    if (wait.is_cause && involved.size() < options.rows) add(wait.who);
  choose_ranks();
  choose_tasks();
  choose_cores();
  choose_cells();
  choose_rings();
}

std::vector<const Party*> Shown::parties() const {
  std::vector<const Party*> list{&report.culprit};
  for (const Step& step : report.chain) list.insert(list.end(), {&step.from, &step.to});
  for (const bool cause : {true, false}) {
    for (const WaitReport& wait : report.waits) {
      if (wait.is_cause != cause) continue;
      list.insert(list.end(), {&wait.who, &wait.what});
      for (const Satisfier& each : wait.could) list.push_back(&each.who);
    }
  }
  for (const Party& each : report.victims) list.push_back(&each);
  return list;
}

void Shown::choose_ranks() {
  Choice choice(all.ranks.size(), options.rows);
  for (const Party* each : parties()) choice.add(situation.rank(each->rank));
  for (std::uint32_t i = 0; i < all.ranks.size(); ++i)
    if (all.ranks[i].state != RankState::ended) choice.add(i);
  for (std::uint32_t i = 0; i < all.ranks.size(); ++i) choice.add(i);
  ranks = choice.take(all.ranks.size());
  for (const std::uint32_t i : ranks.shown) add_anchor("r" + std::to_string(all.ranks[i].rank));
}

void Shown::choose_tasks() {
  Choice choice(all.tasks.size(), options.rows);
  for (const Party* each : parties())
    if (each->task >= 0) choice.add(situation.task(each->rank, each->task));
  for (const TaskState state : {TaskState::running, TaskState::waiting, TaskState::ready, TaskState::submitted})
    for (std::uint32_t i = 0; i < all.tasks.size(); ++i)
      if (all.tasks[i].state == state) choice.add(i);
  tasks = choice.take(all.tasks.size());
  for (const std::uint32_t i : tasks.shown) {
    add_anchor(situation.of_task(i).id);
    const auto [first, last] = situation.blocks_of(i);
    for (std::uint32_t at = first; at < last && at - first < options.blocks; ++at)
      add_anchor(situation.of_block(situation.blocks()[at]).id);
  }
}

void Shown::choose_cores() {
  Choice choice(all.cores.size(), options.rows);
  for (const Party* each : parties())
    if (each->core >= 0) choice.add(situation.core(each->rank, each->core));
  std::uint64_t busy = 0;
  for (std::uint32_t i = 0; i < all.cores.size(); ++i) {
    const snapshot::Core& core = all.cores[i];
    if (core.state == CoreState::idle && core.anomalies <= 0 && core.withheld <= 0) continue;
    ++busy;
    choice.add(i);
  }
  cores = choice.take(busy);
  for (const std::uint32_t i : cores.shown) add_anchor(situation.of_core(i).id);
}

void Shown::choose_cells() {
  Choice choice(all.cells.size(), options.rows);
  for (const Party* each : parties())
    if (each->kind == Party::Kind::cell) choice.add(situation.cell(each->rank, each->name, each->cell));
  // A report without waits may be about any of them.
  if (report.waits.empty())
    for (std::uint32_t i = 0; i < all.cells.size(); ++i) choice.add(i);
  cells = choice.take(all.cells.size());
  for (const std::uint32_t i : cells.shown) {
    const snapshot::Cell& cell = all.cells[i];
    add_anchor(situation.of_cell(cell.rank, cell.window, cell.cell).id);
  }
}

void Shown::choose_rings() {
  Choice choice(all.rings.size(), options.rows);
  std::uint64_t used = 0;
  const auto waits = [&](const snapshot::Ring& ring) {
    const std::uint32_t rank = situation.rank(ring.rank);
    return rank != Situation::none && all.ranks[rank].waits_for == snapshot::ProgramWait::ring &&
           all.ranks[rank].ring == ring.ring;
  };
  for (std::uint32_t i = 0; i < all.rings.size(); ++i)
    if (waits(all.rings[i])) choice.add(i);
  for (std::uint32_t i = 0; i < all.rings.size(); ++i) {
    const snapshot::Ring& ring = all.rings[i];
    if (ring.tasks.held <= 0 && ring.heap_bytes.held <= 0 && ring.edges.held <= 0 && !waits(ring)) continue;
    ++used;
    choice.add(i);
  }
  rings = choice.take(used);
  for (const std::uint32_t i : rings.shown) add_anchor(situation.of_ring(all.rings[i].rank, all.rings[i].ring).id);
}

std::string Shown::target(const Party& party) const {
  if (party.kind == Party::Kind::none || party.rank < 0) return {};
  if (!party.id.empty() && has_anchor(party.id)) return anchor_of(party.id);
  if (party.task >= 0 && has_anchor(id_of(party, Party::Kind::task))) return id_of(party, Party::Kind::task);
  if (party.core >= 0 && has_anchor(id_of(party, Party::Kind::core))) return id_of(party, Party::Kind::core);
  const std::string rank = id_of(party, Party::Kind::program);
  return has_anchor(rank) ? rank : std::string();
}

std::string Shown::link(const Party& party, std::string_view text) const {
  const std::string words = escaped(text.empty() ? std::string_view(party.text) : text, 2 * name_most);
  const std::string to = target(party);
  return to.empty() ? words : "<a href=\"#" + to + "\">" + words + "</a>";
}

std::string Shown::linked(const std::string& sentence, std::initializer_list<const Party*> parties) const {
  if (sentence.size() > sentence_most) return escaped(sentence);
  std::string made;
  std::string_view left = sentence;
  while (!left.empty()) {
    // The name that comes first, and of those that begin there the longest.
    std::size_t best = std::string_view::npos;
    const Party* who = nullptr;
    for (const Party* each : parties) {
      if (each->text.empty()) continue;
      const std::size_t at = left.find(each->text);
      if (at == std::string_view::npos) continue;
      if (at > best || (at == best && each->text.size() <= who->text.size())) continue;
      best = at;
      who = each;
    }
    if (who == nullptr) break;
    made += escaped(left.substr(0, best)) + link(*who);
    left.remove_prefix(best + who->text.size());
  }
  return made + escaped(left);
}

}  // namespace heddle::doctor
