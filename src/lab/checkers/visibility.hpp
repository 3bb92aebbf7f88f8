// SPDX-License-Identifier: Apache-2.0
//
// Reads that miss what was stored before them, because a line stayed in the cache of a core: the writer did not write
// it back before it published, or the reader did not invalidate its copy.
#pragma once

#include <vector>

#include "lab/checkers/checker.hpp"

namespace heddle::lab::checkers {

class Visibility final : public Checker {
 public:
  using Checker::Checker;
  void round_begins() override;
  void accessed(const Access& access) override;
  void scalar_read(BlockIndex block, std::uint32_t op, const graph::Region& bytes, bool from_cache) override;
  void scalar_write(BlockIndex block, std::uint32_t op, std::uintptr_t line, std::uint64_t bytes) override;

 private:
  struct Unpublished {
    std::uintptr_t line = 0;
    LineStore store;
  };
  struct Copy {  // of a line in the cache of a block's core
    BlockIndex block = none;
    Tick loaded = 0;
    std::uint32_t next = none;
  };
  struct Head {
    std::uint32_t first = none;
  };

  void find_unpublished(const Access& reader);
  void report_unpublished(const Access& reader);
  Copy& copy_of(BlockIndex block, std::uintptr_t line, bool& is_new);
  void check_copy(BlockIndex block, std::uint32_t op, const graph::Region& bytes, Tick loaded);
  void report_stale_copy(BlockIndex block, const graph::Region& bytes, const std::string& by);

  std::vector<Unpublished> found_;
  LineMap<Head> copies_by_line_;
  std::vector<Copy> copies_;
  std::vector<NotifyIndex> notifies_;
  std::vector<AccessIndex> writes_;
};

}  // namespace heddle::lab::checkers
