// SPDX-License-Identifier: Apache-2.0
#include "lab/running_now.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace heddle::lab {

std::string RunningNow::describe() const {
  // Pairs with leave(): while `reading_` is seen there, the name stays.
  reading_.store(true, std::memory_order_seq_cst);
  const char* const name = name_.load(std::memory_order_seq_cst);
  const std::string task = name != nullptr ? name : "";
  reading_.store(false, std::memory_order_seq_cst);

  const char* const what = what_.load(std::memory_order_relaxed);
  if (what == nullptr) return "";
  std::string text = fmt::format("the {}", what);
  if (!task.empty()) text += fmt::format(" of task {}", base::quoted(task));
  if (const int rank = rank_.load(std::memory_order_relaxed); rank >= 0) text += fmt::format(", rank {}", rank);
  if (const std::int64_t block = block_.load(std::memory_order_relaxed); block >= 0)
    text += fmt::format(", block {}", block);
  return text;
}

}  // namespace heddle::lab
