// SPDX-License-Identifier: Apache-2.0
//
// Causes that a snapshot is looked at for, each confirmed, excluded or open, and what was not recorded.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "doctor/state.hpp"

namespace heddle::doctor {

using snapshot::BlockState;
using snapshot::CoreState;
using snapshot::ProgramWait;
using snapshot::RankState;
using snapshot::TaskState;
using Outcome = Hypothesis::Outcome;

namespace {

std::string several(std::int64_t count, const std::string& noun) { return base::counted(count, noun); }

class Exclusion {
 public:
  Exclusion(const WaitModel& model, const WaitAnalysis& analysis, const Report& report)
      : model_(model), analysis_(analysis), situation_(model.situation), all_(situation_.all()), report_(report) {}

  std::vector<Hypothesis> list() {
    count_waits();
    program();
    communication();
    cleared();
    cores_held();
    dispatch();
    dead_cores();
    rings();
    ranks();
    outside();
    return std::move(found_);
  }

 private:
  void say(const char* name, Outcome outcome, std::string sentence) {
    found_.push_back({outcome, name, std::move(sentence)});
  }
  bool any(Why why) const {
    return std::any_of(report_.waits.begin(), report_.waits.end(), [&](const WaitReport& wait) {
      return std::any_of(wait.could.begin(), wait.could.end(), [&](const Satisfier& each) { return each.why == why; });
    });
  }
  std::string first(Why why) const {
    for (const WaitReport& wait : report_.waits)
      for (const Satisfier& each : wait.could)
        if (each.why == why) return each.sentence;
    return {};
  }

  void count_waits() {
    for (const snapshot::Block& block : all_.blocks)
      if (block.wait && block.wait->kind == snapshot::WaitKind::signal && block.state != BlockState::ended)
        count(*block.wait);
    for (const snapshot::Task& task : all_.tasks) {
      if (task.state == TaskState::unknown) is_known_ = false;
      for (const snapshot::Wait& wait : task.conditions) count(wait);
    }
    if (!all_.has("tasks") || !all_.has("blocks")) is_known_ = false;
  }
  void count(const snapshot::Wait& wait) {
    if (wait.kind != snapshot::WaitKind::signal || !seen_.emplace(wait.rank, wait.window, wait.cell).second) return;
    const std::uint32_t found = situation_.cell(wait);
    ++cells_;
    if (found == Situation::none) {
      ++without_notifiers_;
      ++without_history_;
      return;
    }
    const snapshot::Cell& cell = all_.cells[found];
    if (!cell.notifiers) ++without_notifiers_;
    if (cell.older < 0) ++without_history_;
    if (cell.notifiers && cell.notifiers->empty()) ++without_any_;
    if (cell.older > 0) ++cut_history_;
  }
  // For causes that only a wait for a cell can have. False when there is such a wait.
  bool nothing_waits(const char* name) {
    if (cells_ != 0) return false;
    if (is_known_)
      say(name, Outcome::excluded, "nothing waits for a cell");
    else
      say(name, Outcome::open, "which blocks wait, and for what, was not recorded");
    return true;
  }

  // A notify that the program does not contain.
  void program() {
    constexpr const char* name = "a notify that the program lacks";
    if (without_any_ != 0) {
      say(name, Outcome::confirmed, several(without_any_, "cell") + " that is waited for, and that no task notifies");
    } else if (nothing_waits(name)) {
      return;
    } else if (without_notifiers_ != 0) {
      say(name, Outcome::open, "which tasks notify was not recorded for " + several(without_notifiers_, "cell"));
    } else {
      say(name, Outcome::excluded, "every cell that is waited for has tasks that notify it");
    }
  }

  // A notify that was sent and is not there.
  void communication() {
    constexpr const char* name = "communication: a notify that was sent, and is not visible";
    if (any(Why::not_visible)) {
      say(name, Outcome::confirmed, first(Why::not_visible));
    } else if (nothing_waits(name)) {
      return;
    } else if (without_history_ != 0) {
      say(name, Outcome::open, "the notifies of " + several(without_history_, "cell") + " were not recorded");
    } else {
      say(name, Outcome::excluded, "every notify of the cells that are waited for has arrived");
    }
  }

  void cleared() {
    constexpr const char* name = "a cell that was cleared after its notify had arrived";
    if (any(Why::cleared)) {
      say(name, Outcome::confirmed, first(Why::cleared));
    } else if (nothing_waits(name)) {
      return;
    } else if (without_history_ != 0) {
      say(name, Outcome::open, "the changes of " + several(without_history_, "cell") + " were not recorded");
    } else {
      say(name, cut_history_ != 0 ? Outcome::open : Outcome::excluded,
          cut_history_ != 0 ? "older changes of the cells were not kept"
                            : "nothing but notifies changed these cells after those had arrived");
    }
  }

  void cores_held() {
    constexpr const char* name = "a wait that holds a core which its own satisfier needs";
    const bool is_so = std::any_of(report_.chain.begin(), report_.chain.end(),
                                   [](const Step& step) { return step.kind == EdgeKind::core; });
    if (is_so)
      say(name, Outcome::confirmed, "the chain goes through a core");
    else if (!all_.has("cores") || !all_.has("tasks"))
      say(name, Outcome::open, "what the cores ran, or which tasks were ready, was not recorded");
    else
      say(name, Outcome::excluded, "no task in the chain waits for a core");
  }

  // The runtime had what it needs to go on, and did not.
  void dispatch() {
    constexpr const char* name = "runtime dispatch: a ready task that is not handed out";
    const std::uint32_t task = never_handed_out(model_, analysis_);
    if (task != Situation::none) {
      say(name, Outcome::confirmed,
          situation_.of_task(task).text + " is ready, no wait holds a core, and it stands still");
    } else if (!all_.has("cores") || !all_.has("tasks")) {
      say(name, Outcome::open, "which tasks were ready, and which cores were idle, was not recorded");
    } else if (!situation_.is_final()) {
      say(name, Outcome::open, "the run had not come to a standstill: what is ready may still be handed out");
    } else {
      say(name, Outcome::excluded, "every ready task that was not handed out had no core to run on");
    }
  }

  void dead_cores() {
    constexpr const char* name =
        "runtime dispatch: a task handed to a core that does not take it up, or does not end it";
    const auto is = [&](CoreState state) {
      return std::find_if(all_.cores.begin(), all_.cores.end(),
                          [&](const snapshot::Core& core) { return core.state == state; });
    };
    if (const auto dead = is(CoreState::dead); dead != all_.cores.end()) {
      say(name, Outcome::confirmed, situation_.core_name(dead->rank, dead->core));
    } else if (!all_.has("cores")) {
      say(name, Outcome::open, "the cores' states were not recorded");
    } else if (std::any_of(all_.tasks.begin(), all_.tasks.end(),
                           [](const auto& task) { return task.state == TaskState::unknown; })) {
      say(name, Outcome::open, "how far some tasks had come was not recorded");
    } else if (is(CoreState::dispatched) != all_.cores.end()) {
      say(name, Outcome::open,
          situation_.core_name(is(CoreState::dispatched)->rank, is(CoreState::dispatched)->core) +
              " had not taken up its task");
    } else if (is(CoreState::unknown) != all_.cores.end()) {
      say(name, Outcome::open, "the states of some cores were not recorded");
    } else {
      say(name, Outcome::excluded, "every core that was given a task has taken it up, and those that wait are known");
    }
  }

  void rings() {
    constexpr const char* name = "a ring that is too small";
    const auto waits = [](const snapshot::Rank& rank) {
      return rank.waits_for == ProgramWait::ring || rank.waits_for == ProgramWait::region_map;
    };
    if (const auto rank = std::find_if(all_.ranks.begin(), all_.ranks.end(), waits); rank != all_.ranks.end()) {
      say(name, Outcome::confirmed, "the program of rank " + std::to_string(rank->rank) + " waits for room");
    } else if (all_.ranks.empty() || std::any_of(all_.ranks.begin(), all_.ranks.end(), [](const auto& each) {
                 return each.waits_for == ProgramWait::unknown && each.state != RankState::ended &&
                        each.state != RankState::failed && each.state != RankState::dead;
               })) {
      say(name, Outcome::open, "what the ranks' programs waited for was not recorded");
    } else {
      say(name, Outcome::excluded, "no rank's program waits for room");
    }
  }

  void ranks() {
    constexpr const char* name = "a rank that failed or died";
    const auto lost = std::find_if(all_.ranks.begin(), all_.ranks.end(),
                                   [&](const snapshot::Rank& rank) { return situation_.is_lost(rank.rank); });
    if (lost != all_.ranks.end())
      say(name, Outcome::confirmed, "rank " + std::to_string(lost->rank));
    else if (std::any_of(all_.ranks.begin(), all_.ranks.end(),
                         [](const auto& rank) { return rank.state == RankState::unknown; }) ||
             all_.ranks.empty())
      say(name, Outcome::open, "the states of some ranks were not recorded");
    else
      say(name, Outcome::excluded, "every rank runs, or has ended");
  }

  // What a snapshot of the program's state cannot show.
  void outside() {
    const bool is_lab = all_.backend.starts_with("lab:");
    say("diagnostic reads, which change the timing or what is seen", is_lab ? Outcome::excluded : Outcome::open,
        is_lab ? "nothing reads the simulated chips while they run"
               : "whether something read the device meanwhile does not show in a snapshot");
    say("the device path: driver, launch, or the host's side of it", is_lab ? Outcome::excluded : Outcome::open,
        is_lab ? "there is none in the laboratory"
               : "it does not show in a snapshot; what decides the others leaves or excludes it");
  }

  const WaitModel& model_;
  const WaitAnalysis& analysis_;
  const Situation& situation_;
  const snapshot::Snapshot& all_;
  const Report& report_;
  std::int64_t cells_ = 0, without_notifiers_ = 0, without_history_ = 0, without_any_ = 0, cut_history_ = 0;
  bool is_known_ = true;  // which tasks wait
  std::set<std::tuple<int, std::string, std::int64_t>> seen_;
  std::vector<Hypothesis> found_;
};

}  // namespace

std::vector<Hypothesis> hypotheses_of(const WaitModel& model, const WaitAnalysis& analysis, const Report& report) {
  return Exclusion(model, analysis, report).list();
}

std::vector<Missing> missing_of(const Situation& situation, const Report& report) {
  const snapshot::Snapshot& all = situation.all();
  std::vector<Missing> missing;
  const bool decides = !report.is_proved && !all.outcome;
  const auto list = [&](const char* name, bool is_needed, const char* sentence) {
    if (!all.has(name)) missing.push_back({name, sentence, is_needed && decides});
  };
  const auto some = [&](const char* what, std::int64_t count, const std::string& sentence) {
    if (count != 0) missing.push_back({what, sentence, decides});
  };
  list("tasks", true, "which tasks there were, and how far each of them had come");
  list("blocks", true, "which blocks waited, on which cores, and for what");
  list("cores", true, "whether a task was ready and had no core, or was handed to a core that did not take it up");
  list("cells", true, "the values of the cells at the end: whether what was sent had arrived");

  std::int64_t values = 0, notifiers = 0, histories = 0, states = 0, producers = 0, places = 0;
  const auto look_at = [&](const snapshot::Wait& wait) {
    const std::uint32_t cell = situation.cell(wait);
    const bool is_there = cell != Situation::none;
    values += wait.has || (is_there && all.cells[cell].value) ? 0 : 1;
    notifiers += is_there && all.cells[cell].notifiers ? 0 : 1;
    histories += is_there && all.cells[cell].older >= 0 ? 0 : 1;
  };
  for (const snapshot::Block& block : all.blocks) {
    if (block.wait && block.wait->kind == snapshot::WaitKind::signal) look_at(*block.wait);
    places += block.state == BlockState::unknown ? 1 : 0;
  }
  for (const snapshot::Task& task : all.tasks) {
    for (const snapshot::Wait& wait : task.conditions) look_at(wait);
    states += task.state == TaskState::unknown ? 1 : 0;
    producers += task.state == TaskState::submitted && !task.producers ? 1 : 0;
  }
  some("tasks/state", states,
       "the states of " + base::counted(states, "task") + ": not submitted, ready, running or over");
  some("tasks/producers", producers, "what " + base::counted(producers, "task") + " waited for before it could start");
  some("blocks/state", places,
       "where " + base::counted(places, "block") + " stood: waiting, running or given to a core");
  some("cells/value", values,
       "what was in the cells of " + base::counted(values, "wait") + ": a count that is short tells who is missing");
  some("cells/notifiers", notifiers, "which tasks notify the cells of " + base::counted(notifiers, "wait"));
  some("cells/history", histories,
       "which notifies of the cells of " + base::counted(histories, "wait") +
           " were sent and which arrived: a lost notify is told from one never sent");
  return missing;
}

}  // namespace heddle::doctor
