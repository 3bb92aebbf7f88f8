// SPDX-License-Identifier: Apache-2.0
#include "cli/case_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/failure.hpp"
#include "lab/failure_session.hpp"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* suffix = ".case.json";

lab::RunSpec spec_of(const Json& run, CaseFile& about) {
  lab::RunSpec spec;
  spec.chip = run.at("chip");
  spec.chip_set = run.at("chip_set").get<std::map<std::string, std::uint64_t>>();
  for (const auto& [name, value] : spec.chip_set) about.chip_set.push_back(fmt::format("{}={}", name, value));
  spec.ranks = run.at("ranks");
  spec.rounds = run.at("rounds");
  if (run.at("checkers") == "all") {
    for (const auto& checker : lab::checker_names()) spec.checkers.push_back(checker.name);
  } else {
    spec.checkers = run.at("checkers").get<std::vector<std::string>>();
  }
  spec.values = run.value("values", true);
  if (run.contains("faults")) spec.faults = run.at("faults").get<std::map<std::string, std::uint32_t>>();
  if (!run.contains("session")) return spec;
  for (const auto& [name, value] : run.at("session").items()) {
    const auto fields = lab::session_fields();
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&, &wanted = name](const lab::SessionField& each) { return each.name == wanted; });
    const std::string text = value.get<std::string>();
    if (field == fields.end() || !field->set(spec.session, text))
      throw UsageError(fmt::format("session: {} cannot be {}", name, text));
    about.session.emplace_back(name, text);
  }
  return spec;
}

}  // namespace

std::string CaseFile::hunt_command() const {
  std::string text = "heddle hunt " + program;
  if (!has_own_program) text += fmt::format(" --ranks {} --rounds {}", spec.ranks, spec.rounds);
  if (spec.chip != "a2a3") text += " --on lab:" + spec.chip;
  for (const std::string& each : chip_set) text += " --chip-set " + each;
  std::string faults;
  for (const auto& [fault, count] : spec.faults)
    faults += fmt::format("{}{}:{}", faults.empty() ? "" : ",", fault, count);
  if (!faults.empty()) text += " --faults " + faults;
  if (!spec.values) text += " --values off";
  for (const auto& [option, value] : session) text += fmt::format(" --{} {}", option, value);
  return text;
}

lab::RunSpec CaseFile::right_spec() const {
  lab::RunSpec right = spec;
  if (is_faulty()) right.faults.clear();
  return right;
}

lab::Settings CaseFile::right_settings() const {
  return kind == "program" ? lab::Settings{{"repaired", "true"}} : lab::Settings{};
}

CaseFile read_case(const std::string& path) {
  try {
    std::ifstream file(path);
    if (!file) throw UsageError("it cannot be read");
    const Json json = Json::parse(file);
    CaseFile about;
    about.name = json.at("name");
    about.program = json.value("program", about.name);
    about.has_own_program = !json.contains("program");
    about.kind = json.at("kind");
    about.source = json.at("source");
    about.summary = json.at("summary");
    about.what_happens = json.at("what_happens");
    about.in_the_wild = json.at("in_the_wild");
    about.spec = spec_of(json.at("run"), about);
    about.strategies = json.at("run").at("strategies").get<std::vector<std::string>>();
    about.verdicts = json.at("expect").at("verdicts").get<std::vector<std::string>>();
    about.codes = json.at("expect").at("codes").get<std::vector<std::string>>();
    about.names = json.at("expect").at("names").get<std::vector<std::string>>();
    return about;
  } catch (const std::exception& error) {
    throw UsageError(fmt::format("{} is not the description of a case: {}", path, one_line(error.what())));
  }
}

std::vector<CaseFile> find_cases(const std::vector<std::string>& folders) {
  std::map<std::string, CaseFile> found;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
      if (entry.path().filename().string().ends_with(suffix)) {
        CaseFile about = read_case(entry.path().string());
        std::string name = about.name;
        found.emplace(std::move(name), std::move(about));
      }
  }
  std::vector<CaseFile> cases;
  for (auto& [name, about] : found) cases.push_back(std::move(about));
  return cases;
}

}  // namespace heddle::cli
