// SPDX-License-Identifier: Apache-2.0
// Runs the contenders of each work in turn and puts their samples together. In every round each contender is a fresh
// process with its own warm-up, so that what the machine does meanwhile falls on all of them.
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/harness.hpp"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A row of the results: the executables of `work` with these arguments.
struct Case {
  std::string name;
  std::string work;
  std::vector<std::string> arguments;
  std::string unit;
};

struct Settings {
  fs::path bin;
  fs::path out;
  std::string only;
  std::vector<std::string> contenders;
  int rounds = 7;
  bool is_quick = false;
  bool is_json = false;
  bool is_list = false;
};

struct Samples {
  std::vector<double> ns;  ///< of one operation

  double least() const { return *std::min_element(ns.begin(), ns.end()); }
  double median() const {
    std::vector<double> sorted = ns;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
};

std::vector<Case> all_cases() {
  std::vector<Case> cases{
      {"stencil", "stencil", {}, "task"},
      {"independent", "independent", {}, "task"},
      {"chain", "chain", {}, "task"},
      {"matmul", "matmul", {}, "product of 1,024 x 1,024 fp32"},
      {"cholesky", "cholesky", {}, "factorisation of 1,024 x 1,024 fp32"},
  };
  for (const int kib : {4, 16, 64, 256, 1'024, 4'096, 16'384, 65'536}) {
    const std::string size = kib < 1'024 ? std::to_string(kib) + "KiB" : std::to_string(kib / 1'024) + "MiB";
    cases.push_back({"put_" + size, "put", {"--bytes", std::to_string(kib * 1'024)}, "put of " + size});
  }
  cases.push_back({"hop", "hop", {}, "hop, one way"});
  cases.push_back({"isolation", "isolation", {}, "round of 16 ranks"});
  cases.push_back({"recorder", "recorder", {}, "task"});
  cases.push_back({"memory", "memory", {}, "session, bytes in place of ns"});
  return cases;
}

/// The contenders of a work that were built: `bench_<work>_<contender>`. Heddle first, then by name.
std::vector<std::string> contenders_of(const std::string& work, const fs::path& bin) {
  const std::string prefix = "bench_" + work + "_";
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(bin)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix)) found.push_back(name.substr(prefix.size()));
  }
  std::sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
    const bool a_is_ours = a.starts_with("heddle");
    const bool b_is_ours = b.starts_with("heddle");
    return a_is_ours != b_is_ours ? a_is_ours : a < b;
  });
  return found;
}

/// Replaces the child's image; what a rival prints besides its result is dropped unless it goes to stderr.
[[noreturn]] void become(const std::vector<std::string>& command, int output) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  dup2(output, STDOUT_FILENO);
  execv(arguments[0], arguments.data());
  _exit(127);
}

/// Runs a program and returns what it printed; throws unless it ends with 0.
std::string output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error(std::string("cannot make a pipe: ") + std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
  if (child == 0) {
    close(ends[0]);
    become(command, ends[1]);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4'096> chunk{};
  for (ssize_t got = 0; (got = read(ends[0], chunk.data(), chunk.size())) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    throw std::runtime_error(command[0] + " was ended by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    throw std::runtime_error(command[0] + " failed with exit code " + std::to_string(WEXITSTATUS(status)));
  return text;
}

void add_samples(Samples& samples, const std::string& text, const std::string& program) {
  const Json report = Json::parse(text, nullptr, false);
  if (report.is_discarded() || !report.contains("samples_ns") || !report.contains("tasks"))
    throw std::runtime_error(program + " printed no result");
  const auto operations = report["tasks"].get<double>();
  for (const auto& sample : report["samples_ns"]) samples.ns.push_back(sample.get<double>() / operations);
}

bool is_wanted(const Case& each, const Settings& settings) {
  return settings.only.empty() || settings.only == each.name || settings.only == each.work;
}

std::vector<std::string> wanted_contenders(const Case& each, const Settings& settings) {
  std::vector<std::string> found = contenders_of(each.work, settings.bin);
  if (settings.contenders.empty()) return found;
  std::erase_if(found, [&](const std::string& name) {
    return std::find(settings.contenders.begin(), settings.contenders.end(), name) == settings.contenders.end();
  });
  return found;
}

Json run_case(const Case& each, const std::vector<std::string>& contenders, const Settings& settings) {
  std::map<std::string, Samples> samples;
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t turn = 0; turn < contenders.size(); ++turn) {
      // Each round begins with another contender, so that none is always first.
      const std::string& name = contenders[(turn + static_cast<std::size_t>(round)) % contenders.size()];
      const std::string program = (settings.bin / ("bench_" + each.work + "_" + name)).string();
      std::vector<std::string> command{program, "--repeats", settings.is_quick ? "1" : "3"};
      command.insert(command.end(), each.arguments.begin(), each.arguments.end());
      if (settings.is_quick) command.emplace_back("--quick");
      add_samples(samples[name], output_of(command), program);
    }
  }
  Json result = Json::object();
  for (const std::string& name : contenders) {
    const Samples& own = samples[name];
    result[name] = {{"least_ns", own.least()}, {"median_ns", own.median()}, {"samples", own.ns.size()}};
  }
  return result;
}

/// The text after the first colon of the first line of `file` that begins with `key`.
std::string field_of(const char* file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t begin = colon == std::string::npos ? std::string::npos : line.find_first_not_of(" \t", colon + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "unknown";
}

double load_average() {
  std::array<double, 1> load{};
  return getloadavg(load.data(), 1) == 1 ? load[0] : -1;
}

Json describe_machine() {
  utsname system{};
  uname(&system);
  std::array<char, 32> date{};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {
      {"cpu", field_of("/proc/cpuinfo", "model name")},
      {"cpus", heddle::bench::allowed_cpus().size()},
      {"memory", field_of("/proc/meminfo", "MemTotal")},
      {"kernel", std::string(system.sysname) + " " + system.release + " " + system.machine},
      {"compiler", __VERSION__},
      {"date", date.data()},
      {"load_before", load_average()},
  };
}

/// What the ratios of the table are to: ours where it was built, else the floor, else the first.
std::string reference_of(const Json& result) {
  for (const char* name : {"heddle", "kernels", "memcpy", "atomic", "loop"})
    if (result.contains(name)) return name;
  return result.begin().key();
}

void print_table(const Case& each, const Json& result) {
  const std::string reference = reference_of(result);
  std::printf("%s: ns per %s\n", each.name.c_str(), each.unit.c_str());
  std::printf("  %-18s %15s %15s   of %s (least, median)\n", "", "least", "median", reference.c_str());
  const Json& base = result[reference];
  for (const auto& [name, times] : result.items()) {
    const auto least = times["least_ns"].get<double>();
    const auto median = times["median_ns"].get<double>();
    std::printf("  %-18s %15.1f %15.1f   %.2f  %.2f\n", name.c_str(), least, median,
                least / base["least_ns"].get<double>(), median / base["median_ns"].get<double>());
  }
  std::fflush(stdout);
}

void write_results(const Settings& settings, const Json& results) {
  const std::string text = results.dump(2) + "\n";
  if (settings.is_json) std::cout << text << std::flush;
  if (settings.out.empty()) return;
  std::ofstream file(settings.out);
  file << text << std::flush;
  if (!file) throw std::runtime_error("cannot write " + settings.out.string());
}

int run(const Settings& settings) {
  if (!fs::is_directory(settings.bin))
    throw std::invalid_argument("no folder " + settings.bin.string() + ": build the target heddle_bench first");
  Json results = Json::object();
  Json units = Json::object();
  Json machine = describe_machine();
  bool is_known = false;
  for (const Case& each : all_cases()) {
    if (!is_wanted(each, settings)) continue;
    is_known = true;
    const std::vector<std::string> contenders = wanted_contenders(each, settings);
    if (settings.is_list) {
      std::printf("%s:", each.name.c_str());
      for (const std::string& name : contenders) std::printf(" %s", name.c_str());
      std::printf("\n");
    }
    if (settings.is_list || contenders.empty()) continue;
    results[each.name] = run_case(each, contenders, settings);
    units[each.name] = each.unit;
    if (!settings.is_json) print_table(each, results[each.name]);
  }
  if (!is_known) throw std::invalid_argument("unknown work " + settings.only + ": --list names them");
  if (settings.is_list) return 0;
  if (results.empty()) throw std::runtime_error("no contender of the wanted works was built");
  machine["load_after"] = load_average();
  results["unit"] = units;
  results["machine"] = machine;
  write_results(settings, results);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Runs Heddle and its rivals on the same works, in turn.", "bench/run");
  app.add_option("--bin", settings.bin, "folder of the contenders' executables")->required();
  app.add_option("--only", settings.only, "one work, or one of its cases");
  app.add_option("--contenders", settings.contenders, "only these contenders")->delimiter(',');
  app.add_option("--rounds", settings.rounds, "times that each contender is started")->check(CLI::Range(7, 1'000));
  app.add_option("--out", settings.out, "also write the JSON here");
  app.add_flag("--quick", settings.is_quick, "one short sample a round");
  app.add_flag("--json", settings.is_json, "print JSON in place of tables");
  app.add_flag("--list", settings.is_list, "name the works and their contenders");
  try {
    app.parse(argc, argv);
    return run(settings);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "bench/run: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench/run: %s\n", error.what());
    return 1;
  }
}
