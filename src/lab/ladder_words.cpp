// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lab/ladder.hpp"

namespace heddle::lab {
namespace {

// "a, b and c"; each once.
std::string listed(std::vector<std::string> names) {
  std::vector<std::string> once;
  for (std::string& name : names)
    if (std::find(once.begin(), once.end(), name) == once.end()) once.push_back(std::move(name));
  std::string text;
  for (std::size_t i = 0; i < once.size(); ++i) text += (i == 0 ? "" : i + 1 == once.size() ? " and " : ", ") + once[i];
  return text;
}

}  // namespace

std::string LadderReport::conclusion() const {
  if (!failure) return interrupted ? "interrupted: nothing was found until then" : "there is nothing to explain";
  std::vector<std::string> needed, excluded, open;
  for (const RungReport& each : rungs) {
    if (!each.was_tried()) continue;
    const std::string& layer = each.rung.layer;
    const std::string how = each.is_gone()                              ? "gone with"
                            : each.pairs.changed() < each.pairs.as_is() ? "rarer with"
                                                                        : "more frequent with";
    if (each.judgement.standing == Standing::involved)
      needed.push_back(layer + " (" + how + " " + each.rung.name + ")");
    if (each.judgement.standing == Standing::excluded) excluded.push_back(layer);
    if (each.judgement.standing == Standing::open) open.push_back(layer);
  }
  // A layer with several rungs is what the most telling of them says.
  const auto is_needed = [&](const std::string& layer) {
    return std::any_of(needed.begin(), needed.end(),
                       [&](const std::string& each) { return each.starts_with(layer + " ("); });
  };
  const auto is_open = [&](const std::string& layer) {
    return std::find(open.begin(), open.end(), layer) != open.end();
  };
  std::erase_if(open, is_needed);
  std::erase_if(excluded, [&](const std::string& layer) { return is_needed(layer) || is_open(layer); });

  std::string text;
  if (!needed.empty()) {
    text = "the failure depends on " + listed(needed);
  } else if (!open.empty()) {
    text = "nothing is shown to be involved";
  } else if (excluded.empty()) {
    text = "nothing could be tried";
  } else if (failure->verdict == Verdict::unexplained) {
    text = "NOT EXPLAINED BY THE PROGRAM: nothing that was changed takes part, which leaves the runtime itself";
  } else {
    text = "nothing around the program takes part, which leaves the program itself";
  }
  if (!excluded.empty()) text += "; excluded: " + listed(excluded);
  if (!open.empty()) text += "; open, with too few runs that tell: " + listed(open);
  if (interrupted) text += "; it was interrupted";
  return text;
}

}  // namespace heddle::lab
