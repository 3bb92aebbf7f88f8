// SPDX-License-Identifier: Apache-2.0
#include "lab/standstill.hpp"

#include <algorithm>
#include <set>

namespace heddle::lab {

namespace {

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

}  // namespace

std::string CellName::text() const {
  return "cell " + std::to_string(cell) + " of " + quoted(window) + " on rank " + std::to_string(rank);
}

CellName name_of(const heddle::detail::SignalRef& signal) {
  const auto offset =
      static_cast<const std::byte*>(signal.cell) - signal.window->part[static_cast<std::size_t>(signal.rank)];
  return {signal.window->name, signal.rank, offset / (signal.wide ? 8 : 4)};
}

void NotifyMap::notify(const BlockId& block, std::uint64_t, const heddle::detail::SignalRef& signal, std::int64_t,
                       Notify, Order) {
  auto& tasks = notifiers_[{round_, name_of(signal)}];
  if (std::find(tasks.begin(), tasks.end(), block.task) == tasks.end()) tasks.push_back(block.task);
}

void NotifyMap::half(const BlockId& block, const HalfEvent& event) {
  if (event.kind == HalfEvent::Kind::ended) return;
  halves_.try_emplace({round_, block.task.rank, block.task.serial, event.kind == HalfEvent::Kind::gave, event.from_cube,
                       event.tile, event.tile ? 0 : event.flag},
                      event.location);
}

Location NotifyMap::of(const TaskId& task, const window::HalfWait& wait, std::int64_t round) const {
  using What = window::HalfWait::What;
  const bool needs_gift = wait.what == What::flag || wait.what == What::tile;
  const bool tile = wait.what == What::tile || wait.what == What::tile_room;
  const bool from_cube = needs_gift ? !wait.is_cube : wait.is_cube;
  const auto found = halves_.find({round, task.rank, task.serial, needs_gift, from_cube, tile, tile ? 0 : wait.flag});
  return found == halves_.end() ? Location() : found->second;
}

const std::vector<TaskId>& NotifyMap::of(const CellName& cell, std::int64_t round) const {
  static const std::vector<TaskId> none;
  const auto found = notifiers_.find({round, cell});
  return found == notifiers_.end() ? none : found->second;
}

namespace {

// The same fields as of a worker of the host that never returns.
Error stalled(const StruckFault& struck, const Standstill& standstill) {
  Error error(Code::core_stalled, struck.where);
  error.at_rank(struck.rank);
  const auto core = std::find_if(standstill.cores.begin(), standstill.cores.end(),
                                 [&](const WorkerRecord& each) { return each.stuck && each.rank == struck.rank; });
  if (core == standstill.cores.end()) return error;
  return error.at_task(core->task, core->block, core->submitted).with_workers(standstill.cores);
}

// A core that stopped between two tasks has stalled; one that never saw its task has not.
Error dead(const Standstill& standstill, const DeadCore& core) {
  const std::string given = "task " + core.task + ", block " + std::to_string(core.block);
  if (!core.ended.empty())
    return Error(Code::core_stalled, core.core + " ended " + core.ended + ", and never took up what stood pending: " +
                                         given + "; after the bound the first was taken for ended without it")
        .at_rank(core.rank)
        .at_task(core.task, core.block, core.location)
        .with_workers(standstill.cores)
        .with_hint("the core stopped between two tasks: see its state, with the anomaly that it shows");
  return Error(Code::no_progress, core.core + " never took up what it was given: " + given +
                                      "; everything that still waits does so for this task, or for what follows it")
      .at_rank(core.rank)
      .at_task(core.task, core.block, core.location)
      .with_hint("a dispatch was lost between the scheduler and this core: see the state of the core");
}

}  // namespace

std::optional<Error> verdict_of(const Standstill& standstill, const FaultBook& faults) {
  for (const StruckFault& struck : faults.struck()) {
    if (struck.fault != Fault::stalled_core && struck.fault != Fault::endless_kernel) continue;
    return stalled(struck, standstill);
  }
  if (!standstill.dead.empty()) return dead(standstill, standstill.dead.front());
  if (std::optional<Error> own = verdict_of_runtime(standstill)) return own;
  if (std::optional<Error> halves = verdict_of_halves(standstill)) return halves;
  const auto holder = std::find_if(standstill.waits.begin(), standstill.waits.end(),
                                   [](const StuckWait& wait) { return !wait.core.empty(); });
  if (standstill.starved.empty()) return std::nullopt;
  const TaskId starved = standstill.starved.front();
  const LoggedTask& task = standstill.log->task(starved.rank, starved.serial);
  const std::string ready = "task " + std::string(task.name) + " of rank " + std::to_string(starved.rank) +
                            " is ready, and every core that it could run on is held ";
  if (holder == standstill.waits.end()) {
    const auto gate = std::find_if(standstill.gated.begin(), standstill.gated.end(),
                                   [&](const DeadCore& each) { return each.rank == starved.rank; });
    if (gate == standstill.gated.end()) return std::nullopt;
    const auto count = std::count_if(standstill.gated.begin(), standstill.gated.end(),
                                     [&](const DeadCore& each) { return each.rank == starved.rank; });
    return Error(Code::core_deadlock, ready + "behind a gate: " + std::to_string(count) +
                                          " cores wait for the producers of what was placed there early, " +
                                          gate->core + " with task " + gate->task)
        .at_rank(starved.rank)
        .at_task(task.name, -1, task.location)
        .with_hint("gated tasks must leave cores to what they wait for: a fault of the runtime, not of the program");
  }
  return Error(Code::core_deadlock, ready + "by a block that waits")
      .at_rank(starved.rank)
      .at_task(task.name, -1, task.location)
      .with_hint("order the waiting task after the one that it keeps from running, or let it wait by completes_when");
}

namespace {

// Walks from wait to wait. Each step says one sentence and names what is waited for next.
class Chain {
 public:
  Chain(const Standstill& standstill, const NotifyMap& notifiers) : still_(standstill), notifiers_(notifiers) {}

  std::vector<std::string> walk() {
    const StuckWait* wait = first();
    while (wait != nullptr && sentences_.size() < most_sentences) {
      if (!seen_.insert(wait).second) {
        sentences_.push_back("so it comes back to " + (wait->half ? half_name(still_, *wait) : who(wait->task)) +
                             ": none of these can ever go on");
        break;
      }
      wait = after(*wait);
    }
    if (!edge_.empty()) sentences_.push_back(edge_);
    return std::move(sentences_);
  }

 private:
  static constexpr std::size_t most_sentences = 64;

  const LoggedTask& task(TaskId id) const { return still_.log->task(id.rank, id.serial); }
  bool submitted(TaskId id) const { return id.serial < still_.log->tasks(id.rank); }
  std::string who(TaskId id) const {
    return std::string(task(id).name) + " (rank " + std::to_string(id.rank) + ", task " + std::to_string(id.serial) +
           ")";
  }

  // Rather one that holds a core which another task needs.
  const StuckWait* first() const {
    const auto wanted = [&](const StuckWait& wait) {
      return !wait.core.empty() && std::any_of(still_.starved.begin(), still_.starved.end(),
                                               [&](TaskId id) { return id.rank == wait.task.rank; });
    };
    const auto found = std::find_if(still_.waits.begin(), still_.waits.end(), wanted);
    if (found != still_.waits.end()) return &*found;
    return still_.waits.empty() ? nullptr : &still_.waits.front();
  }
  const StuckWait* wait_of(TaskId id) const {
    const auto found =
        std::find_if(still_.waits.begin(), still_.waits.end(), [&](const StuckWait& wait) { return wait.task == id; });
    return found == still_.waits.end() ? nullptr : &*found;
  }

  const StuckWait* after(const StuckWait& wait) {
    if (wait.half) {
      sentences_.push_back(half_waits(still_, wait, notifiers_));
      if (std::string why = half_blocked(still_, wait); !why.empty()) sentences_.push_back(std::move(why));
      return after_half(still_, wait);
    }
    std::string text = who(wait.task);
    if (wait.block >= 0) text += " block " + std::to_string(wait.block);
    text += " waits until " + wait.cell.text() + " is " + wait.compare + " " + std::to_string(wait.needs) + "; it is " +
            std::to_string(wait.has);
    if (!wait.core.empty()) text += " (it holds " + wait.core + " meanwhile)";
    sentences_.push_back(text);
    return satisfier(wait);
  }

  // What could have satisfied the wait, and did not run.
  const StuckWait* satisfier(const StuckWait& wait) {
    const std::vector<TaskId>& tasks = notifiers_.of(wait.cell, still_.round);
    if (tasks.empty()) {
      sentences_.push_back("no task of this round notifies " + wait.cell.text());
      return nullptr;
    }
    std::string ran;
    for (const TaskId id : tasks) {
      if (submitted(id) && (task(id).complete || task(id).ended == task(id).parts)) {
        ran += (ran.empty() ? "" : ", ") + who(id);
        continue;
      }
      return blocked(id, wait);
    }
    sentences_.push_back("all that notify it have run already: " + ran +
                         "; a notify was lost, or came before the cell was cleared, or counts less than is waited for");
    return nullptr;
  }

  const StuckWait* blocked(TaskId id, const StuckWait& wait) {
    if (!submitted(id)) {
      sentences_.push_back("rank " + std::to_string(id.rank) + "'s task " + std::to_string(id.serial) +
                           ", which notifies it, was never submitted: its orchestrator waits");
      return nullptr;
    }
    if (!visited_.insert({id.rank, id.serial}).second) return wait_of(id);
    const LoggedTask& that = task(id);
    if (that.begun > that.ended || that.begun == that.parts) {
      const StuckWait* next = wait_of(id);
      if (next == &wait)
        sentences_.push_back(who(id) + " would notify it, and waits itself before it does");
      else
        sentences_.push_back(who(id) + " would notify it, and waits itself");
      return next;
    }
    if (that.ready) return starved(id);
    for (const TaskId producer : still_.log->producers(id.rank, that)) {
      if (task(producer).complete) continue;
      sentences_.push_back(who(id) + " would come next, and starts only after " + who(producer));
      if (const StuckWait* next = wait_of(producer); next != nullptr) return next;
      return blocked(producer, wait);
    }
    sentences_.push_back(who(id) + " would come next, and has not started");
    return nullptr;
  }

  const StuckWait* starved(TaskId id) {
    const auto holder = std::find_if(still_.waits.begin(), still_.waits.end(), [&](const StuckWait& wait) {
      return wait.task.rank == id.rank && !wait.core.empty();
    });
    if (holder == still_.waits.end()) {
      sentences_.push_back(who(id) + " is ready, and was never given to a core");
      return nullptr;
    }
    sentences_.push_back(who(id) + " is ready, and the core that it needs, " + holder->core + ", is held by " +
                         who(holder->task));
    edge_ = "an edge " + std::string(task(id).name) + " -> " + task(holder->task).name + " on rank " +
            std::to_string(id.rank) + " would make this impossible";
    return &*holder;
  }

  const Standstill& still_;
  const NotifyMap& notifiers_;
  std::vector<std::string> sentences_;
  std::set<const StuckWait*> seen_;
  std::set<std::pair<int, std::uint32_t>> visited_;
  std::string edge_;
};

}  // namespace

std::vector<std::string> chain_of(const Standstill& standstill, const NotifyMap& notifiers) {
  return Chain(standstill, notifiers).walk();
}

}  // namespace heddle::lab
