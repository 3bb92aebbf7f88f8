// SPDX-License-Identifier: Apache-2.0
#include "cli/run_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/lab_options.hpp"
#include "cli/names.hpp"
#include "cli/output.hpp"

namespace heddle::cli {
namespace {

constexpr int ranks_most = 1024;
constexpr int threads_most = 1024;
constexpr std::int64_t rounds_most = 1'000'000'000;
constexpr std::int64_t milliseconds_most = 1'000'000'000;
constexpr std::int64_t trace_records_most = 1 << 26;

Settings parse_settings(const std::vector<std::string>& texts) {
  Settings settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(
          fmt::format("--set {}: give a parameter and its value, as in --set name=value", base::quoted(text)));
    }
    settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return settings;
}

void apply(ProgramBase& program, const std::string& name, const Settings& settings) {
  ParameterList list;
  program.parameters(list);
  std::vector<std::string> known;
  for (const auto& parameter : list.all()) known.push_back(parameter.name);
  for (const auto& [key, value] : settings) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw UsageError(
          fmt::format("{} has no parameter {}; {}", name, base::quoted(key), advise(key, known, "it has none at all")));
    }
    try {
      list.set(key, value);
    } catch (const Error& error) {
      throw UsageError(one_line(error));
    }
  }
}

Timeouts::Duration parse_timeout(std::string_view option, const std::string& text, Timeouts::Duration otherwise) {
  if (text.empty()) return otherwise;
  const std::int64_t milliseconds = parse_number(option, text, 0, milliseconds_most);
  return milliseconds == 0 ? Timeouts::Duration() : std::chrono::milliseconds(milliseconds);
}

SessionConfig session_config(const RunOptions& options) {
  SessionConfig config;
  config.checked = options.check;
  config.reset_windows = options.reset_windows;
  auto& timeouts = config.timeouts;
  timeouts.scheduler = parse_timeout("--scheduler-timeout", options.scheduler_timeout, timeouts.scheduler);
  timeouts.operation = parse_timeout("--operation-timeout", options.operation_timeout, timeouts.operation);
  timeouts.host_fence = parse_timeout("--fence-timeout", options.fence_timeout, timeouts.host_fence);
  timeouts.tensor_access = parse_timeout("--tensor-timeout", options.tensor_timeout, timeouts.tensor_access);

  constexpr std::int64_t word_most = std::numeric_limits<std::uint32_t>::max();
  const auto word = [](std::string_view option, const std::string& text, std::uint32_t otherwise, std::int64_t most) {
    return text.empty() ? otherwise : static_cast<std::uint32_t>(parse_number(option, text, 1, most));
  };
  config.ring.task_window = word("--task-window", options.task_window, config.ring.task_window, 1 << 20);
  config.ring.dep_pool = word("--dep-pool", options.dep_pool, config.ring.dep_pool, word_most);
  if (!options.heap_bytes.empty()) {
    config.ring.heap_bytes =
        static_cast<std::uint64_t>(parse_number("--heap-bytes", options.heap_bytes, 1024, std::int64_t{1} << 40U));
  }
  if (!options.files.trace && !options.trace_records.empty()) {
    throw UsageError("--trace-records: there is no trace without --trace FILE");
  }
  if (options.files.trace) {
    config.recorder_entries =
        std::bit_ceil(word("--trace-records", options.trace_records, trace_records_default, trace_records_most));
  }
  return config;
}

void check_backend(const std::string& name) {
  std::vector<std::string> known;
  for (const Backend& backend : backends()) known.emplace_back(backend.name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UsageError(
      fmt::format("there is no backend {}; {}", base::quoted(name), advise(name, known, "this build has none")));
}

/// What only the host or only the laboratory can do.
void check_options_of_the_backend(const RunOptions& options) {
  const bool is_lab = chip_of(options.backend).has_value();
  if (const std::string_view option = first_given(options.lab); !is_lab && !option.empty()) {
    throw UsageError(
        fmt::format("{}: only a run in the laboratory has it; give --on lab:a2a3, or leave it out", option));
  }
  if (options.files.records && (!is_lab || options.backend == "lab:host"))
    throw UsageError(
        fmt::format("--records: {} hands out no tokens; give a simulated chip, as --on lab:a2a3", options.backend));
  for (const auto& [option, file] :
       {std::pair("--snapshot", &options.files.snapshot), std::pair("--html", &options.files.html)}) {
    if (*file && options.backend == "lab:host")
      throw UsageError(fmt::format("{}: {} has no chips to look at; give a simulated chip, as --on lab:a2a3", option,
                                   options.backend));
  }
  if (!is_lab) return;
  if (!options.threads.empty())
    throw UsageError(fmt::format("--threads: only a run on the host has it; leave it or --on {} out", options.backend));
  if (options.files.trace && options.backend == "lab:host")
    throw UsageError("--trace: lab:host has no virtual time to draw; give a chip, as --on lab:a2a3");
}

/// Rows of the matrix that are asked for; one without a name when none is.
std::vector<Variant> rows_of(const RunOptions& options, const FoundProgram& found, const Settings& settings) {
  if (!options.matrix && options.variant.empty()) return {Variant{}};
  if (options.matrix && !options.variant.empty())
    throw UsageError("--matrix runs every variant; leave --variant or --matrix out");
  std::vector<Variant> rows = found.create()->matrix();
  std::vector<std::string> known;
  for (const Variant& row : rows) known.push_back(row.name);
  if (rows.empty()) throw UsageError(fmt::format("{} has no variants; leave --matrix and --variant out", found.name()));
  if (!options.variant.empty()) {
    std::erase_if(rows, [&](const Variant& row) { return row.name != options.variant; });
    if (rows.empty()) {
      throw UsageError(fmt::format("{} has no variant {}; {}", found.name(), base::quoted(options.variant),
                                   advise(options.variant, known, "")));
    }
  }
  for (const Variant& row : rows) {
    for (const auto& [key, value] : row.settings) {
      if (std::any_of(settings.begin(), settings.end(), [&](const auto& setting) { return setting.first == key; })) {
        throw UsageError(
            fmt::format("--set {}: the variant {} sets it itself; leave one of them out", key, base::quoted(row.name)));
      }
    }
  }
  return rows;
}

RunPlan make_plan(const RunOptions& options, const FoundProgram& found, const Settings& settings, const Variant& row) {
  RunPlan plan;
  plan.name = found.name();
  plan.variant = row.name;
  plan.settings = settings;
  plan.settings.insert(plan.settings.end(), row.settings.begin(), row.settings.end());
  plan.program = create_program(found, plan.settings);

  // The defaults may depend on the parameters.
  const Defaults defaults = plan.program->defaults();
  const int group = std::max(defaults.group, 1);
  plan.device.ranks =
      options.ranks.empty() ? defaults.ranks : static_cast<int>(parse_number("--ranks", options.ranks, 1, ranks_most));
  if (plan.device.ranks % group != 0) {
    throw UsageError(fmt::format("{} runs on groups of {} ranks, and {} is not a multiple of that; give --ranks {}",
                                 plan.name, group, plan.device.ranks,
                                 std::min((plan.device.ranks / group + 1) * group, ranks_most / group * group)));
  }
  plan.device.threads =
      options.threads.empty() ? 0 : static_cast<int>(parse_number("--threads", options.threads, 1, threads_most));
  plan.rounds = options.rounds.empty() ? defaults.rounds : parse_number("--rounds", options.rounds, 1, rounds_most);
  plan.backend = options.backend;
  plan.session = session_config(options);
  plan.check = options.check;
  return plan;
}

}  // namespace

std::int64_t parse_number(std::string_view option, std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || number < least || number > most) {
    throw UsageError(fmt::format("{} {}: give a whole number from {} to {}", option, base::quoted(text), least, most));
  }
  return number;
}

std::shared_ptr<ProgramBase> create_program(const FoundProgram& found, const Settings& settings) {
  std::shared_ptr<ProgramBase> program = found.create();
  apply(*program, found.name(), settings);
  return program;
}

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = [] {
    std::vector<Backend> list{{"host", "threads and fibers on this machine's cores"}};
    for (const lab::NamedHelp& chip : lab::chip_names()) list.push_back({"lab:" + chip.name, chip.help});
    return list;
  }();
  return all;
}

std::vector<RunPlan> make_plans(const RunOptions& options, const FoundProgram& found) {
  check_backend(options.backend);
  check_options_of_the_backend(options);
  const Settings settings = parse_settings(options.settings);
  std::vector<RunPlan> plans;
  for (const Variant& row : rows_of(options, found, settings))
    plans.push_back(make_plan(options, found, settings, row));
  return plans;
}

}  // namespace heddle::cli
