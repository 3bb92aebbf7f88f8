// SPDX-License-Identifier: Apache-2.0
//
// How many seeds it takes until a scenario notices a fault. Test code only.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/mutant.hpp"
#include "lab/seeds.hpp"

namespace heddle::lab {

// From how many start seeds a fault is searched: HEDDLE_MUTANT_STARTS of the environment, which also asks for the rows
// of docs/mutants.md; else 0.
inline std::uint64_t mutant_starts() {
  const char* const text = std::getenv("HEDDLE_MUTANT_STARTS");
  return text == nullptr ? 0 : std::max(1ULL, std::strtoull(text, nullptr, 10));
}
inline constexpr std::uint64_t between_mutant_starts = 1'000'003;

// What it took from each start seed to the first report.
class MutantEffort {
 public:
  // Of the search that began then.
  void add(std::uint64_t tries, std::chrono::steady_clock::time_point began) {
    tries_.push_back(tries);
    ms_.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
  }
  std::uint64_t tries() const { return median(tries_); }
  // "12", or "0.3": two digits.
  std::string ms() const {
    char text[32];
    const double value = median(ms_);
    std::snprintf(text, sizeof text, value < 9.95 ? "%.1f" : "%.0f", value);
    return text;
  }

 private:
  template <class T>
  static T median(std::vector<T> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
  std::vector<std::uint64_t> tries_;
  std::vector<double> ms_;
};

struct Mutant {
  const char* place;  // of an E::order
  const char* fault;  // what goes wrong in the field, for the table
};

// Searches with one fault put in, from mutant_starts() start seeds. If there are any it prints a row of
// docs/mutants.md: place, fault, test, what the lab reported, medians of the seeds and the time to the first report.
template <class Scenario>
Outcome find_mutant(const Mutant& mutant, const char* test, std::uint64_t most, Scenario&& scenario,
                    const Options& options = {}) {
  const base::mutants::Scope fault(mutant.place);
  MutantEffort effort;
  Outcome outcome;
  for (std::uint64_t start = 0; start < std::max<std::uint64_t>(1, mutant_starts()); ++start) {
    const std::uint64_t first = start * between_mutant_starts + 1;
    const auto began = std::chrono::steady_clock::now();
    outcome = first_failure_from(first, most, scenario, options);
    if (outcome.finished()) return outcome;
    effort.add(outcome.seed - first + 1, began);
  }
  if (mutant_starts() != 0) {
    std::printf("| `%s` | %s | %s | %s | %llu | %s |\n", mutant.place, mutant.fault, test, outcome.kind_name(),
                static_cast<unsigned long long>(effort.tries()), effort.ms().c_str());
    std::fflush(stdout);
  }
  return outcome;
}

// A fault and what finds it; `name` is that of the scenario, for the table.
template <class Scenario>
struct MutantRow {
  Mutant mutant;
  Scenario scenario;
  const char* name;
};

// The outcomes of those that were not found, in words.
template <class Scenario>
std::string missed_mutants(const std::string& area, std::initializer_list<MutantRow<Scenario>> rows, std::uint64_t most,
                           const Options& options) {
  std::string missed;
  for (const MutantRow<Scenario>& row : rows) {
    const Outcome outcome = find_mutant(row.mutant, (area + ", " + row.name).c_str(), most, row.scenario, options);
    if (outcome.finished()) missed += std::string(row.mutant.place) + " " + outcome.describe() + "\n";
  }
  return missed;
}

}  // namespace heddle::lab
