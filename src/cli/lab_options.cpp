// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/names.hpp"
#include "cli/run_plan.hpp"
#include "lab/strategies/replay.hpp"

namespace heddle::cli {
namespace {

constexpr std::string_view lab_prefix = "lab:";
constexpr std::int64_t fault_most = 1000;

std::vector<std::string> names_of(const std::vector<lab::NamedHelp>& all) {
  std::vector<std::string> names;
  for (const lab::NamedHelp& each : all) names.push_back(each.name);
  return names;
}

/// The pieces between commas. Throws UsageError for an empty one.
std::vector<std::string> pieces_of(std::string_view option, std::string_view text) {
  std::vector<std::string> pieces;
  for (std::string_view left = text;;) {
    const std::size_t comma = std::min(left.find(','), left.size());
    if (comma == 0)
      throw UsageError(fmt::format("{} {}: give names with commas between them", option, base::quoted(text)));
    pieces.emplace_back(left.substr(0, comma));
    if (comma == left.size()) return pieces;
    left.remove_prefix(comma + 1);
  }
}

void check_name(std::string_view option, const std::string& name, const std::vector<std::string>& known,
                std::string_view kind) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UsageError(fmt::format("{}: there is no {} {}; {}", option, kind, base::quoted(name),
                               advise(name, known, fmt::format("this build has no {}s", kind))));
}

void parse_faults(lab::RunSpec& spec, const std::string& text) {
  const std::vector<std::string> known = names_of(lab::fault_names());
  for (const std::string& piece : pieces_of("--faults", text)) {
    const std::size_t colon = piece.find(':');
    const std::string name = piece.substr(0, colon);
    check_name("--faults", name, known, "fault");
    const std::int64_t count = colon == std::string::npos ? 1
                                                          : parse_number(fmt::format("--faults {}:", name),
                                                                         piece.substr(colon + 1), 1, fault_most);
    if (!spec.faults.emplace(name, static_cast<std::uint32_t>(count)).second)
      throw UsageError(fmt::format("--faults: {} is named twice", name));
  }
}

void parse_checkers(lab::RunSpec& spec, const std::string& text) {
  std::vector<std::string> known = names_of(lab::checker_names());
  if (text == "none") return;
  if (text == "all") {
    spec.checkers = known;
    return;
  }
  const std::vector<std::string> names = known;
  known.insert(known.end(), {"all", "none"});
  for (const std::string& name : pieces_of("--checkers", text)) {
    check_name("--checkers", name, known, "checker");
    if (name == "all" || name == "none")
      throw UsageError(fmt::format("--checkers {}: give {} alone", base::quoted(text), name));
    if (std::find(spec.checkers.begin(), spec.checkers.end(), name) == spec.checkers.end())
      spec.checkers.push_back(name);
  }
}

void parse_chip_set(lab::RunSpec& spec, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(fmt::format(
          "--chip-set {}: give a constant of the chip and its value, as in --chip-set clusters=2", base::quoted(text)));
    }
    const std::string name = text.substr(0, equals);
    spec.chip_set[name] = static_cast<std::uint64_t>(parse_number(
        fmt::format("--chip-set {}", name), text.substr(equals + 1), 0, std::numeric_limits<std::int64_t>::max()));
  }
}

bool is_yes(std::string_view option, const std::string& text, std::string_view yes, std::string_view no) {
  if (text != yes && text != no)
    throw UsageError(fmt::format("{} {}: give {} or {}", option, base::quoted(text), yes, no));
  return text == yes;
}

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr Unit units[] = {
    {"ms", 1'000'000}, {"s", 1'000'000'000}, {"min", 60'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};
constexpr std::int64_t hours_most = 24 * 365;

}  // namespace

std::string_view first_given(const LabOptions& options) {
  const std::pair<std::string_view, bool> all[] = {
      {"--seed", !options.seed.empty()},         {"--strategy", !options.strategy.empty()},
      {"--fidelity", !options.fidelity.empty()}, {"--faults", !options.faults.empty()},
      {"--checkers", !options.checkers.empty()}, {"--values", !options.values.empty()},
      {"--chip-set", !options.chip_set.empty()}};
  for (const auto& [name, is_given] : all)
    if (is_given) return name;
  return {};
}

std::optional<std::string> chip_of(std::string_view backend) {
  if (!backend.starts_with(lab_prefix)) return std::nullopt;
  return std::string(backend.substr(lab_prefix.size()));
}

lab::RunSpec make_spec(const RunPlan& plan, const LabOptions& options, std::string_view checkers) {
  lab::RunSpec spec;
  spec.chip = chip_of(plan.backend).value_or("");
  spec.ranks = plan.device.ranks;
  spec.rounds = plan.rounds;
  spec.session = plan.session;
  spec.check = plan.check;
  if (!options.fidelity.empty()) {
    spec.fidelity = is_yes("--fidelity", options.fidelity, "protocol", "program") ? lab::Fidelity::protocol
                                                                                  : lab::Fidelity::program;
  }
  if (!options.values.empty()) spec.values = is_yes("--values", options.values, "on", "off");
  if (!options.faults.empty()) parse_faults(spec, options.faults);
  parse_checkers(spec, options.checkers.empty() ? std::string(checkers) : options.checkers);
  parse_chip_set(spec, options.chip_set);
  return spec;
}

std::uint64_t seed_of(const LabOptions& options, std::uint64_t otherwise) {
  if (options.seed.empty()) return otherwise;
  return static_cast<std::uint64_t>(parse_number("--seed", options.seed, 0, std::numeric_limits<std::int64_t>::max()));
}

std::vector<std::string> strategies_of(const LabOptions& options, const std::vector<std::string>& otherwise) {
  if (options.strategy.empty()) return otherwise;
  const std::vector<std::string> known = names_of(lab::strategy_names());
  std::vector<std::string> names = pieces_of("--strategy", options.strategy);
  for (const std::string& name : names) check_name("--strategy", name, known, "strategy");
  return names;
}

lab::StrategyMaker strategy_maker() {
  return {[](const std::string& name) { return lab::make_strategy(name); },
          [](const std::vector<lab::TakenChoice>& choices, bool by_time) {
            return std::make_unique<lab::ReplayStrategy>(choices, by_time);
          }};
}

std::chrono::nanoseconds parse_time(std::string_view option, const std::string& text) {
  std::int64_t number = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, text.data() + text.size());
  const auto* const found =
      std::find_if(std::begin(units), std::end(units), [&](const Unit& each) { return each.name == unit; });
  const bool is_right = problem == std::errc() && found != std::end(units) && number >= 0;
  if (!is_right || number > hours_most * units[4].nanoseconds / found->nanoseconds)
    throw UsageError(
        fmt::format("{} {}: give a time of at most a year, as 500ms, 60s, 5min or 2h", option, base::quoted(text)));
  return std::chrono::nanoseconds(number * found->nanoseconds);
}

Budget parse_budget(const std::string& text) {
  Budget budget;
  for (const std::string& piece : pieces_of("--budget", text)) {
    const bool is_number = std::all_of(piece.begin(), piece.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_number ? budget.runs.has_value() : budget.time.has_value())
      throw UsageError(fmt::format("--budget {}: give one time and one number of runs", base::quoted(text)));
    if (is_number) {
      budget.runs =
          static_cast<std::uint64_t>(parse_number("--budget", piece, 1, std::numeric_limits<std::int64_t>::max()));
      continue;
    }
    try {
      budget.time = parse_time("--budget", piece);
    } catch (const UsageError&) {
      throw UsageError(fmt::format(
          "--budget {}: give a time of at most a year, as 60s, 5min or 2h, or a number of runs", base::quoted(text)));
    }
    if (budget.time->count() == 0)
      throw UsageError(fmt::format("--budget {}: that is no time at all; give more than zero", base::quoted(text)));
  }
  return budget;
}

}  // namespace heddle::cli
