// SPDX-License-Identifier: Apache-2.0
//
// Submits a random program to a backend through the public interface, and keeps what happened.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <heddle/heddle.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/random_graph.hpp"

namespace heddle::random_graph {

struct BlockLog {
  std::atomic<std::uint32_t> runs{0};
  std::uint32_t begun = 0;  // ticks of the replay's clock
  std::uint32_t ended = 0;
  std::uint64_t digest = 0;
};

class Replay {
 public:
  // `inferred` false: everything goes into manual scopes and no edge is named, so that nothing orders the tasks.
  Replay(const Program& program, const Expectation& expected, bool inferred = true);

  // The rank's program.
  void submit_all(Orchestrator& graph, const Io& io);

  // After the round: the first difference from what was expected, or nothing.
  std::string difference(const RoundStatistics& statistics, std::span<const std::uint64_t> declared);
  // Task ids that no other task of the session may have.
  const std::vector<TaskHandle>& handles() const { return handles_; }
  // No task had begun when the last was submitted: the edges are those of the whole program.
  bool edges_exact() const { return edges_exact_; }
  // Of those, edges to tasks whose accesses a later write covers: where the views are too irregular to tell.
  std::uint64_t superfluous_edges() const { return superfluous_; }

  template <std::size_t S>
  void submit_as(Orchestrator& graph, int number);
  void run_block(int number, Block& block, const Erased* views);

 private:
  template <int list, int variant, int arg>
  auto argument(const Step& step) const;
  template <class T, int N>
  Tensor<T, N> tensor(const Arg& arg) const;
  template <class T>
  Tensor<T, 1> element(int buffer, std::int64_t offset) const;
  detail::WhenArg predicate(const Predicate& predicate) const;
  void scalar(Orchestrator& graph, int number);
  template <class Handle>
  void keep(int number, const Handle& handle);
  bool all_ran() const;
  std::uint64_t kernel_calls() const;
  std::string check_blocks() const;
  std::string check_order() const;

  const Program& program_;
  const Expectation& expected_;
  bool inferred_;
  std::vector<std::vector<std::uint64_t>> memory_;
  std::vector<std::byte*> data_;  // per buffer
  std::vector<detail::Owner> owners_;
  std::vector<TaskHandle> handles_;  // per step
  std::vector<TaskHandle> after_;    // of the step that is being submitted
  std::vector<std::uint64_t> salts_;
  std::vector<std::size_t> first_block_;
  std::unique_ptr<BlockLog[]> blocks_;
  std::atomic<std::uint32_t> clock_{0};
  std::uint64_t influence_ = 0;
  std::string complaint_;
  bool edges_exact_ = false;
  std::uint64_t superfluous_ = 0;
};

// The type that sessions are prepared with: each round replays what `current` points to.
struct ReplayProgram {
  Replay* const* current = nullptr;
  void plan(Plan& plan) const { plan.inout<std::uint64_t>("declared", {buffer_bytes_most / 8}); }
  void rank(Orchestrator& graph, const Io& io) const { (*current)->submit_all(graph, io); }
};

}  // namespace heddle::random_graph
