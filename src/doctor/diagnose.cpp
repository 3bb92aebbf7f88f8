// SPDX-License-Identifier: Apache-2.0
//
// The verdict, its culprit and victims, and all that the other parts say.
#include <algorithm>
#include <heddle/error.hpp>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "doctor/advice.hpp"
#include "doctor/chain.hpp"
#include "doctor/outcome.hpp"
#include "doctor/report.hpp"
#include "doctor/state.hpp"
#include "doctor/wait_model.hpp"
#include "doctor/why.hpp"

namespace heddle::doctor {

using snapshot::BlockState;
using snapshot::CoreState;
using snapshot::ProgramWait;
using snapshot::RankState;
using snapshot::Resource;
using snapshot::TaskState;
using Node = WaitGraph::Node;
using Kind = WaitNode::Kind;

namespace {

constexpr std::size_t waits_most = 2'000, victims_most = 2'000;

class Diagnosis {
 public:
  explicit Diagnosis(const snapshot::Snapshot& snapshot)
      : all_(snapshot), situation_(snapshot), model_(model_of(situation_)), analysis_(analyse(model_.graph)) {}

  Report make() {
    report_.nodes = model_.graph.nodes();
    report_.edges = model_.graph.edges().size();
    report_.knots = analysis_.knots.size();
    report_.notes = all_.notes;
    Chain chain = chain_of(model_, analysis_);
    knot_ = chain.knot;
    report_.chain = std::move(chain.steps);
    report_.chain_closes = chain.closes;
    waits();
    conclude();
    take_outcome(situation_, report_);
    victims();
    report_.classes = classes_of(situation_);
    report_.anomalies = anomalies_of(situation_);
    if (is_about_waits()) report_.hypotheses = hypotheses_of(model_, analysis_, report_);
    report_.missing = missing_of(situation_, report_);
    report_.advice = advice_of(situation_, report_, stuck_for_room());
    return std::move(report_);
  }

 private:
  bool stands(Node node) const { return analysis_.goes_on[node] == 0; }
  // In a knot, or at the end that nothing could help.
  bool is_cause(Node node) const {
    if (analysis_.knot[node] != WaitAnalysis::none) return true;
    const std::uint32_t toward = analysis_.toward[node];
    if (toward == WaitAnalysis::none) return false;
    const Node to = model_.graph.edges()[toward].to;
    const Kind kind = model_.nodes[to].kind;
    return analysis_.end[to] != 0 && (kind == Kind::cell || kind == Kind::flag || kind == Kind::core);
  }

  // Not of a failure that a checker or the program has found, with nothing left that waits.
  bool is_about_waits() const {
    return !report_.is_recorded || situation_.is_final() || !report_.waits.empty() || !report_.chain.empty();
  }

  // ---- who waits

  void waits() {
    for (std::uint32_t i = 0; i < all_.blocks.size(); ++i) {
      const snapshot::Block& block = all_.blocks[i];
      if (block.state == BlockState::waiting && block.wait) {
        signal(situation_.of_block(i), *block.wait, model_.block[i],
               situation_.holds_core(block)
                   ? " (it holds " + situation_.core_name(block.rank, block.core) + " meanwhile)"
                   : "");
      } else if (block.state == BlockState::unknown && block.wait) {
        signal(situation_.of_block(i), *block.wait, model_.block[i], " (whether it stands there was not recorded)",
               " is to wait until ");
      } else if (block.state == BlockState::dispatched && stands(model_.block[i])) {
        const std::uint32_t core = situation_.core(block.rank, block.core);
        WaitReport wait = other(situation_.of_block(i), EdgeKind::taken_up, model_.block[i]);
        if (core != Situation::none) wait.what = situation_.of_core(core);
        wait.sentence =
            wait.who.text + " was given to " + situation_.core_name(block.rank, block.core) + ", and has not begun";
        add(std::move(wait));
      }
    }
    for (std::uint32_t i = 0; i < all_.tasks.size(); ++i) {
      const snapshot::Task& task = all_.tasks[i];
      for (const snapshot::Wait& condition : task.conditions)
        signal(situation_.of_task(i), condition, model_.end[i], "");
      const bool wants_core = task.state == TaskState::ready || (task.state == TaskState::running && task.begun >= 0 &&
                                                                 task.blocks >= 0 && task.begun < task.blocks);
      if (!wants_core || !stands(model_.start[i])) continue;
      WaitReport wait = other(situation_.of_task(i), EdgeKind::core, model_.start[i]);
      wait.sentence = wait.who.text + " is ready, and every core that it could run on is held";
      add(std::move(wait));
    }
    for (std::uint32_t i = 0; i < all_.ranks.size(); ++i) {
      const snapshot::Rank& rank = all_.ranks[i];
      const bool is_room = rank.waits_for == ProgramWait::ring || rank.waits_for == ProgramWait::region_map;
      if (!is_room && rank.waits_for != ProgramWait::value) continue;
      WaitReport wait =
          other(situation_.program(rank.rank), is_room ? EdgeKind::room : EdgeKind::value, model_.program[i]);
      if (is_room) wait.what = situation_.of_ring(rank.rank, rank.ring);
      wait.sentence = wait.who.text + " " + program_wait(rank);
      add(std::move(wait));
    }
    std::sort(report_.waits.begin(), report_.waits.end(), [](const WaitReport& left, const WaitReport& right) {
      const auto key = [](const WaitReport& wait) {
        return std::tuple(!wait.is_cause, wait.who.rank, wait.who.task, wait.who.block, wait.what.cell);
      };
      const auto left_key = key(left), right_key = key(right);
      return std::tie(left_key, left.who.id, left.sentence) < std::tie(right_key, right.who.id, right.sentence);
    });
    if (left_out_ != 0)
      report_.notes.push_back(base::counted(static_cast<std::int64_t>(left_out_), "more wait") +
                              (left_out_ == 1 ? " is" : " are") + " not listed");
  }
  WaitReport other(Party who, EdgeKind kind, Node node) const {
    WaitReport wait;
    wait.who = std::move(who);
    wait.kind = kind;
    wait.is_cause = is_cause(node);
    return wait;
  }
  void signal(Party who, const snapshot::Wait& of, Node node, const std::string& holding,
              const char* waits = " waits until ") {
    WaitReport wait =
        other(std::move(who), of.kind == snapshot::WaitKind::flag ? EdgeKind::flag : EdgeKind::signal, node);
    if (of.kind == snapshot::WaitKind::signal) wait.what = situation_.of_cell(of.rank, of.window, of.cell);
    wait.compare = of.compare;
    wait.needs = of.needs;
    wait.has = of.has;
    wait.sentence = wait.who.text + waits + situation_.condition(of) + holding;
    if (of.kind == snapshot::WaitKind::signal && report_.waits.size() < waits_most) wait.could = could(of);
    add(std::move(wait));
  }
  // The same for all that wait for one cell.
  const std::vector<Satisfier>& could(const snapshot::Wait& of) {
    const auto [found, is_new] = could_.try_emplace({of.rank, of.window, of.cell});
    if (is_new) {
      // Those that have run say least.
      std::vector<Satisfier> all = satisfiers(model_, analysis_, of);
      for (const bool has_run : {false, true})
        for (Satisfier& each : all)
          if ((each.why == Why::ran_not_enough) == has_run) found->second.push_back(std::move(each));
    }
    return found->second;
  }
  void add(WaitReport wait) {
    if (report_.waits.size() < waits_most)
      report_.waits.push_back(std::move(wait));
    else
      ++left_out_;
  }

  // ---- what it comes to

  void conclude() {
    if (!analysis_.knots.empty() && knot_ != WaitAnalysis::none) {
      report_.is_proved = true;
      conclude_knot();
    } else {
      conclude_without();
    }
    if (report_.concluded_code >= 0) {
      report_.code = report_.concluded_code;
      report_.code_name = std::string(info(static_cast<Code>(report_.code)).name);
    }
  }

  const snapshot::Rank* stuck_for_room() const {
    for (std::uint32_t i = 0; i < all_.ranks.size(); ++i) {
      const auto waits_for = all_.ranks[i].waits_for;
      if ((waits_for == ProgramWait::ring || waits_for == ProgramWait::region_map) && stands(model_.program[i]) &&
          analysis_.knot[model_.program[i]] != WaitAnalysis::none && !situation_.is_lost(all_.ranks[i].rank))
        return &all_.ranks[i];
    }
    return nullptr;
  }

  void conclude_knot() {
    const auto lost = std::find_if(all_.ranks.begin(), all_.ranks.end(),
                                   [&](const snapshot::Rank& rank) { return situation_.is_lost(rank.rank); });
    const Knot& knot = analysis_.knots[knot_];
    const WaitNode& first = model_.nodes[knot.nodes.front()];
    if (const snapshot::Rank* const rank = stuck_for_room()) {
      room(*rank);
    } else if (first.kind == Kind::core) {
      broken_core(first.index);
    } else if (lost != all_.ranks.end()) {  // whatever else waits: the first failure stands
      report_.verdict = "FAILED";
      report_.culprit = situation_.program(lost->rank);
      report_.sentence =
          "rank " + std::to_string(lost->rank) + " has failed, and the others wait for what it did not do";
    } else if (knot_has(model_, analysis_, knot_, EdgeKind::core)) {
      held_core(knot);
    } else {
      signals();
    }
  }

  void room(const snapshot::Rank& rank) {
    report_.verdict = "DEADLOCK (proved)";
    report_.culprit = situation_.program(rank.rank);
    report_.culprit.name = rank.for_task;
    report_.culprit.ring = rank.ring;
    const bool one_scope = scopes_in(rank) <= 1;
    const Code code = rank.waits_for == ProgramWait::region_map ? Code::region_map_full
                      : rank.resource == Resource::heap         ? Code::heap_ring_deadlock
                      : rank.resource == Resource::dep_pool     ? Code::dep_pool_overflow
                      : rank.held_by_scope && one_scope         ? Code::scope_deadlock
                                                                : Code::flow_control_deadlock;
    report_.concluded_code = static_cast<int>(code);
    report_.sentence = "the program of rank " + std::to_string(rank.rank) + " " + program_wait(rank) +
                       ", and what holds it cannot end before that";
  }
  std::int64_t scopes_in(const snapshot::Rank& rank) const {
    return std::count_if(all_.scopes.begin(), all_.scopes.end(), [&](const snapshot::Scope& scope) {
      return scope.rank == rank.rank && scope.ring == rank.ring && scope.first >= 0;
    });
  }

  void broken_core(std::uint32_t index) {
    const snapshot::Core& core = all_.cores[index];
    report_.culprit = situation_.of_core(index);
    const auto block = std::find_if(all_.blocks.begin(), all_.blocks.end(), [&](const snapshot::Block& each) {
      return each.rank == core.rank && each.core == core.core && each.state == BlockState::running;
    });
    const bool runs = block != all_.blocks.end();
    const bool stopped_between = !runs && core.withheld > 0;  // it has ended the task before
    const bool is_stalled = runs || stopped_between;
    report_.concluded_code = static_cast<int>(is_stalled ? Code::core_stalled : Code::no_progress);
    report_.verdict = is_stalled ? "CORE STALLED" : "NO PROGRESS (proved)";
    report_.sentence = report_.culprit.text + (runs              ? " never ends "
                                               : stopped_between ? " ended a task, and never took up the pending one"
                                                                 : " never took up what it was given");
    if (runs) {
      const Party what = situation_.of_block(static_cast<std::uint32_t>(block - all_.blocks.begin()));
      report_.sentence += what.text;
      report_.culprit.source = what.source;
    }
  }

  void held_core(const Knot& knot) {
    report_.verdict = "DEADLOCK (proved)";
    report_.concluded_code = static_cast<int>(Code::core_deadlock);
    // Of the circle: tasks that would begin, or were placed behind what holds the core.
    std::uint32_t first = Situation::none;
    for (const std::uint32_t index : knot.cycle) {
      const WaitGraph::Edge& edge = model_.graph.edges()[index];
      if (static_cast<EdgeKind>(edge.tag) != EdgeKind::core) continue;
      const WaitNode& of = model_.nodes[edge.from];
      std::uint32_t task = Situation::none;
      if (of.kind == Kind::start) task = of.index;
      if (of.kind == Kind::block) task = situation_.task(all_.blocks[of.index].rank, all_.blocks[of.index].task);
      if (task == Situation::none) continue;
      if (first == Situation::none || std::pair(all_.tasks[task].rank, all_.tasks[task].task) <
                                          std::pair(all_.tasks[first].rank, all_.tasks[first].task))
        first = task;
    }
    if (first == Situation::none) {
      report_.culprit = report_.chain.empty() ? Party{} : report_.chain.front().from;
      report_.sentence = report_.culprit.text + " holds a core that what it waits for needs";
      return;
    }
    report_.culprit = situation_.of_task(first);
    report_.sentence = "task " + all_.tasks[first].name + " of rank " + std::to_string(all_.tasks[first].rank) +
                       " is ready, and every core that it could run on is held by a block that waits";
  }

  void signals() {
    report_.verdict = "DEADLOCK (proved)";
    report_.concluded_code = static_cast<int>(Code::signal_deadlock);
    const WaitReport* first = nullptr;
    std::int64_t count = 0;
    for (const WaitReport& wait : report_.waits) {
      if (wait.kind != EdgeKind::signal && wait.kind != EdgeKind::flag) continue;
      ++count;
      const auto key = [](const WaitReport& of) {
        return std::tie(of.who.rank, of.who.name, of.who.block, of.what.cell);
      };
      if (!wait.is_cause) continue;
      if (first == nullptr || key(wait) < key(*first)) first = &wait;
    }
    if (first == nullptr) {
      report_.sentence = "what is left waits for what never comes";
      if (!report_.chain.empty()) report_.culprit = report_.chain.front().from;
      return;
    }
    report_.culprit = first->who;
    report_.sentence = base::counted(count, "wait") + " can never be satisfied: " + first->sentence;
  }

  void conclude_without() {
    const auto is_unfinished = [&](const snapshot::Task& task) { return !situation_.is_over(task); };
    const bool unfinished = std::any_of(all_.tasks.begin(), all_.tasks.end(), is_unfinished) || !report_.waits.empty();
    if (situation_.is_final() && unfinished) {
      report_.verdict = "NOT EXPLAINED BY THE PROGRAM";
      report_.concluded_code = static_cast<int>(Code::no_progress);
      const std::uint32_t task = never_handed_out(model_, analysis_);
      if (task != Situation::none) report_.culprit = situation_.of_task(task);
      report_.sentence = task == Situation::none
                             ? "nothing could happen any more, and no wait of the program explains it"
                             : "task " + all_.tasks[task].name + " of rank " + std::to_string(all_.tasks[task].rank) +
                                   " is ready, no core is held by a wait, and no scheduler hands it out";
    } else if (!report_.waits.empty() || is_stuck_somewhere()) {
      report_.verdict = "UNDECIDED";
      report_.sentence = is_request()
                             ? "the run went on: what ran when this was taken may still satisfy the waits"
                             : "what was recorded does not tell whether the waits can still be satisfied, nor by whom";
    } else {
      report_.verdict = "NOTHING WAITS";
      report_.sentence = "nothing that was recorded waits for anything";
    }
  }
  bool is_request() const { return all_.taken == snapshot::Taken::request; }
  // A rank that had not ended when it was given up. Who was asked while it ran had not been.
  bool is_stuck_somewhere() const {
    return !(is_request() && all_.has("tasks") && all_.has("blocks")) &&
           std::any_of(all_.ranks.begin(), all_.ranks.end(), [](const snapshot::Rank& rank) {
             return rank.state == RankState::running || rank.state == RankState::unknown;
           });
  }

  void victims() {
    std::set<std::pair<int, std::int64_t>> causes;
    for (const WaitReport& wait : report_.waits)
      if (wait.is_cause) causes.emplace(wait.who.rank, wait.who.task);
    for (const Step& step : report_.chain) causes.emplace(step.from.rank, step.from.task);
    causes.emplace(report_.culprit.rank, report_.culprit.task);
    std::size_t more = 0;
    for (std::uint32_t i = 0; i < all_.tasks.size(); ++i) {
      const bool is_kept = stands(model_.end[i]) && !situation_.is_over(all_.tasks[i]);
      if (!is_kept || causes.contains({all_.tasks[i].rank, all_.tasks[i].task})) continue;
      const bool in_knot =
          analysis_.knot[model_.end[i]] != WaitAnalysis::none || analysis_.knot[model_.start[i]] != WaitAnalysis::none;
      if (in_knot && !situation_.is_lost(all_.tasks[i].rank)) continue;
      if (report_.victims.size() < victims_most)
        report_.victims.push_back(situation_.of_task(i));
      else
        ++more;
    }
    if (more != 0)
      report_.notes.push_back(base::counted(static_cast<std::int64_t>(more), "more victim") + " not listed");
  }

  const snapshot::Snapshot& all_;
  Situation situation_;
  WaitModel model_;
  WaitAnalysis analysis_;
  std::uint32_t knot_ = WaitAnalysis::none;
  std::size_t left_out_ = 0;
  std::map<std::tuple<int, std::string, std::int64_t>, std::vector<Satisfier>> could_;
  Report report_;
};

}  // namespace

Report diagnose(const snapshot::Snapshot& snapshot) { return Diagnosis(snapshot).make(); }

}  // namespace heddle::doctor
