// SPDX-License-Identifier: Apache-2.0
#include "cli/list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/lab_options.hpp"
#include "cli/output.hpp"
#include "cli/program_loader.hpp"
#include "cli/run_plan.hpp"

namespace heddle::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Parameter = ParameterList::Parameter;

/// Beyond these a bound says nothing: it is what a parameter without bounds has.
constexpr double bound_least = -1e17, bound_most = 1e17;

bool is_number(const Parameter& parameter) {
  return !std::holds_alternative<bool*>(parameter.field) && !std::holds_alternative<std::string*>(parameter.field);
}
bool has_least(const Parameter& parameter) { return is_number(parameter) && parameter.least > bound_least; }
bool has_most(const Parameter& parameter) { return is_number(parameter) && parameter.most < bound_most; }

std::string_view type_of(const Parameter& parameter) {
  if (std::holds_alternative<bool*>(parameter.field)) return "bool";
  if (std::holds_alternative<std::string*>(parameter.field)) return "text";
  const bool is_real =
      std::holds_alternative<double*>(parameter.field) || std::holds_alternative<float*>(parameter.field);
  return is_real ? "real" : "int";
}

std::string range_of(const Parameter& parameter) {
  if (!parameter.choices.empty()) return fmt::format("{}", fmt::join(parameter.choices, ", "));
  if (has_least(parameter) && has_most(parameter)) return fmt::format("{} to {}", parameter.least, parameter.most);
  if (has_least(parameter)) return fmt::format("at least {}", parameter.least);
  if (has_most(parameter)) return fmt::format("at most {}", parameter.most);
  return "";
}

OrderedJson to_json(const Parameter& parameter) {
  OrderedJson json{
      {"name", parameter.name}, {"type", type_of(parameter)}, {"default", parameter.value()}, {"help", parameter.help}};
  if (has_least(parameter)) json["least"] = parameter.least;
  if (has_most(parameter)) json["most"] = parameter.most;
  if (!parameter.choices.empty()) json["choices"] = parameter.choices;
  return json;
}

OrderedJson to_json(const FoundProgram& found) {
  const auto program = found.create();
  ParameterList list;
  program->parameters(list);
  const Defaults defaults = program->defaults();
  OrderedJson parameters = OrderedJson::array();
  for (const Parameter& parameter : list.all()) parameters.push_back(to_json(parameter));
  OrderedJson variants = OrderedJson::array();
  for (const Variant& variant : program->matrix()) {
    OrderedJson settings = OrderedJson::object();
    for (const auto& [key, value] : variant.settings) settings[key] = value;
    variants.push_back({{"name", variant.name}, {"settings", std::move(settings)}});
  }
  return {{"name", found.name()},        {"summary", found.summary()},          {"module", found.module_path()},
          {"ranks", defaults.ranks},     {"rounds", defaults.rounds},           {"group", defaults.group},
          {"phases", program->phases()}, {"parameters", std::move(parameters)}, {"variants", std::move(variants)}};
}

void print_program(const FoundProgram& found, std::size_t width, bool colour) {
  const auto program = found.create();
  const std::string indent(width + 4, ' ');
  const std::string room(width - found.name().size() + 2, ' ');
  fmt::print("  {}{}{}\n", bold(found.name(), colour), room, found.summary());
  const Defaults defaults = program->defaults();
  const std::string group = defaults.group > 1 ? fmt::format(" (a multiple of {})", defaults.group) : "";
  fmt::print("{}{}{}, {}\n", indent, base::counted(defaults.ranks, "rank"), group,
             base::counted(defaults.rounds, "round"));

  ParameterList list;
  program->parameters(list);
  std::vector<std::string> settings;
  for (const Parameter& parameter : list.all())
    settings.push_back(fmt::format("{}={}", parameter.name, parameter.value()));
  std::size_t widest = 0;
  for (const std::string& setting : settings) widest = std::max(widest, setting.size());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Parameter& parameter = list.all()[i];
    const std::string range = range_of(parameter);
    fmt::print("{}{:<{}}  {}{}\n", indent, settings[i], widest, parameter.help,
               range.empty() ? "" : fmt::format(" ({})", range));
  }
  std::vector<std::string> variants;
  for (const Variant& variant : program->matrix()) variants.push_back(variant.name);
  if (!variants.empty()) fmt::print("{}variants: {}\n", indent, fmt::join(variants, ", "));
}

/// What a user may name in the laboratory, under a heading each.
struct Named {
  const char* title;
  const char* key;  ///< in JSON
  const std::vector<lab::NamedHelp>& all;
};
std::vector<Named> named_of_the_lab() {
  return {{"strategies of the laboratory", "strategies", lab::strategy_names()},
          {"faults of the laboratory", "faults", lab::fault_names()},
          {"checkers of the laboratory", "checkers", lab::checker_names()}};
}

void print_names(const Named& named, bool colour) {
  std::size_t width = 0;
  for (const lab::NamedHelp& each : named.all) width = std::max(width, each.name.size());
  fmt::print("{}\n", named.title);
  for (const lab::NamedHelp& each : named.all)
    fmt::print("  {}{}{}\n", bold(each.name, colour), std::string(width - each.name.size() + 2, ' '), each.help);
}

void print_text(const Catalogue& catalogue, const std::vector<std::string>& folders) {
  const bool colour = wants_colour(STDOUT_FILENO);
  std::size_t width = 0;
  for (const FoundProgram& program : catalogue.programs) width = std::max(width, program.name().size());
  for (const Backend& backend : backends()) width = std::max(width, backend.name.size());
  fmt::print("programs\n");
  for (const FoundProgram& program : catalogue.programs) print_program(program, width, colour);
  if (catalogue.programs.empty()) {
    fmt::print("  none in {}\n", folders.empty() ? std::string("any folder: give --program-path")
                                                 : fmt::format("{}", fmt::join(folders, ", ")));
  }
  fmt::print("backends\n");
  for (const Backend& backend : backends()) {
    fmt::print("  {}{}{}\n", bold(backend.name, colour), std::string(width - backend.name.size() + 2, ' '),
               backend.summary);
  }
  for (const Named& named : named_of_the_lab()) print_names(named, colour);
}

}  // namespace

int list(const ListOptions& options) {
  const std::vector<std::string> folders = program_folders(options.program_path);
  const Catalogue catalogue = find_programs(folders);
  if (options.json) {
    OrderedJson json{{"programs", OrderedJson::array()},
                     {"backends", OrderedJson::array()},
                     {"folders", folders},
                     {"problems", catalogue.problems}};
    for (const FoundProgram& program : catalogue.programs) json["programs"].push_back(to_json(program));
    for (const Backend& backend : backends())
      json["backends"].push_back({{"name", backend.name}, {"summary", backend.summary}});
    for (const Named& named : named_of_the_lab()) {
      OrderedJson all = OrderedJson::array();
      for (const lab::NamedHelp& each : named.all) all.push_back({{"name", each.name}, {"summary", each.help}});
      json[named.key] = std::move(all);
    }
    write_json(json);
  } else {
    print_text(catalogue, folders);
    std::fflush(stdout);
  }
  for (const std::string& problem : catalogue.problems) fmt::print(stderr, "heddle: {}\n", one_line(problem));
  return exit_passed;
}

}  // namespace heddle::cli
