// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <heddle/error.hpp>
#include <optional>

#include "fuzz/targets.hpp"
#include "lab/checkers/checkers.hpp"
#include "lab/chips/chips.hpp"
#include "lab/failure_file.hpp"
#include "lab/failure_text.hpp"
#include "lab/strategies/replay.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle::fuzz {
namespace {

constexpr int ranks_most = 16;

// Nothing when it is refused, which has to be in order.
template <class Action>
auto unless_refused(Action action) -> std::optional<decltype(action())> {
  try {
    return action();
  } catch (const Error& error) {
    require(error.code() == Code::invalid_argument, "a refusal with another code: " + error.message());
    check_refusal(error.message());
    return std::nullopt;
  }
}

// The lines but the last with the checksum that they have.
std::string sealed(std::string_view text) {
  std::string body(text.substr(0, std::min(text.rfind("\nend "), text.size() - 1) + 1));
  if (!body.ends_with('\n')) body += '\n';
  return body + fmt::format("end {:016x}\n", lab::checksum(body));
}

void look_up(const lab::Failure& failure) {
  const lab::RunSpec& spec = failure.spec;
  (void)unless_refused([&] { return lab::chip_config(spec.chip, spec.chip_set); });
  (void)unless_refused([&] { return lab::surroundings_of(spec.chip_set); });
  (void)unless_refused([&] {
    const lab::CheckerSet checkers(spec.checkers, std::min(spec.ranks, ranks_most));
    return checkers.first().has_value();
  });
  (void)unless_refused([&] {
    const lab::Schedule& schedule = failure.schedule;
    std::unique_ptr<lab::Strategy> strategy;
    if (schedule.is_list) {
      strategy = std::make_unique<lab::ReplayStrategy>(schedule.choices, schedule.by_time);
    } else {
      strategy = lab::make_strategy(schedule.strategy);
    }
    if (strategy == nullptr) return false;
    strategy->begin(schedule.seed, schedule.length_hint);
    return strategy->by_time();
  });
}

void take(std::string_view text) {
  const std::optional<lab::Failure> failure = unless_refused([&] { return lab::parse_failure(text); });
  if (!failure) return;
  const std::string written = lab::to_text(*failure);
  const std::optional<lab::Failure> again = unless_refused([&] { return lab::parse_failure(written); });
  require(again.has_value(), "what was read cannot be written and read again: " + written);
  require(lab::to_text(*again) == written, "what was written and read again is another failure");
  look_up(*failure);
}

}  // namespace

void failure(std::string_view text) {
  take(text);
  if (!text.empty()) take(sealed(text));
}

}  // namespace heddle::fuzz
