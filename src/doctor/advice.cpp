// SPDX-License-Identifier: Apache-2.0
#include "doctor/advice.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace heddle::doctor {

using snapshot::ProgramWait;
using snapshot::Resource;

namespace {

class Advice {
 public:
  Advice(const Situation& situation, const Report& report) : situation_(situation), report_(report) {}

  std::vector<std::string> list(const snapshot::Rank* stuck) {
    edge();
    if (stuck != nullptr) room(*stuck);
    for (const WaitReport& wait : report_.waits)
      if (wait.is_cause && wait.kind == EdgeKind::signal) signal(wait);
    const snapshot::Snapshot& all = situation_.all();
    if (all.outcome && !all.outcome->hint.empty()) said_.push_back(all.outcome->hint);
    if (!all.replay.empty()) said_.push_back("to see it again: " + all.replay);
    return std::move(said_);
  }

 private:
  // Between what waits for a core and what holds it.
  void edge() {
    for (const Step& step : report_.chain) {
      if (step.kind != EdgeKind::core || step.from.name.empty() || step.to.kind != Party::Kind::block) continue;
      const std::uint32_t core = situation_.core(step.to.rank, step.to.core);
      if (core != Situation::none && situation_.all().cores[core].state == snapshot::CoreState::gated) {
        said_.push_back(step.to.text +
                        " takes the core of what it waits for: this is a fault of the runtime, not of the program");
        return;
      }
      said_.push_back("an edge " + step.from.name + " -> " + step.to.name + " on rank " +
                      std::to_string(step.from.rank) + " would make this impossible; or let " + step.to.name +
                      " wait by completes_when, which holds no core");
      return;
    }
  }

  void room(const snapshot::Rank& rank) {
    const char* const option = rank.waits_for == ProgramWait::region_map ? "region_entries"
                               : rank.resource == Resource::heap         ? "heap_bytes"
                               : rank.resource == Resource::dep_pool     ? "dep_pool"
                                                                         : "task_window";
    said_.push_back(std::string("a larger ") + option + " lets the program go on; 'heddle size' finds the least");
  }

  // Each kind of it once.
  void say(Why why, std::string sentence) {
    if (told_.insert(why).second) said_.push_back(std::move(sentence));
  }
  void signal(const WaitReport& wait) {
    const std::uint32_t cell = situation_.cell(wait.what.rank, wait.what.name, wait.what.cell);
    const auto& notifiers = situation_.all().cells;
    if (cell != Situation::none && notifiers[cell].notifiers && notifiers[cell].notifiers->empty())
      say(Why::can_still,
          "no task of this round notifies " + wait.what.text + ": let one do so, or wait for a cell that is notified");
    const auto all_are = [&](Why why) {
      return !wait.could.empty() &&
             std::all_of(wait.could.begin(), wait.could.end(), [&](const Satisfier& each) { return each.why == why; });
    };
    if (all_are(Why::ran_not_enough))
      say(Why::ran_not_enough, "compare what is waited for at " + wait.what.text + " with what is sent to it");
    if (all_are(Why::ran_earlier))
      say(Why::ran_earlier, "count on with the rounds, or notify " + wait.what.text + " in each of them");
    if (std::any_of(wait.could.begin(), wait.could.end(), [](const auto& each) { return each.why == Why::cleared; }))
      say(Why::cleared, "clear " + wait.what.text +
                            " only when nobody can have sent for the next round yet: behind a barrier, or not at all");
  }

  const Situation& situation_;
  const Report& report_;
  std::vector<std::string> said_;
  std::set<Why> told_;
};

}  // namespace

std::vector<std::string> advice_of(const Situation& situation, const Report& report, const snapshot::Rank* stuck) {
  return Advice(situation, report).list(stuck);
}

}  // namespace heddle::doctor
