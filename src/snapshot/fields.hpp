// SPDX-License-Identifier: Apache-2.0
//
// The fields of a snapshot's records by name, once for all that reads, writes or describes them. An archive has
//   field(name, value)         a string, a number, a flag, or an optional one
//   choice(name, value, words) an enum whose words stand in the order of its values; the first means "not recorded"
//   record(name, value)        another record; record(name, optional)
//   list(name, values)         records; list(name, optional)
//   texts(name, values)        strings
// Each takes the value by reference; a writer has a const one.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>

#include "snapshot/snapshot.hpp"

namespace heddle::snapshot {

// Words of an enum, by its values.
template <class Enum>
struct Words;
template <>
struct Words<RankState> {
  static constexpr std::string_view all[] = {"unknown", "running", "ended", "failed", "dead"};
};
template <>
struct Words<ProgramWait> {
  static constexpr std::string_view all[] = {"unknown", "nothing", "ring", "region_map", "value", "end"};
};
template <>
struct Words<Resource> {
  static constexpr std::string_view all[] = {"unknown", "task_window", "heap", "dep_pool"};
};
template <>
struct Words<WaitKind> {
  static constexpr std::string_view all[] = {"signal", "flag"};
};
template <>
struct Words<TaskState> {
  static constexpr std::string_view all[] = {"unknown", "not_submitted", "submitted", "ready",
                                             "running", "waiting",       "complete"};
};
template <>
struct Words<BlockState> {
  static constexpr std::string_view all[] = {"unknown", "queued", "dispatched", "running", "waiting", "ended"};
};
template <>
struct Words<CoreKind> {
  static constexpr std::string_view all[] = {"unknown", "cube", "vector"};
};
template <>
struct Words<CoreState> {
  static constexpr std::string_view all[] = {"unknown",         "idle", "gated", "dispatched", "running",
                                             "finish_withheld", "dead"};
};
template <>
struct Words<ChangeKind> {
  static constexpr std::string_view all[] = {"notify", "store", "reset"};
};
template <>
struct Words<Taken> {
  static constexpr std::string_view all[] = {"unknown", "standstill", "failure", "request"};
};

template <class Enum>
constexpr std::string_view word_of(Enum value) {
  return Words<Enum>::all[static_cast<std::size_t>(value)];
}

// The record, const or not.
template <class Record, class Wanted>
concept Is = std::is_same_v<std::remove_const_t<Record>, Wanted>;

template <class Archive, Is<Source> R>
void describe(Archive& archive, R& source) {
  archive.field("file", source.file);
  archive.field("line", source.line);
}

template <class Archive, Is<TaskRef> R>
void describe(Archive& archive, R& ref) {
  archive.field("rank", ref.rank);
  archive.field("task", ref.task);
}

template <class Archive, Is<Rank> R>
void describe(Archive& archive, R& rank) {
  archive.field("rank", rank.rank);
  archive.choice("state", rank.state);
  archive.field("round", rank.round);
  archive.choice("waits_for", rank.waits_for);
  archive.choice("resource", rank.resource);
  archive.field("ring", rank.ring);
  archive.field("submitted", rank.submitted);
  archive.field("holder", rank.holder);
  archive.field("held_by_scope", rank.held_by_scope);
  archive.field("for_task", rank.for_task);
  archive.record("source", rank.source);
}

template <class Archive, Is<Wait> R>
void describe(Archive& archive, R& wait) {
  archive.choice("kind", wait.kind);
  archive.field("rank", wait.rank);
  archive.field("window", wait.window);
  archive.field("cell", wait.cell);
  archive.field("cluster", wait.cluster);
  archive.field("compare", wait.compare);
  archive.field("needs", wait.needs);
  archive.field("has", wait.has);
  archive.record("source", wait.source);
}

template <class Archive, Is<Task> R>
void describe(Archive& archive, R& task) {
  archive.field("rank", task.rank);
  archive.field("task", task.task);
  archive.field("name", task.name);
  archive.field("kernel", task.kernel);
  archive.record("source", task.source);
  archive.field("ring", task.ring);
  archive.field("round", task.round);
  archive.choice("state", task.state);
  archive.field("cubes", task.cubes);
  archive.field("vectors", task.vectors);
  archive.field("blocks", task.blocks);
  archive.field("begun", task.begun);
  archive.field("ended", task.ended);
  archive.list("producers", task.producers);
  archive.list("conditions", task.conditions);
}

template <class Archive, Is<Block> R>
void describe(Archive& archive, R& block) {
  archive.field("rank", block.rank);
  archive.field("task", block.task);
  archive.field("block", block.block);
  archive.field("part", block.part);
  archive.choice("state", block.state);
  archive.field("core", block.core);
  archive.field("worker", block.worker);
  archive.field("off_core", block.off_core);
  archive.record("wait", block.wait);
  archive.record("source", block.source);
}

template <class Archive, Is<Assignment> R>
void describe(Archive& archive, R& given) {
  archive.field("task", given.task);
  archive.field("block", given.block);
  archive.field("part", given.part);
  archive.field("token", given.token);
}

template <class Archive, Is<Core> R>
void describe(Archive& archive, R& core) {
  archive.field("rank", core.rank);
  archive.field("core", core.core);
  archive.field("name", core.name);
  archive.field("cluster", core.cluster);
  archive.field("lane", core.lane);
  archive.choice("kind", core.kind);
  archive.choice("state", core.state);
  archive.record("running", core.running);
  archive.record("pending", core.pending);
  archive.field("status", core.status);
  archive.field("anomalies", core.anomalies);
  archive.field("withheld", core.withheld);
}

template <class Archive, Is<Flag> R>
void describe(Archive& archive, R& flag) {
  archive.field("rank", flag.rank);
  archive.field("cluster", flag.cluster);
  archive.field("flag", flag.flag);
  archive.field("side", flag.side);
  archive.field("count", flag.count);
}

template <class Archive, Is<Queued> R>
void describe(Archive& archive, R& queued) {
  archive.field("task", queued.task);
  archive.field("next_block", queued.next_block);
  archive.field("blocks", queued.blocks);
}
template <class Archive, Is<Queue> R>
void describe(Archive& archive, R& queue) {
  archive.field("rank", queue.rank);
  archive.field("name", queue.name);
  archive.list("entries", queue.entries);
}

template <class Archive, Is<Amount> R>
void describe(Archive& archive, R& amount) {
  archive.field("size", amount.size);
  archive.field("held", amount.held);
}
template <class Archive, Is<Ring> R>
void describe(Archive& archive, R& ring) {
  archive.field("rank", ring.rank);
  archive.field("ring", ring.ring);
  archive.record("tasks", ring.tasks);
  archive.record("heap_bytes", ring.heap_bytes);
  archive.record("edges", ring.edges);
  archive.field("oldest", ring.oldest);
  archive.record("holder", ring.holder);
}

template <class Archive, Is<Scope> R>
void describe(Archive& archive, R& scope) {
  archive.field("rank", scope.rank);
  archive.field("depth", scope.depth);
  archive.field("ring", scope.ring);
  archive.field("manual", scope.manual);
  archive.field("first", scope.first);
  archive.record("source", scope.source);
}

template <class Archive, Is<Window> R>
void describe(Archive& archive, R& window) {
  archive.field("name", window.name);
  archive.field("bytes", window.bytes);
}

template <class Archive, Is<Change> R>
void describe(Archive& archive, R& change) {
  archive.choice("kind", change.kind);
  archive.field("rank", change.rank);
  archive.field("task", change.task);
  archive.field("block", change.block);
  archive.field("name", change.name);
  archive.field("round", change.round);
  archive.field("value", change.value);
  archive.field("op", change.op);
  archive.field("issued", change.issued);
  archive.field("arrived", change.arrived);
  archive.field("lost", change.lost);
}
template <class Archive, Is<Cell> R>
void describe(Archive& archive, R& cell) {
  archive.field("rank", cell.rank);
  archive.field("window", cell.window);
  archive.field("cell", cell.cell);
  archive.field("value", cell.value);
  archive.list("history", cell.history);
  archive.field("older", cell.older);
  archive.list("notifiers", cell.notifiers);
}

template <class Archive, Is<Fault> R>
void describe(Archive& archive, R& fault) {
  archive.field("name", fault.name);
  archive.field("rank", fault.rank);
  archive.field("where", fault.where);
}

template <class Archive, Is<Event> R>
void describe(Archive& archive, R& event) {
  archive.field("start", event.start);
  archive.field("end", event.end);
  archive.field("kind", event.kind);
  archive.field("rank", event.rank);
  archive.field("task", event.task);
  archive.field("block", event.block);
  archive.field("name", event.name);
  archive.field("core", event.core);
  archive.field("peer", event.peer);
  archive.field("window", event.window);
  archive.field("cell", event.cell);
  archive.field("value", event.value);
  archive.field("unfinished", event.unfinished);
}

template <class Archive, Is<Outcome> R>
void describe(Archive& archive, R& outcome) {
  archive.field("verdict", outcome.verdict);
  archive.field("code", outcome.code);
  archive.field("message", outcome.message);
  archive.field("rank", outcome.rank);
  archive.field("task", outcome.task);
  archive.field("block", outcome.block);
  archive.field("round", outcome.round);
  archive.record("source", outcome.source);
  archive.field("hint", outcome.hint);
  archive.texts("chain", outcome.chain);
}

template <class Archive, Is<Setting> R>
void describe(Archive& archive, R& setting) {
  archive.field("name", setting.name);
  archive.field("value", setting.value);
}

// What stands in the file itself, beside its lists.
template <class Archive, Is<Snapshot> R>
void describe_head(Archive& archive, R& snapshot) {
  archive.field("program", snapshot.program);
  archive.field("variant", snapshot.variant);
  archive.field("backend", snapshot.backend);
  archive.field("fidelity", snapshot.fidelity);
  archive.field("strategy", snapshot.strategy);
  archive.field("seed", snapshot.seed);
  archive.field("trace_hash", snapshot.trace_hash);
  archive.field("replay", snapshot.replay);
  archive.choice("taken", snapshot.taken);
  archive.field("time", snapshot.time);
  archive.record("outcome", snapshot.outcome);
  archive.texts("notes", snapshot.notes);
}
// visit(name, list) for each list of records.
template <class Visit, Is<Snapshot> R>
void for_each_list(R& snapshot, Visit&& visit) {
  visit("settings", snapshot.settings);
  visit("ranks", snapshot.ranks);
  visit("tasks", snapshot.tasks);
  visit("blocks", snapshot.blocks);
  visit("cores", snapshot.cores);
  visit("flags", snapshot.flags);
  visit("queues", snapshot.queues);
  visit("rings", snapshot.rings);
  visit("scopes", snapshot.scopes);
  visit("windows", snapshot.windows);
  visit("cells", snapshot.cells);
  visit("faults", snapshot.faults);
  visit("events", snapshot.events);
}

}  // namespace heddle::snapshot
