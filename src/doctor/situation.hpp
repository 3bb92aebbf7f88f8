// SPDX-License-Identifier: Apache-2.0
//
// A snapshot, looked up: who is who, and how they are called in sentences. Where a snapshot refers to what it does not
// hold, nothing is found.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "doctor/report.hpp"
#include "snapshot/snapshot.hpp"

namespace heddle::doctor {

class Situation {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  // The snapshot has to stay.
  explicit Situation(const snapshot::Snapshot& snapshot);

  const snapshot::Snapshot& all() const { return all_; }
  bool is_final() const { return all_.taken == snapshot::Taken::standstill; }

  // Indices in the snapshot's lists; none.
  std::uint32_t rank(int rank) const;
  std::uint32_t task(int rank, std::int64_t task) const;
  std::uint32_t core(int rank, std::int64_t core) const;
  std::uint32_t cell(int rank, const std::string& window, std::int64_t cell) const;
  std::uint32_t cell(const snapshot::Wait& wait) const { return cell(wait.rank, wait.window, wait.cell); }
  // Of a task, in their order. By task: an index of the list.
  std::pair<std::uint32_t, std::uint32_t> blocks_of(std::uint32_t task) const;           // [first, last) in blocks()
  std::pair<std::uint32_t, std::uint32_t> parts_of(const snapshot::Block& block) const;  // of the same block, likewise
  const std::vector<std::uint32_t>& blocks() const { return blocks_; }
  std::uint32_t block(int rank, std::int64_t task, std::int64_t block, int part) const;

  bool is_lost(int rank) const;  // it died, or failed and does nothing any more
  bool is_over(const snapshot::Task& task) const;
  bool holds_core(const snapshot::Block& block) const;
  std::int64_t round_of(int rank) const;

  // ---- words
  Party program(int rank) const;
  Party of_task(std::uint32_t task) const;
  Party of_block(std::uint32_t block) const;
  Party of_core(std::uint32_t core) const;
  Party of_cell(int rank, const std::string& window, std::int64_t cell) const;
  Party of_ring(int rank, int ring) const;
  std::string core_name(int rank, std::int64_t core) const;
  std::string cell_of(const snapshot::Wait& wait) const;    // cell 3 of "hidden_done" on rank 2
  std::string condition(const snapshot::Wait& wait) const;  // cell … is >= 8; it is 5

 private:
  template <class Key>
  using Index = std::vector<std::pair<Key, std::uint32_t>>;

  const snapshot::Snapshot& all_;
  Index<int> ranks_;
  Index<std::pair<int, std::int64_t>> tasks_, cores_;
  Index<std::tuple<int, std::string, std::int64_t>> cells_;
  Index<std::tuple<int, std::int64_t, std::int64_t, int>> by_block_;
  std::vector<std::uint32_t> blocks_;  // by task
};

// In double quotes, without control characters.
std::string quoted(const std::string& text);

}  // namespace heddle::doctor
