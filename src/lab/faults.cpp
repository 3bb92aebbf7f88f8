// SPDX-License-Identifier: Apache-2.0
#include "lab/faults.hpp"

#include <algorithm>
#include <heddle/error.hpp>

#include "lab/failure_text.hpp"

namespace heddle::lab {

namespace {

constexpr std::uint32_t usual_span = 256;

constexpr FaultInfo table[fault_count] = {
    {"late_rank", "fault.late_rank", 0, "a rank begins its first round 10 s late"},
    {"slow_core", "fault.slow_core", usual_span, "a core takes 1,000 times as long for one block"},
    {"stalled_core", "fault.stalled_core", usual_span, "a bulk read of a block never completes"},
    {"slow_scheduler", "fault.slow_scheduler", usual_span, "a scheduler takes 1 ms for one turn of its loop"},
    {"parked_scheduler", "fault.parked_scheduler", usual_span, "a scheduler does nothing for 100 ms"},
    {"delayed_notify", "fault.delayed_notify", usual_span, "a notify arrives 1 ms late"},
    {"reordered_notify", "fault.reordered_notify", usual_span, "a notify arrives after the next one of its block"},
    {"lost_notify", "fault.lost_notify", usual_span, "a notify never arrives"},
    {"duplicated_notify", "fault.duplicated_notify", usual_span, "a notify arrives twice"},
    {"payload_after_signal", "fault.payload_after_signal", usual_span, "a released notify overtakes its block's puts"},
    {"missing_write_back", "fault.missing_write_back", usual_span, "a core forgets its dirty lines at a block's end"},
    {"unacknowledged_dispatch", "fault.unacknowledged_dispatch", usual_span, "a core never sees a dispatch"},
    {"withheld_finish", "fault.withheld_finish", usual_span, "a core never takes up its pending task"},
    {"dying_rank", "fault.dying_rank", usual_span, "a rank dies at the start of a block"},
    {"throwing_kernel", "fault.throwing_kernel", usual_span, "a kernel throws"},
    {"endless_kernel", "fault.endless_kernel", usual_span, "a kernel never returns"},
    {"clock_jump", "fault.clock_jump", usual_span, "the clock of a scheduler jumps an hour ahead"},
};

}  // namespace

const FaultInfo& info(Fault fault) noexcept { return table[static_cast<std::size_t>(fault)]; }

FaultBook::FaultBook(const std::map<std::string, std::uint32_t>& budget, int ranks) : ranks_(ranks) {
  for (const auto& [name, count] : budget) {
    const auto* const known =
        std::find_if(std::begin(table), std::end(table), [&](const FaultInfo& each) { return name == each.name; });
    if (known == std::end(table)) detail::throw_invalid("there is no fault " + shown(name));
    if (count > most_of_a_kind)
      detail::throw_invalid("fault " + name + ": " + std::to_string(count) + " times; at most " +
                            std::to_string(most_of_a_kind));
    kinds_[static_cast<std::size_t>(known - std::begin(table))].budget = count;
  }
}

void FaultBook::draw(const Chooser& choose) {
  for (std::size_t i = 0; i < fault_count; ++i) {
    Kind& kind = kinds_[i];
    kind.at.clear();
    kind.seen = 0;
    const std::uint32_t span = table[i].span != 0 ? table[i].span : static_cast<std::uint32_t>(ranks_);
    for (std::uint32_t n = 0; n < kind.budget; ++n)
      if (const std::uint32_t at = choose(table[i].label, span + 1); at != 0) kind.at.push_back(at);
  }
}

bool FaultBook::take(Kind& kind) {
  ++kind.seen;
  const auto found = std::find(kind.at.begin(), kind.at.end(), kind.seen);
  if (found == kind.at.end()) return false;
  kind.at.erase(found);
  return true;
}

}  // namespace heddle::lab
