// SPDX-License-Identifier: Apache-2.0
//
// What a standstill proves of the runtime itself: what it should have done, and did not, while nothing kept it.
#include <algorithm>

#include "lab/standstill.hpp"

namespace heddle::lab {

namespace {

constexpr const char* report_it = "this is a fault of the runtime: please report it";

std::string who(const Standstill& standstill, TaskId id) {
  return "task " + std::string(standstill.log->task(id.rank, id.serial).name) + " of rank " + std::to_string(id.rank);
}

Error about(const Standstill& standstill, TaskId id, std::string message) {
  const LoggedTask& task = standstill.log->task(id.rank, id.serial);
  return Error(Code::no_progress, std::move(message))
      .at_rank(id.rank)
      .at_task(task.name, -1, task.location)
      .with_hint(report_it);
}

// Whoever waits does so because of this task, on whatever rank.
Error lost(const Standstill& standstill) {
  const std::size_t more = standstill.lost.size() - 1;
  return about(standstill, standstill.lost.front(),
               who(standstill, standstill.lost.front()) + " is ready, in no queue and on no core: it was lost" +
                   (more == 0 ? std::string() : ", and so were " + std::to_string(more) + " more"));
}

// Room for all of its blocks, and others that came later were not kept back for it.
const StuckGang* overtaken(const Standstill& standstill) {
  const auto found = std::find_if(standstill.gangs.begin(), standstill.gangs.end(), [](const StuckGang& gang) {
    return !gang.drains && !gang.has_failed && gang.has_room && gang.overtook != 0;
  });
  return found == standstill.gangs.end() ? nullptr : &*found;
}

Error starved(const Standstill& standstill, const StuckGang& gang) {
  return about(standstill, gang.task,
               who(standstill, gang.task) + " is ready, and its " + std::to_string(gang.blocks) +
                   " blocks were never placed: " + std::to_string(gang.overtook) +
                   (gang.overtook == 1 ? " task" : " tasks") +
                   " that became ready later took the cores, and nothing kept any back for it");
}

// Nothing is handed out before the drain ends, and that needs cores which what is not handed out would free.
std::optional<Error> drained(const Standstill& standstill) {
  for (const TaskId id : standstill.idle)
    for (const StuckGang& gang : standstill.gangs)
      if (gang.drains && gang.task.rank == id.rank && !(gang.task == id))
        return about(standstill, id,
                     who(standstill, id) +
                         " is ready, with an idle core to run on, and is kept back by the drain for " +
                         std::string(standstill.log->task(gang.task.rank, gang.task.serial).name) +
                         ", which starts its " + std::to_string(gang.blocks) + " blocks together: it never ends");
  return std::nullopt;
}

}  // namespace

std::optional<Error> verdict_of_runtime(const Standstill& standstill) {
  if (!standstill.retries.empty()) {
    const Retry& retry = standstill.retries.front();
    return Error(Code::no_progress, retry.agent + " asks for ever for " + retry.what +
                                        ": nothing else can happen, so that the answer never changes")
        .at_rank(retry.rank)
        .with_hint(report_it);
  }
  if (const StuckGang* const gang = overtaken(standstill)) return starved(standstill, *gang);
  if (!standstill.lost.empty()) return lost(standstill);
  return drained(standstill);
}

std::optional<Verdict> named_fault(const Standstill& standstill) {
  if (!standstill.retries.empty()) return Verdict::livelock;
  if (overtaken(standstill) != nullptr) return Verdict::starved;
  return std::nullopt;
}

}  // namespace heddle::lab
