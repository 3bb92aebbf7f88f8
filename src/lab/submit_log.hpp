// SPDX-License-Identifier: Apache-2.0
//
// The tasks of a round as they were submitted, of every rank: what checkers, costs and reports need to know of a task
// and its slot does not keep.
#pragma once

#include <cstdint>
#include <functional>
#include <heddle/task.hpp>
#include <memory>
#include <span>
#include <vector>

#include "graph/region_map.hpp"
#include "lab/observer.hpp"

namespace heddle::lab {

struct LoggedTask {
  const char* name = "";
  Location location;
  Cores cores;
  std::uint32_t parts = 1;  // of all its blocks
  bool manual = false;
  bool ready = false;
  std::uint64_t ready_ns = 0;  // since when
  bool complete = false;
  std::uint32_t begun = 0, ended = 0;  // of its parts
  std::uint64_t in_bytes = 0, out_bytes = 0;
  std::uint32_t first_arg = 0, args = 0;
  std::uint32_t first_producer = 0, producers = 0;
};

// An argument's memory; strides in bytes.
struct LoggedArg {
  Piece piece;
  heddle::detail::Tag tag = heddle::detail::Tag::in;
  const std::byte* begin() const { return piece.data; }
  const std::byte* end() const {
    const std::byte* end = piece.data + piece.element_bytes;
    for (int d = 0; d < piece.dims; ++d) end += (piece.shape[d] - 1) * piece.stride[d];
    return end;
  }
};

class SubmitLog {
 public:
  // `infers`: keeps the accesses of a whole round, so that producers are known that had completed already.
  SubmitLog(int ranks, bool infers) : ranks_(static_cast<std::size_t>(ranks)), infers_(infers) {}

  void begin_round();
  // Adds the rank's next task. window_of(data) names the window of a piece of this rank's memory, or null.
  LoggedTask& add(int rank, const heddle::detail::TaskRequest& request, bool manual,
                  const std::function<const heddle::detail::WindowTable*(const void*)>& window_of);
  void add_producer(int rank, std::uint32_t number);

  LoggedTask& task(int rank, std::uint32_t number) { return of(rank).tasks[number]; }
  const LoggedTask& task(int rank, std::uint32_t number) const {
    return ranks_[static_cast<std::size_t>(rank)].tasks[number];
  }
  std::uint32_t tasks(int rank) const {
    return static_cast<std::uint32_t>(ranks_[static_cast<std::size_t>(rank)].tasks.size());
  }
  int ranks() const { return static_cast<int>(ranks_.size()); }
  std::span<const LoggedArg> args(int rank, const LoggedTask& task) const {
    return {ranks_[static_cast<std::size_t>(rank)].args.data() + task.first_arg, task.args};
  }
  std::span<const TaskId> producers(int rank, const LoggedTask& task) const {
    return {ranks_[static_cast<std::size_t>(rank)].producers.data() + task.first_producer, task.producers};
  }
  // The tasks as they are now; without what it takes to add more.
  SubmitLog frozen() const;
  // Of all that was submitted since the run began: names, blocks and edges.
  std::uint64_t hash() const { return hash_; }
  std::uint64_t count() const { return count_; }

 private:
  struct OfRank {
    std::vector<LoggedTask> tasks;
    std::vector<LoggedArg> args;
    std::vector<TaskId> producers;
    std::unique_ptr<graph::RegionMap> accesses;
    std::uint64_t hash = 0;
  };
  OfRank& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  void infer(OfRank& rank, const heddle::detail::TaskRequest& request, int index);

  std::vector<OfRank> ranks_;
  bool infers_;
  std::uint64_t hash_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace heddle::lab
