// SPDX-License-Identifier: Apache-2.0
#include "doctor/why.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace heddle::doctor {

using snapshot::BlockState;
using snapshot::Change;
using snapshot::ChangeKind;
using snapshot::ProgramWait;
using snapshot::Resource;
using snapshot::TaskState;

namespace {

std::string in_round(std::int64_t round) { return round < 0 ? "" : " in round " + std::to_string(round); }

std::string what_it_sent(const Change& change) {
  if (!change.value) return "its notify";
  return "its " + (change.op.empty() ? "notify of " : change.op + " ") + std::to_string(*change.value);
}

class Satisfiers {
 public:
  Satisfiers(const WaitModel& model, const WaitAnalysis& analysis, const snapshot::Wait& wait)
      : model_(model), analysis_(analysis), situation_(model.situation), all_(situation_.all()), wait_(wait) {}

  std::vector<Satisfier> list() {
    const std::uint32_t found = situation_.cell(wait_);
    if (found == Situation::none) return {};
    cell_ = &all_.cells[found];
    const auto& history = cell_->history;
    recent_ = std::span(history).last(std::min(history.size(), changes_most));
    std::set<snapshot::TaskRef> known;
    if (cell_->notifiers) {
      for (const snapshot::TaskRef& each : *cell_->notifiers) {
        if (result_.size() == satisfiers_most) break;
        known.insert(each);
        if (const std::uint32_t task = situation_.task(each.rank, each.task); task != Situation::none) add(task);
      }
    }
    others(known);
    return std::move(result_);
  }

 private:
  // What one wait may cost, whatever the snapshot says.
  static constexpr std::size_t changes_most = 512;
  static constexpr std::uint32_t blocks_most = 4'096;

  std::int64_t round() const { return situation_.round_of(wait_.rank); }
  void say(Party who, Why why, const std::string& rest) {
    std::string sentence = who.text + " " + rest;
    result_.push_back({std::move(who), why, std::move(sentence)});
  }

  void add(std::uint32_t task) {
    const snapshot::Task& of = all_.tasks[task];
    Party who = situation_.of_task(task);
    if (situation_.is_lost(of.rank)) {
      say(std::move(who), Why::died, "would notify it; its rank has failed");
      return;
    }
    const bool has_run =
        of.state == TaskState::complete || of.state == TaskState::waiting || (of.blocks >= 0 && of.ended >= of.blocks);
    if (has_run) {
      ran(task);
    } else if (!running(task)) {
      Why why = Why::unknown;
      const std::string rest = kept_by(model_, analysis_, task, why);
      say(std::move(who), why, "would notify it; it " + rest);
    }
  }

  // A block of it that stands somewhere. False when none is known.
  bool running(std::uint32_t task) {
    const auto [first, last] = situation_.blocks_of(task);
    for (std::uint32_t k = first; k < std::min(last, first + blocks_most); ++k) {
      const std::uint32_t index = situation_.blocks()[k];
      const snapshot::Block& block = all_.blocks[index];
      const std::uint32_t core = situation_.core(block.rank, block.core);
      const bool is_dead = core != Situation::none && all_.cores[core].state == snapshot::CoreState::dead;
      if (block.state == BlockState::ended) continue;
      if (block.state == BlockState::waiting) {
        say(situation_.of_block(index), Why::waits_itself, "would notify it, and waits itself before it does");
      } else if (is_dead && block.state == BlockState::dispatched) {
        say(situation_.of_block(index), Why::died,
            "would notify it; " + situation_.of_core(core).text + " never took it up");
      } else if (is_dead) {
        say(situation_.of_block(index), Why::died,
            "would notify it; " + situation_.of_core(core).text + " never ends it");
      } else if (block.state == BlockState::running) {
        say(situation_.of_block(index), Why::can_still, "would notify it, and runs");
      } else if (block.state == BlockState::dispatched && core != Situation::none) {
        say(situation_.of_block(index), Why::queued_behind,
            "would notify it; it was given to " + situation_.of_core(core).text + ", and has not begun");
      } else {
        continue;
      }
      return true;
    }
    if (all_.tasks[task].state != TaskState::running || all_.has("blocks")) return false;
    say(situation_.of_task(task), Why::unknown, "would notify it, and has begun; where it stands was not recorded");
    return true;
  }

  // What became of its notifies.
  void ran(std::uint32_t task) {
    const snapshot::Task& of = all_.tasks[task];
    Party who = situation_.of_task(task);
    const auto is_its = [&](const Change& change) {
      return change.rank == of.rank && change.task == of.task && change.kind == ChangeKind::notify &&
             (change.round < 0 || round() < 0 || change.round == round());
    };
    const Change* last = nullptr;
    std::size_t count = 0, at = 0;
    for (std::size_t i = 0; i < recent_.size(); ++i) {
      const Change& change = recent_[i];
      if (!is_its(change)) continue;
      if (change.lost) {
        say(std::move(who), Why::not_visible, "has run, and " + what_it_sent(change) + " was lost on its way");
        return;
      }
      if (!change.arrived) {
        say(std::move(who), Why::not_visible, "has run, and " + what_it_sent(change) + " has not arrived");
        return;
      }
      last = &change;
      at = i;
      ++count;
    }
    if (last == nullptr) {
      const bool is_recorded = cell_->older >= 0;
      say(std::move(who), is_recorded ? Why::ran_not_enough : Why::unknown,
          is_recorded ? "has run, and its notifies of this cell are not among what was kept, or it sent none"
                      : "has run; whether its notify arrived was not recorded");
      return;
    }
    if (const Change* const by = cleared(*last, at); by != nullptr) {
      say(std::move(who), Why::cleared,
          "has run, and " + what_it_sent(*last) + " arrived, and was overwritten after that by " + name_of(*by));
      return;
    }
    const std::string all =
        count == 1 ? what_it_sent(*last) + " arrived" : "its " + std::to_string(count) + " notifies arrived";
    say(std::move(who), Why::ran_not_enough, "has run, and " + all + ": that does not make up what is waited for");
  }

  // The store or reset that came after it.
  const Change* cleared(const Change& change, std::size_t at) const {
    for (std::size_t i = 0; i < recent_.size(); ++i) {
      const Change& other = recent_[i];
      if (other.kind == ChangeKind::notify || !other.arrived || !change.arrived) continue;
      if (*other.arrived > *change.arrived || (*other.arrived == *change.arrived && i > at)) return &other;
    }
    return nullptr;
  }
  std::string name_of(const Change& change) const {
    if (change.kind == ChangeKind::reset) return "a reset of the windows";
    const std::uint32_t task = situation_.task(change.rank, change.task);
    if (change.rank == wait_.rank && task != Situation::none &&
        (change.name.empty() || change.name == all_.tasks[task].name))
      return situation_.of_task(task).text;
    return (change.name.empty() ? "an unknown task" : change.name) + " (rank " + std::to_string(change.rank) + ")" +
           in_round(change.round);
  }

  // Who has notified it in earlier rounds, or is known from nothing but that.
  void others(const std::set<snapshot::TaskRef>& known) {
    std::set<std::tuple<int, std::int64_t, std::int64_t>> told;
    for (const Change& change : recent_) {
      if (change.kind != ChangeKind::notify || result_.size() == satisfiers_most) continue;
      const bool is_earlier = change.round >= 0 && round() >= 0 && change.round < round();
      if (!is_earlier && known.contains({change.rank, change.task})) continue;
      if (is_earlier && !result_.empty() && cell_->notifiers && !cell_->notifiers->empty()) continue;
      if (!told.emplace(change.rank, change.task, change.round).second) continue;
      Party who;
      who.kind = Party::Kind::task;
      who.rank = change.rank;
      who.task = change.task;
      who.name = change.name;
      who.id =
          "r" + std::to_string(change.rank) + ".t" + std::to_string(change.task) + ".e" + std::to_string(change.round);
      who.text = (change.name.empty() ? "a task" : change.name) + " (rank " + std::to_string(change.rank) + ")";
      if (is_earlier) {
        say(std::move(who), Why::ran_earlier, "notified it" + in_round(change.round) + ", and not since");
      } else {
        say(std::move(who), Why::ran_not_enough,
            "has run, and " + what_it_sent(change) + (change.arrived ? " arrived" : " has not arrived"));
      }
    }
  }

  const WaitModel& model_;
  const WaitAnalysis& analysis_;
  const Situation& situation_;
  const snapshot::Snapshot& all_;
  const snapshot::Wait& wait_;
  const snapshot::Cell* cell_ = nullptr;
  std::span<const Change> recent_;
  std::vector<Satisfier> result_;
};

}  // namespace

std::string program_wait(const snapshot::Rank& rank) {
  std::string text;
  switch (rank.waits_for) {
    case ProgramWait::ring:
      text = "waits for room in ";
      text += rank.resource == Resource::heap       ? "the heap"
              : rank.resource == Resource::dep_pool ? "the dependency pool"
                                                    : "the task window";
      if (rank.ring >= 0) text += " of ring " + std::to_string(rank.ring);
      break;
    case ProgramWait::region_map:
      text = "waits for room in the inference table";
      break;
    case ProgramWait::value:
      text = "waits for a value that a task computes";
      break;
    case ProgramWait::end:
      return "has submitted all, and waits for its tasks";
    case ProgramWait::nothing:
      return "does not wait";
    case ProgramWait::unknown:
      return "stands where was not recorded";
  }
  if (!rank.for_task.empty()) text += ", to submit " + rank.for_task;
  if (rank.source.known()) text += " (" + rank.source.text() + ")";
  return text;
}

std::string kept_by(const WaitModel& model, const WaitAnalysis& analysis, std::uint32_t task, Why& why) {
  const Situation& situation = model.situation;
  const snapshot::Task& of = situation.all().tasks[task];
  why = Why::queued_behind;
  switch (of.state) {
    case TaskState::not_submitted: {
      why = Why::never_submitted;
      const std::uint32_t rank = situation.rank(of.rank);
      return "was never submitted: the program of rank " + std::to_string(of.rank) + " " +
             (rank == Situation::none ? "was not recorded" : program_wait(situation.all().ranks[rank]));
    }
    case TaskState::submitted:
      if (of.producers) {
        for (const snapshot::TaskRef& each : *of.producers) {
          const std::uint32_t producer = situation.task(each.rank, each.task);
          if (producer == Situation::none || situation.is_over(situation.all().tasks[producer])) continue;
          return "starts only after " + situation.of_task(producer).text;
        }
      }
      return of.producers ? "has not been made ready" : "waits for producers that were not recorded";
    case TaskState::ready:
    case TaskState::running: {
      const WaitGraph::Node node = model.start[task];
      if (analysis.goes_on[node] == 0) return "is ready, and no core comes free for it";
      if (!situation.all().has("cores")) {
        why = Why::unknown;
        return "is ready; what the cores do was not recorded";
      }
      why = situation.is_final() ? Why::queued_behind : Why::can_still;
      return "is ready, and was not given to a core";
    }
    default:
      why = Why::unknown;
      return "may have begun or not: how far it had come was not recorded";
  }
}

std::vector<Satisfier> satisfiers(const WaitModel& model, const WaitAnalysis& analysis, const snapshot::Wait& wait) {
  return Satisfiers(model, analysis, wait).list();
}

}  // namespace heddle::doctor
