// SPDX-License-Identifier: Apache-2.0
//
// What the doctor concludes from a snapshot. The writers — text, JSON, a page — show this and the snapshot, and
// conclude nothing of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/snapshot.hpp"

namespace heddle::doctor {

// Somebody or something that the report is about.
struct Party {
  enum class Kind : std::uint8_t { none, program, task, block, core, cell, ring, fault } kind = Kind::none;
  int rank = -1;
  std::int64_t task = -1, block = -1, core = -1, cell = -1;
  int ring = -1;
  std::string name;  // of the task, the window or the core
  snapshot::Source source;
  std::string id;    // "r0.t3.b1": the same in one report for the same party; for links
  std::string text;  // as sentences have it: "reduce (rank 0, task 3) block 1"
};
const char* name_of(Party::Kind kind) noexcept;

// What kind of thing one party waits for from another.
enum class EdgeKind : std::uint8_t {
  signal,    // a cell's value, which the other would change
  flag,      // a flag of its cluster
  core,      // a core that the other holds
  taken_up,  // to be begun by the core that it was given to
  producer,  // the other task's end
  blocks,    // the end of a task's own blocks
  submit,    // to be submitted by a rank's program
  room,      // slots or bytes of a ring
  value,     // a scalar that the other computes
  fault,     // something that was broken on purpose
};
const char* name_of(EdgeKind kind) noexcept;  // "waits for signal", …

// Why somebody who could have satisfied a wait did not.
enum class Why : std::uint8_t {
  never_submitted,
  queued_behind,   // behind what waits: no core, an unfinished producer
  waits_itself,    // holds a core, and waits before it gets there
  ran_earlier,     // in an earlier round
  not_visible,     // sent, and not arrived
  cleared,         // arrived, and was cleared after that
  died,            // its rank, or the core that it was given to
  ran_not_enough,  // ran, and what it sent does not make up what is waited for
  can_still,       // nothing known keeps it
  unknown,         // not recorded
};
const char* name_of(Why why) noexcept;  // "never submitted", …

struct Satisfier {
  Party who;
  Why why = Why::unknown;
  std::string sentence;
};

// One wait: of a block, of a task for its condition, of a task for a core, of a program.
struct WaitReport {
  Party who;
  EdgeKind kind = EdgeKind::signal;
  std::string sentence;
  Party what;           // the cell, the core or the ring
  std::string compare;  // of a cell
  std::optional<std::int64_t> needs, has;
  bool is_cause = false;         // part of what keeps everything; otherwise it waits for such
  std::vector<Satisfier> could;  // who could have satisfied it
};

// A step of the chain.
struct Step {
  Party from;
  EdgeKind kind = EdgeKind::signal;
  Party to;  // none: the chain ends with what is missing
  std::string sentence;
};

// Ranks, or cores, that are in the same state.
struct StateClass {
  Party::Kind of = Party::Kind::none;  // program: ranks; core: cores
  std::string state;                   // "waits for cell 0 of \"done\", having 7, needing 8"
  std::vector<Party> members;
  std::string text;  // "ranks 0-3"
};

struct Anomaly {
  Party where;
  std::string sentence;
};

// What was not recorded.
struct Missing {
  std::string what;      // "cells/history"
  std::string sentence;  // what it would decide
  bool decides = false;  // the answer could be another one with it
};

// A cause that the snapshot was looked at for.
struct Hypothesis {
  enum class Outcome : std::uint8_t { confirmed, excluded, open } outcome = Outcome::open;
  std::string name;      // "a lost notify"
  std::string sentence;  // by what
};
const char* name_of(Hypothesis::Outcome outcome) noexcept;

struct Report {
  // The first line.
  std::string verdict;  // "DEADLOCK (proved)", "STUCK (not proved)", …
  int code = -1;        // docs/errors.md; -1: none
  std::string code_name;
  std::string sentence;
  bool is_proved = false;    // the snapshot is of a standstill, and its waits form a knot
  bool is_recorded = false;  // verdict and code are the runtime's own; otherwise concluded from the snapshot alone
  int concluded_code = -1;   // from the snapshot alone; -1: it does not decide
  std::string disagreement;  // a sentence, when the two differ

  Party culprit;               // kind none: not known
  std::vector<Party> victims;  // wait for the cause, and are no part of it
  std::vector<Step> chain;
  bool chain_closes = false;  // its last step comes back to an earlier one
  std::vector<WaitReport> waits;
  std::vector<StateClass> classes;
  std::vector<Anomaly> anomalies;
  std::vector<Hypothesis> hypotheses;
  std::vector<Missing> missing;
  std::vector<std::string> advice;  // what would make it impossible, what to do next
  std::vector<std::string> notes;

  // Sizes of what was looked at.
  std::uint64_t nodes = 0, edges = 0, knots = 0;
};

// Never throws for what the snapshot says. Linear in its size, apart from sorting.
Report diagnose(const snapshot::Snapshot& snapshot);

}  // namespace heddle::doctor
