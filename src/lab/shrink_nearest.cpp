// SPDX-License-Identifier: Apache-2.0
//
// The nearest schedule that passes: the failing one with as few choices changed as can be found. What is changed is
// what the failure hangs on.
#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "lab/choice_words.hpp"
#include "lab/shrink_state.hpp"

namespace heddle::lab {
namespace {

constexpr std::size_t singles_tried = 64;          // choices that are made the default, one at a time
constexpr std::uint64_t passing_seeds_tried = 64;  // then other schedules are looked for

using Choices = std::vector<TakenChoice>;

// One choice in two schedules; 0 is the default, which lists do not name.
struct Change {
  TakenChoice choice;  // `taken` is what the failing schedule takes
  std::uint32_t passing = 0;
};

std::vector<Change> changes_between(const Choices& failing, const Choices& passing) {
  std::map<std::tuple<std::string, std::string, std::uint32_t>, Change> all;
  const auto at = [&all](const TakenChoice& choice) -> Change& {
    Change& change = all[{choice.label, choice.agent, choice.ordinal}];
    change.choice = {choice.label, choice.agent, choice.ordinal, change.choice.taken};
    return change;
  };
  for (const TakenChoice& choice : failing) at(choice).choice.taken = choice.taken;
  for (const TakenChoice& choice : passing) at(choice).passing = choice.taken;
  std::vector<Change> changes;
  for (auto& [key, change] : all)
    if (change.choice.taken != change.passing) changes.push_back(std::move(change));
  return changes;
}

// `failing` with these changes made.
Choices changed(Choices failing, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    std::erase_if(failing, [&](const TakenChoice& choice) {
      return choice.label == change.choice.label && choice.agent == change.choice.agent &&
             choice.ordinal == change.choice.ordinal;
    });
    if (change.passing == 0) continue;
    failing.push_back(change.choice);
    failing.back().taken = change.passing;
  }
  return failing;
}

NearestPass in_words(const std::vector<Change>& changes) {
  NearestPass nearest;
  for (const Change& change : changes) {
    if (change.choice.taken != 0) nearest.without.push_back(in_words(change.choice));
    TakenChoice taken = change.choice;
    taken.taken = change.passing;
    if (taken.taken != 0) nearest.with.push_back(in_words(taken));
  }
  return nearest;
}

}  // namespace

bool ShrinkState::passes_with(Choices choices) {
  if (is_spent()) return false;
  tell("changes");
  Candidate candidate = best_;
  candidate.schedule.choices = std::move(choices);
  return can_run(candidate) && last_.passed();
}

std::optional<NearestPass> ShrinkState::nearest_pass() {
  if (!best_.schedule.is_list) return std::nullopt;
  const Choices failing = best_.schedule.choices;
  for (std::size_t i = 0; i < std::min(failing.size(), singles_tried); ++i) {
    const std::vector<Change> single{{failing[i], 0}};
    if (passes_with(changed(failing, single))) return in_words(single);
  }
  std::optional<Choices> passing;
  if (!failing.empty() && passes_with({}))
    passing.emplace();
  else
    passing = passing_seed();
  if (!passing) return std::nullopt;
  // Ever smaller parts of the changes are taken back, for as long as it still passes.
  std::vector<Change> changes = changes_between(failing, *passing);
  for (std::size_t chunk = changes.size() / 2; chunk > 0; chunk /= 2)
    for (std::size_t end = changes.size(); end > 0;) {
      const std::size_t begin = end > chunk ? end - chunk : 0;
      std::vector<Change> fewer = changes;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(begin), fewer.begin() + static_cast<std::ptrdiff_t>(end));
      if (passes_with(changed(failing, fewer))) changes = std::move(fewer);
      end = std::min(begin, changes.size());
    }
  return in_words(changes);
}

// The choices of a seed under which it passes, as a list that passes as well.
std::optional<std::vector<TakenChoice>> ShrinkState::passing_seed() {
  Candidate candidate = best_;
  candidate.schedule = Schedule{};
  candidate.schedule.strategy = best_.schedule.by_time ? "random" : "walk";
  for (std::uint64_t seed = 1; seed <= passing_seeds_tried && !is_spent(); ++seed) {
    candidate.schedule.seed = seed;
    if (!can_run(candidate) || !last_.passed()) continue;
    Choices taken = last_.taken;
    if (passes_with(taken)) return taken;
  }
  return std::nullopt;
}

}  // namespace heddle::lab
