// SPDX-License-Identifier: Apache-2.0
#include "tests/random_windows.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <string_view>

#include "tests/random.hpp"

namespace heddle::random_windows {

namespace {

using test::Random;

bool is_notify(const Step& step) { return step.what == What::tell || step.what == What::add; }
bool is_look(const Step& step) { return step.what == What::read || step.what == What::get; }

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {
    program_.seed = seed;
    program_.ranks = random_.between(2, ranks_most);
    for (int rank = 0; rank < program_.ranks; ++rank)
      for (int agent = random_.between(1, agents_most); agent > 0; --agent) program_.rank_of.push_back(rank);
    for (int& owner : owner_) owner = random_.below(program_.ranks);
  }

  Program run() {
    const int length = random_.between(10, steps_most - 5);
    while (static_cast<int>(program_.steps.size()) < length) {
      if (random_.chance(35))
        message();
      else
        any();
    }
    return std::move(program_);
  }

 private:
  int any_agent() { return random_.below(static_cast<int>(program_.rank_of.size())); }
  int any_rank() { return random_.below(program_.ranks); }
  int place_of(int agent) { return agent * places_each + random_.below(places_each); }
  bool is_relaxed() { return random_.chance(30); }
  int rank_of(int agent) const { return program_.rank_of[static_cast<std::size_t>(agent)]; }
  void push(const Step& step) { program_.steps.push_back(step); }

  void tell(int agent, int peer) {
    told_.push_back(peer);
    push({What::tell, agent, peer, 0, static_cast<int>(told_.size()) - 1, 0, is_relaxed()});
  }
  void wait(int agent, int signal) { push({What::wait, agent, 0, 0, signal, 0, false}); }
  void look(int agent, int place) {
    const bool own = random_.chance(75);
    push({own ? What::read : What::get, agent, own ? rank_of(agent) : any_rank(), place, 0, 0, false});
  }

  // Data, perhaps more of it or a fence, its signal, and somebody who waits and reads.
  void message() {
    const int from = any_agent(), to = any_agent(), place = place_of(from);
    push({What::put, from, rank_of(to), place, 0, 0, false});
    if (random_.chance(25)) push({What::put, from, rank_of(to), place, 0, 0, false});
    if (random_.chance(15)) push({What::fence, from, rank_of(to), 0, 0, 0, false});
    tell(from, rank_of(to));
    wait(to, static_cast<int>(told_.size()) - 1);
    push({What::read, to, rank_of(to), place, 0, 0, false});
  }

  void any() {
    const int agent = any_agent();
    switch (random_.below(9)) {
      case 0:
        return push({What::put, agent, any_rank(), place_of(agent), 0, 0, false});
      case 1:
        return tell(agent, any_rank());
      case 2:
        return add(agent);
      case 3:
        return push({What::fence, agent, any_rank(), 0, 0, 0, false});
      case 4:
        return push({What::quiet, agent, 0, 0, 0, 0, false});
      case 5:
        return wait_for_any(agent);
      case 6:
        return wait_for_sum(agent);
      case 7:
        return ask_for_any(agent);
      default:
        return look(agent, place_of(any_agent()));
    }
  }

  void add(int agent) {
    const auto sum = static_cast<std::size_t>(random_.below(sums));
    if (closed_[sum]) return;
    ++added_[sum];
    push({What::add, agent, owner_[sum], 0, static_cast<int>(sum), 0, is_relaxed()});
  }
  // A signal that the agent's rank has been told already, in this order of the steps.
  std::optional<int> any_told(int agent) {
    std::vector<int> mine;
    for (std::size_t i = 0; i < told_.size(); ++i)
      if (told_[i] == rank_of(agent)) mine.push_back(static_cast<int>(i));
    if (mine.empty()) return std::nullopt;
    return mine[static_cast<std::size_t>(random_.below(static_cast<int>(mine.size())))];
  }
  void wait_for_any(int agent) {
    if (const auto signal = any_told(agent)) wait(agent, *signal);
  }
  void ask_for_any(int agent) {
    if (const auto signal = any_told(agent)) push({What::ask, agent, 0, 0, *signal, 0, false});
  }
  // For all of it: nothing is added afterwards.
  void wait_for_sum(int agent) {
    const auto sum = static_cast<std::size_t>(random_.below(sums));
    if (owner_[sum] != rank_of(agent) || added_[sum] == 0) return;
    closed_[sum] = true;
    push({What::wait_sum, agent, 0, 0, static_cast<int>(sum), added_[sum], false});
  }

  Random random_;
  Program program_;
  std::vector<int> told_;  // whom, by signal
  std::array<int, sums> owner_{};
  std::array<std::int64_t, sums> added_{};
  std::array<bool, sums> closed_{};
};

// What comes before what. Two events of each step: that its agent does it, and that it arrives, where it travels. All
// edges lead from an earlier event to a later one, so one pass in the order of events closes the relation.
class Precedence {
 public:
  Precedence(const Program& program, Rules rules) : steps_(program.steps), rules_(rules), before_(2 * steps_.size()) {
    for (std::size_t j = 0; j < steps_.size(); ++j) {
      done(j);
      if (steps_[j].what == What::put || is_notify(steps_[j])) arrived(j);
    }
  }
  static std::size_t does(std::size_t step) { return 2 * step; }
  static std::size_t arrives(std::size_t step) { return 2 * step + 1; }
  bool precedes(std::size_t one, std::size_t other) const { return before_[other].test(one); }

 private:
  void edge(std::size_t from, std::size_t to) {
    before_[to] |= before_[from];
    before_[to].set(from);
  }

  void done(std::size_t j) {
    const Step& step = steps_[j];
    for (std::size_t i = 0; i < j; ++i) {
      const Step& earlier = steps_[i];
      const bool same = earlier.agent == step.agent;
      if (same) edge(does(i), does(j));
      if (step.what == What::quiet && same && earlier.what == What::put) edge(arrives(i), does(j));
      if (step.what == What::wait && earlier.what == What::tell && earlier.signal == step.signal)
        edge(arrives(i), does(j));
      if (step.what == What::wait_sum && earlier.what == What::add && earlier.signal == step.signal)
        edge(arrives(i), does(j));
    }
  }

  // Ordered after earlier things of the same agent to the same peer: all of them before a fence, puts before a release.
  void arrived(std::size_t j) {
    const Step& step = steps_[j];
    edge(does(j), arrives(j));
    const bool publishes = is_notify(step) && (!step.relaxed || rules_ == Rules::relaxed_publishes);
    bool fenced = rules_ == Rules::unfenced_in_order;
    for (std::size_t i = j; i-- > 0;) {
      const Step& earlier = steps_[i];
      if (earlier.agent != step.agent || earlier.peer != step.peer) continue;
      if (earlier.what == What::fence) fenced = true;
      if (earlier.what != What::put && !is_notify(earlier)) continue;
      if (fenced || (publishes && earlier.what == What::put)) edge(arrives(i), arrives(j));
    }
  }

  const std::vector<Step>& steps_;
  Rules rules_;
  std::vector<std::bitset<std::size_t{2} * steps_most>> before_;
};

// The puts that a look may meet.
std::vector<std::size_t> puts_to(const Program& program, const Step& look) {
  std::vector<std::size_t> puts;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.what == What::put && step.peer == look.peer && step.place == look.place) puts.push_back(i);
  }
  return puts;
}

Seen seen_by(const Program& program, const Precedence& order, std::size_t look) {
  const auto puts = puts_to(program, program.steps[look]);
  const auto has_arrived = [&](std::size_t put) {
    return order.precedes(Precedence::arrives(put), Precedence::does(look));
  };
  Seen seen{static_cast<int>(look), {}};
  if (std::none_of(puts.begin(), puts.end(), has_arrived)) seen.values.push_back(0);
  for (const std::size_t put : puts) {
    if (order.precedes(Precedence::does(look), Precedence::does(put))) continue;
    const bool is_over = std::any_of(puts.begin(), puts.end(), [&](std::size_t later) {
      return has_arrived(later) && order.precedes(Precedence::arrives(put), Precedence::arrives(later));
    });
    if (!is_over) seen.values.push_back(mark_of(program, static_cast<int>(put)));
  }
  return seen;
}

Seen told_to(const Program& program, const Precedence& order, std::size_t ask) {
  Seen seen{static_cast<int>(ask), {}};
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.what != What::tell || step.signal != program.steps[ask].signal) continue;
    if (!order.precedes(Precedence::arrives(i), Precedence::does(ask))) seen.values.push_back(0);
    if (!order.precedes(Precedence::does(ask), Precedence::does(i))) seen.values.push_back(1);
  }
  return seen;
}

bool races(const Program& program, const Precedence& order, std::size_t look) {
  const auto puts = puts_to(program, program.steps[look]);
  return std::any_of(puts.begin(), puts.end(), [&](std::size_t put) {
    return !order.precedes(Precedence::arrives(put), Precedence::does(look)) &&
           !order.precedes(Precedence::does(look), Precedence::does(put));
  });
}

}  // namespace

std::int64_t mark_of(const Program& program, int step) {
  const Step& put = program.steps[static_cast<std::size_t>(step)];
  return ((static_cast<std::int64_t>(put.peer) * places + put.place) * steps_most + step) + 1;
}

Program generate(std::uint64_t seed) { return Generator(seed).run(); }

std::vector<Seen> model(const Program& program, Rules rules) {
  const Precedence order(program, rules);
  std::vector<Seen> all;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (is_look(program.steps[i])) all.push_back(seen_by(program, order, i));
    if (program.steps[i].what == What::ask) all.push_back(told_to(program, order, i));
  }
  return all;
}

Program without_races(Program program) {
  const Precedence order(program, Rules::promised);
  std::vector<Step> kept;
  for (std::size_t i = 0; i < program.steps.size(); ++i)
    if (!is_look(program.steps[i]) || !races(program, order, i)) kept.push_back(program.steps[i]);
  program.steps = std::move(kept);
  return program;
}

std::string describe(const Program& program) {
  static constexpr std::array<std::string_view, 10> names{"put",  "tell",     "add", "fence", "quiet",
                                                          "wait", "wait_sum", "ask", "read",  "get"};
  std::string text;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    text += std::to_string(i) + ": agent " + std::to_string(step.agent) + " of rank " +
            std::to_string(program.rank_of[static_cast<std::size_t>(step.agent)]) + ": " +
            std::string(names[static_cast<std::size_t>(step.what)]) + " peer " + std::to_string(step.peer) +
            ", place " + std::to_string(step.place) + ", signal " + std::to_string(step.signal) + ", sum " +
            std::to_string(step.sum) + (step.relaxed ? ", relaxed\n" : "\n");
  }
  return text;
}

}  // namespace heddle::random_windows
