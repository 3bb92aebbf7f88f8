// SPDX-License-Identifier: Apache-2.0
//
// One run of a program in the lab, from a specification that a file can hold to a result that can be compared.
#pragma once

#include <cstdint>
#include <functional>
#include <heddle/error.hpp>
#include <heddle/program.hpp>
#include <heddle/session.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/choice.hpp"
#include "lab/running_now.hpp"
#include "snapshot/snapshot.hpp"

namespace heddle::lab {

class DispatchLog;
class SnapshotLog;
class TraceLog;

enum class Fidelity : std::uint8_t { program, protocol };

enum class Verdict : std::uint8_t {
  passed,
  slow,      // passed, but something kept everybody waiting; the sentence says what
  deadlock,  // proved
  race,
  stale_read,
  core_stalled,
  no_progress,  // proved: something that should happen was dropped
  failed,       // the program's own failure: a kernel threw, a check said no, wrong use
  starved,      // proved: others that came later were always served first
  livelock,     // proved: something asks for ever for what nothing can change any more
  unexplained,  // not explained by the program
};
const char* name_of(Verdict verdict) noexcept;  // "PASSED", "DEADLOCK (proved)", …

// What is run, apart from the choices. All that a failure file has to hold to make the run again.
struct RunSpec {
  std::string chip = "a2a3";                      // ideal, a2a3, a5, host
  std::map<std::string, std::uint64_t> chip_set;  // constants that differ from the table
  Fidelity fidelity = Fidelity::program;
  int ranks = 1;
  std::int64_t rounds = 1;
  SessionConfig session;
  std::map<std::string, std::uint32_t> faults;  // name → how often at most
  std::vector<std::string> checkers;            // names; empty: none
  bool values = true;                           // false: kernels skip arithmetic, results are not checked
  bool check = true;                            // the program's own check after each round
};

struct RunResult {
  Verdict verdict = Verdict::passed;
  std::string sentence;             // the verdict in one line
  std::optional<Error> error;       // unless passed or slow
  std::vector<std::string> chain;   // the chain of waits, a sentence a step
  std::vector<std::string> faults;  // the faults that happened, where
  std::int64_t rounds_done = 0;
  std::uint64_t trace_hash = 0;
  std::uint64_t virtual_ns = 0;
  std::uint64_t events = 0;
  std::uint64_t choices = 0;
  std::uint64_t program_hash = 0;       // of the names, blocks and edges of what was submitted
  std::uint64_t tasks = 0, blocks = 0;  // that ran
  std::vector<TakenChoice> taken;       // with record_choices
  RoundStatistics statistics;
  bool passed() const { return verdict == Verdict::passed || verdict == Verdict::slow; }
};

// Two results show the same failure: the same verdict, code and culprit.
bool same_failure(const RunResult& left, const RunResult& right);

// Who is told of a run on simulated chips besides its result. None of them changes anything.
struct RunWatch {
  TraceLog* trace = nullptr;
  DispatchLog* records = nullptr;
  RoomUse* rooms = nullptr;         // set to what the ranks used of their rings, the most of any of them
  SnapshotLog* snapshot = nullptr;  // of a run that fails
};

// Throws Error(invalid_argument) for a specification out of range; never for what the program does.
RunResult run_once(const std::shared_ptr<ProgramBase>& program, const RunSpec& spec, Strategy& strategy,
                   std::uint64_t seed, bool record_choices = false, const RunWatch& watch = {});

// For a snapshot of the program that was not taken in the laboratory: adds which tasks notify the cells that are waited
// for in that round, as a run shows in which every wait is let pass.
void learn_notifiers(snapshot::Snapshot& snapshot, const std::shared_ptr<ProgramBase>& program, const RunSpec& spec,
                     std::int64_t round);

struct NamedHelp {
  std::string name;
  std::string help;
};
const std::vector<NamedHelp>& fault_names();
const std::vector<NamedHelp>& checker_names();
const std::vector<NamedHelp>& chip_names();

}  // namespace heddle::lab
