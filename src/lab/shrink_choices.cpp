// SPDX-License-Identifier: Apache-2.0
//
// Which choices a failure needs: whole labels and whole agents are given up first, then halves, then one by one.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "lab/shrink_state.hpp"

namespace heddle::lab {
namespace {

using Choices = std::vector<TakenChoice>;

Choices without(const Choices& choices, std::size_t begin, std::size_t end) {
  Choices rest(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(begin));
  rest.insert(rest.end(), choices.begin() + static_cast<std::ptrdiff_t>(end), choices.end());
  return rest;
}

}  // namespace

bool ShrinkState::try_choices(Choices choices) {
  if (is_spent()) return false;
  Candidate candidate = best_;
  candidate.schedule.is_list = true;
  candidate.schedule.by_time = best_by_time_;
  candidate.schedule.length_hint = 0;
  candidate.schedule.choices = std::move(choices);
  if (!can_run(candidate) || !same_failure(last_, best_result_)) return false;
  accept(candidate);
  return true;
}

bool ShrinkState::shrink_choices() {
  tell("choices");
  if (list_fails_ || !to_list()) return false;
  const std::size_t before = best_.schedule.choices.size();
  if (before != 0 && !try_choices({})) {
    drop_groups(&TakenChoice::label);
    drop_groups(&TakenChoice::agent);
    drop_chunks();
    drop_singles();
  }
  return best_.schedule.choices.size() < before;
}

// From a seed to the choices that it made. The host's own worker loop makes its choices from the seed alone.
bool ShrinkState::to_list() {
  if (best_.schedule.is_list) return true;
  list_fails_ = best_.spec.chip == "host";
  if (list_fails_) return false;
  const bool is_tried = !is_spent();
  if (try_choices(best_result_.taken)) return true;
  list_fails_ = is_tried && !is_spent();
  return false;
}

// The largest group first: it takes the most away.
void ShrinkState::drop_groups(const std::string TakenChoice::* key) {
  std::map<std::string, std::size_t> sizes;
  for (const TakenChoice& choice : best_.schedule.choices) ++sizes[choice.*key];
  std::vector<std::pair<std::string, std::size_t>> groups(sizes.begin(), sizes.end());
  std::sort(groups.begin(), groups.end(), [](const auto& left, const auto& right) {
    return left.second != right.second ? left.second > right.second : left.first < right.first;
  });
  for (const auto& [name, size] : groups) {
    tell("choices");
    Choices rest;
    std::copy_if(best_.schedule.choices.begin(), best_.schedule.choices.end(), std::back_inserter(rest),
                 [&, &group = name](const TakenChoice& choice) { return choice.*key != group; });
    if (rest.size() < best_.schedule.choices.size()) try_choices(std::move(rest));
  }
}

// Ever smaller chunks, each given up when the failure stays without it.
void ShrinkState::drop_chunks() {
  for (std::size_t chunk = best_.schedule.choices.size() / 2; chunk > 1; chunk /= 2) {
    // From the end: a late choice depends on the early ones, hardly the other way about.
    for (std::size_t end = best_.schedule.choices.size(); end > 0 && !is_spent();) {
      tell("choices");
      const std::size_t begin = end > chunk ? end - chunk : 0;
      try_choices(without(best_.schedule.choices, begin, end));
      end = std::min(begin, best_.schedule.choices.size());
    }
  }
}

// Until none of those that are left can go.
void ShrinkState::drop_singles() {
  for (bool again = true; again && !is_spent();) {
    again = false;
    for (std::size_t at = best_.schedule.choices.size(); at-- > 0 && !is_spent();) {
      if (at >= best_.schedule.choices.size()) continue;
      tell("choices");
      again = try_choices(without(best_.schedule.choices, at, at + 1)) || again;
    }
  }
}

}  // namespace heddle::lab
