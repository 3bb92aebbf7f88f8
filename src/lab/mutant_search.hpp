// SPDX-License-Identifier: Apache-2.0
//
// How many seeds it takes until a scenario notices a fault. Test code only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/mutant.hpp"
#include "lab/seeds.hpp"

namespace heddle::lab {

struct Mutant {
  const char* place;  // of an E::order
  const char* fault;  // what goes wrong in the field, for the table
};

// Searches with one fault put in. With HEDDLE_MUTANT_STARTS=n in the environment it does so from n start seeds and
// prints a row of docs/mutants.md: place, fault, test, what the lab reported, median of the seeds to the first report.
template <class Scenario>
Outcome find_mutant(const Mutant& mutant, const char* test, std::uint64_t most, Scenario&& scenario,
                    const Options& options = {}) {
  const base::mutants::Scope fault(mutant.place);
  const char* const text = std::getenv("HEDDLE_MUTANT_STARTS");
  const std::uint64_t starts = text == nullptr ? 1 : std::max(1ULL, std::strtoull(text, nullptr, 10));
  constexpr std::uint64_t between_starts = 1'000'003;
  std::vector<std::uint64_t> tries;
  Outcome outcome;
  for (std::uint64_t start = 0; start < starts; ++start) {
    const std::uint64_t first = start * between_starts + 1;
    outcome = first_failure_from(first, most, scenario, options);
    if (outcome.finished()) return outcome;
    tries.push_back(outcome.seed - first + 1);
  }
  if (text != nullptr) {
    std::sort(tries.begin(), tries.end());
    std::printf("| `%s` | %s | %s | %s | %llu |\n", mutant.place, mutant.fault, test, outcome.kind_name(),
                static_cast<unsigned long long>(tries[tries.size() / 2]));
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
