// SPDX-License-Identifier: Apache-2.0
//
// Two accesses to the same bytes, one of them a write, that nothing orders. What inference orders is left to the
// checker of inference; signal cells are looked at for stores and notifies only.
#pragma once

#include <string>
#include <vector>

#include "lab/checkers/checker.hpp"

namespace heddle::lab::checkers {

class Races final : public Checker {
 public:
  using Checker::Checker;
  void accessed(const Access& access) override;
  void notified(NotifyIndex notify) override;
  void overwrites(CellIndex cell, BlockIndex block, std::uint32_t op, int peer) override;

 private:
  bool consider(AccessIndex index, const Access& access, Tick oldest);
  void sort_candidates();
  bool is_after(const Access& earlier, const Access& access);
  bool is_signal_matter(const Access& left, const Access& right) const;
  void judge(const Access& earlier, const Access& access);
  bool is_stale(const Access& write, const Access& read);
  std::string explain(const Access& write) const;
  std::string name_shared(const Access& left, const Access& right) const;
  void report_clear(CellIndex cell, BlockIndex block, NotifyIndex notify);

  std::vector<AccessIndex> candidates_, unordered_;
};

}  // namespace heddle::lab::checkers
