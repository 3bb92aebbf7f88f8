// SPDX-License-Identifier: Apache-2.0
//
// A program with an edge that it does not have, to see what becomes of it.
#pragma once

#include <heddle/program.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace heddle::lab {

// Names of tasks: the second starts after the first.
struct NamedEdge {
  std::string from, to;
  friend auto operator<=>(const NamedEdge&, const NamedEdge&) = default;
};

// The same program, in which each task named `to` starts after the tasks named `from` that its rank has submitted since
// the task `to` before it, as far as their scopes are open.
std::shared_ptr<ProgramBase> with_edge(std::shared_ptr<ProgramBase> program, NamedEdge edge);

// Pairs of names, in the order in which they were first submitted: some rank submitted a task of the first before one
// of the second.
class NamesSeen {
 public:
  void submitted(int rank, const char* name);
  std::vector<NamedEdge> pairs() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<int, std::vector<std::string>>> ranks_;  // the names of each, once
  std::vector<NamedEdge> pairs_;
};

// The same program; tells which tasks it submits.
std::shared_ptr<ProgramBase> with_names(std::shared_ptr<ProgramBase> program, std::shared_ptr<NamesSeen> names);

}  // namespace heddle::lab
