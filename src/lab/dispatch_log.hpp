// SPDX-License-Identifier: Apache-2.0
//
// Every hand-over of a run on simulated chips: which part of which block went to which core, with which token, when it
// began and ended, and when its rank was stopped. And what can be proved from such a list alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace heddle::lab {

// Tokens of one core follow each other by chip::next_token(). Counts are from 0.
struct DispatchRecord {
  // hand_over: by a scheduler, before the core can see it. begin, finish: the core takes the kernel up, and is done
  // with it. freeze: the rank was stopped, and no core takes up a kernel of it until the next graph.
  enum class Kind : std::uint8_t { hand_over, begin, finish, freeze };
  std::uint64_t time = 0;   // ns of virtual time, on the clock of whoever did it
  std::uint32_t graph = 0;  // a round of several phases has several
  std::int32_t rank = 0;
  // Of all but freeze:
  std::uint32_t task = 0;  // of its rank's submits in this graph
  std::uint32_t name = 0;  // of the task, in the log's names
  std::uint32_t block = 0;
  std::uint32_t blocks = 1;  // of the task
  std::uint32_t core = 0;    // of the rank's device
  std::uint32_t token = 0;
  std::uint8_t part = 0;
  std::uint8_t parts = 1;  // of each block: cores that it takes in one cluster
  std::uint8_t cubes = 0;  // of these, the first ones that take a cube core
  Kind kind = Kind::hand_over;
};
inline constexpr int dispatch_kinds = 4;
const char* name_of(DispatchRecord::Kind kind) noexcept;

// Numbers for the names of tasks, which outlive their program.
class DispatchNames {
 public:
  std::uint32_t number_of(std::string_view name) {
    if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
    const auto made = numbers_.emplace(name, static_cast<std::uint32_t>(names_.size())).first;
    names_.push_back(&made->first);
    return made->second;
  }
  const std::string& operator[](std::uint32_t number) const { return *names_[number]; }
  std::size_t size() const { return names_.size(); }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<const std::string*> names_;  // they stand in numbers_
};

// The records of one run, in the order in which things happened. Keeps the first ones: with a hole in them nothing
// could be proved.
class DispatchLog {
 public:
  explicit DispatchLog(std::uint64_t most = 4'000'000) : most_(most) {}

  void begin_graph() { graph_ = begun_ ? graph_ + 1 : 0, begun_ = true; }
  // `record` without its graph.
  void add(DispatchRecord record, std::string_view name) {
    if (records_.size() >= most_) {
      ++dropped_;
      return;
    }
    record.graph = graph_;
    record.name = names_.number_of(name);
    records_.push_back(record);
  }
  void freeze(int rank, std::uint64_t time);

  const std::vector<DispatchRecord>& records() const { return records_; }
  const DispatchNames& names() const { return names_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::uint64_t most_;
  std::uint64_t dropped_ = 0;
  std::uint32_t graph_ = 0;
  bool begun_ = false;
  DispatchNames names_;
  std::vector<DispatchRecord> records_;
};

// What has to hold of the records.
enum class DispatchRule : std::uint8_t { once, paired, continuous, handed, alone, frozen, whole };
inline constexpr int dispatch_rules = 7;
const char* name_of(DispatchRule rule) noexcept;
const char* help_of(DispatchRule rule) noexcept;

struct DispatchFault {
  DispatchRule rule = DispatchRule::once;
  std::uint64_t record = 0;  // its number, from 0
  std::string what;          // one sentence
};

struct DispatchProof {
  std::uint64_t records = 0, hand_overs = 0, begins = 0, finishes = 0, freezes = 0, cores = 0;
  std::vector<DispatchFault> faults;  // the first ones, in the order of their records
  std::uint64_t more_faults = 0;
  bool holds() const { return faults.empty(); }
  bool holds(DispatchRule rule) const;
};

// How far records go.
enum class DispatchEnd : std::uint8_t {
  passed,   // to the end of a run in which every graph ended
  stopped,  // to the end of a run that failed
  dropped,  // not to the end: what came later was not kept
};

// Takes records one by one, with memory for the blocks that there are in them.
class DispatchProver {
 public:
  // `lanes`: cores of a cluster. `names` are those of the records.
  DispatchProver(std::uint32_t lanes, const DispatchNames& names) : lanes_(lanes), names_(names) {}
  void add(const DispatchRecord& record);
  DispatchProof finish(DispatchEnd end);

 private:
  using TaskKey = std::tuple<std::uint32_t, std::int32_t, std::uint32_t>;                  // graph, rank, task
  using BlockKey = std::tuple<std::uint32_t, std::int32_t, std::uint32_t, std::uint32_t>;  // and block
  struct Task {
    std::uint32_t blocks = 0, handed = 0;
    DispatchRecord first;
    std::uint64_t number = 0;  // of the first record
  };
  // Parts are bits.
  struct Block {
    std::uint32_t handed = 0, begun = 0, finished = 0;
    std::uint32_t lanes = 0, cluster = 0;
    std::uint32_t parts = 1;
    std::uint64_t first = 0;  // its first record's number
  };
  struct Given {
    BlockKey block;
    std::uint8_t part = 0;
    friend bool operator==(const Given&, const Given&) = default;
  };
  struct Core {
    std::uint32_t last_token = 0;
    std::map<std::uint32_t, Given> given;  // by token, what it has not taken up
    std::optional<std::pair<std::uint32_t, Given>> running;
  };

  static TaskKey task_of(const DispatchRecord& record) { return {record.graph, record.rank, record.task}; }
  static BlockKey block_of(const DispatchRecord& record) {
    return {record.graph, record.rank, record.task, record.block};
  }
  std::string words(const DispatchRecord& record) const;
  std::string core_words(const DispatchRecord& record) const;
  void fault(DispatchRule rule, std::uint64_t record, std::string what);
  void hand_over(const DispatchRecord& record);
  void place(const DispatchRecord& record, Block& block);
  void begin(const DispatchRecord& record);
  void end(const DispatchRecord& record);
  void look_at_blocks(DispatchEnd end);

  std::uint32_t lanes_;
  const DispatchNames& names_;
  std::uint64_t at_ = 0;
  DispatchProof proof_;
  std::map<TaskKey, Task> tasks_;
  std::map<BlockKey, Block> blocks_;
  std::map<std::pair<std::int32_t, std::uint32_t>, Core> cores_;
  std::set<std::pair<std::int32_t, std::uint32_t>> frozen_;  // rank and graph
};

DispatchProof prove(const DispatchLog& log, std::uint32_t lanes, DispatchEnd end);

}  // namespace heddle::lab
