// SPDX-License-Identifier: Apache-2.0
#include "lab/strategies/strategies.hpp"

#include <heddle/error.hpp>
#include <string>

#include "lab/failure_text.hpp"
#include "lab/strategies/default.hpp"
#include "lab/strategies/delay.hpp"
#include "lab/strategies/dfs.hpp"
#include "lab/strategies/pct.hpp"
#include "lab/strategies/random.hpp"
#include "lab/strategies/walk.hpp"

namespace heddle::lab {

namespace {

struct Entry {
  const char* name;
  const char* help;
  std::unique_ptr<Strategy> (*make)();
};

template <class S>
std::unique_ptr<Strategy> make() {
  return std::make_unique<S>();
}

constexpr Entry entries[] = {
    {"random", "latencies and ties each by itself; some seeds calm, some with heavy tails", &make<RandomStrategy>},
    {"pct", "a random priority for each agent, and a few points at which one falls behind", &make<PctStrategy>},
    {"delay", "an ordinary day, but for up to three choices", &make<DelayStrategy>},
    {"walk", "whatever could happen is as likely to happen next, at whatever time", &make<WalkStrategy>},
    {"dfs", "every order there is, for small graphs; says when it has seen all", &make<DfsStrategy>},
    {"default", "an ordinary day: the mean of every latency, and no fault", &make<DefaultStrategy>},
};

}  // namespace

const std::vector<NamedHelp>& strategy_names() {
  static const std::vector<NamedHelp> names = [] {
    std::vector<NamedHelp> list;
    for (const Entry& entry : entries) list.push_back({entry.name, entry.help});
    return list;
  }();
  return names;
}

std::unique_ptr<Strategy> make_strategy(std::string_view name) {
  std::string known;
  for (const Entry& entry : entries) {
    if (name == entry.name) return entry.make();
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error(Code::invalid_argument, "there is no strategy " + shown(name) + "; there are " + known);
}

}  // namespace heddle::lab
