// SPDX-License-Identifier: Apache-2.0
//
// Faults that a run may be given, each by its name and with a budget. Where one strikes is a single labelled choice,
// made when the run begins: the n-th opportunity, counted over the whole run. So a fault is one line of a failure file,
// and stays where it is when other choices change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::lab {

enum class Fault : std::uint8_t {
  late_rank,
  slow_core,
  stalled_core,
  slow_scheduler,
  parked_scheduler,
  delayed_notify,
  reordered_notify,
  lost_notify,
  duplicated_notify,
  payload_after_signal,
  missing_write_back,
  unacknowledged_dispatch,
  withheld_finish,
  dying_rank,
  throwing_kernel,
  endless_kernel,
  clock_jump,
  end,
};
inline constexpr auto fault_count = static_cast<std::size_t>(Fault::end);

struct FaultInfo {
  const char* name;
  const char* label;   // of the choice
  std::uint32_t span;  // strikes at one of so many first opportunities
  const char* help;
};
const FaultInfo& info(Fault fault) noexcept;

// A fault that struck, and where.
struct StruckFault {
  Fault fault = Fault::end;
  int rank = -1;
  std::string where;  // a sentence
};

class FaultBook {
 public:
  // (label, alternatives) → [0, alternatives); 0: the fault does not strike.
  using Chooser = std::function<std::uint32_t(const char*, std::uint32_t)>;

  // Throws invalid_argument for a name that there is not, or a budget beyond most_of_a_kind.
  FaultBook(const std::map<std::string, std::uint32_t>& budget, int ranks);
  void draw(const Chooser& choose);

  // One opportunity for the fault: whether it strikes here. Whoever is told yes says where with note().
  bool strikes(Fault fault) {
    Kind& kind = kinds_[static_cast<std::size_t>(fault)];
    if (kind.at.empty()) return false;
    return take(kind);
  }
  void note(Fault fault, int rank, std::string where) { struck_.push_back({fault, rank, std::move(where)}); }
  const std::vector<StruckFault>& struck() const { return struck_; }

  static constexpr std::uint32_t most_of_a_kind = 1000;

 private:
  struct Kind {
    std::uint32_t budget = 0;
    std::uint64_t seen = 0;
    std::vector<std::uint64_t> at;  // opportunities left to strike, from 1
  };
  static bool take(Kind& kind);

  int ranks_;
  std::array<Kind, fault_count> kinds_;
  std::vector<StruckFault> struck_;
};

}  // namespace heddle::lab
