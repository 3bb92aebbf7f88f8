// SPDX-License-Identifier: Apache-2.0
#include "lab/choice_words.hpp"

#include <fmt/format.h>

#include <string_view>

#include "lab/faults.hpp"

namespace heddle::lab {
namespace {

// Of a label, or of all that begin with it when it ends in a dot. {agent}, {rest} of the label, {number} from 1,
// {taken}.
struct Template {
  std::string_view label;
  const char* words;
};
constexpr Template templates[] = {
    {"next", "at step {number} alternative {taken} of what may happen goes first, instead of the earliest"},
    {"tie", "at tie {number} of several things at one time, alternative {taken} goes first instead of the first"},
    {"placement",
     "{agent}: block number {number} with a choice of clusters goes to free cluster {taken}, not the first"},
    {"protocol.step", "{agent} is disturbed before access {taken} of the 63 of its window number {number}"},
    {"dispatch_halves",
     "{agent}: one half of dispatch number {number} is seen before the other (1: the low one, 2: the high one): "
     "{taken}"},
};

// 0 is the mean, 1 … 15 go from the least to the most.
constexpr std::uint32_t latency_step_least = 1, latency_step_most = 15;

std::string latency_words(const TakenChoice& choice, std::string_view rest) {
  std::string how = fmt::format("is {} of {} between its least and its most", choice.taken, latency_step_most);
  if (choice.taken == latency_step_least) how = "is the least it can be";
  if (choice.taken == latency_step_most) how = "is the most it can be";
  return fmt::format("{}: the latency of {} number {} {}, instead of the mean", choice.agent, rest, choice.ordinal + 1,
                     how);
}

std::string fault_words(const TakenChoice& choice) {
  for (std::size_t i = 0; i < fault_count; ++i) {
    const FaultInfo& fault = info(static_cast<Fault>(i));
    if (choice.label == fault.label)
      return fmt::format("fault {}: {}, at opportunity {}", fault.name, fault.help, choice.taken);
  }
  return fmt::format("{} strikes at opportunity {}", choice.label, choice.taken);
}

}  // namespace

std::string in_words(const TakenChoice& choice) {
  constexpr std::string_view latency = "latency.", fault = "fault.";
  const std::string_view label = choice.label;
  if (label.starts_with(latency)) return latency_words(choice, label.substr(latency.size()));
  if (label.starts_with(fault)) return fault_words(choice);
  for (const Template& each : templates) {
    if (label != each.label) continue;
    return fmt::format(fmt::runtime(each.words), fmt::arg("agent", choice.agent),
                       fmt::arg("number", choice.ordinal + 1), fmt::arg("taken", choice.taken));
  }
  return fmt::format("{}: {} number {} is alternative {} instead of the default", choice.agent, label,
                     choice.ordinal + 1, choice.taken);
}

}  // namespace heddle::lab
