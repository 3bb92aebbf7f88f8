// SPDX-License-Identifier: Apache-2.0
//
// Random programs of puts, notifies, fences, waits and reads over windows, and a model of what the ordering rules of
// docs/semantics.md promise of them: for each look at memory or at a signal, what it may see.
//
// A program is one list of steps of several agents, in an order in which nothing waits for a later step, so that it
// ends under every schedule. Each place in memory is written by one agent alone, and holds a mark of the put in every
// word.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::random_windows {

inline constexpr int ranks_most = 4;
inline constexpr int agents_most = 3;  // of one rank
inline constexpr int places_each = 2;  // that an agent writes on every rank
inline constexpr int places = ranks_most * agents_most * places_each;
inline constexpr int words = 24;  // of a place: three lines
inline constexpr int steps_most = 120;
inline constexpr int sums = 4;

enum class What : std::uint8_t { put, tell, add, fence, quiet, wait, wait_sum, ask, read, get };

struct Step {
  What what = What::quiet;
  int agent = 0;
  int peer = 0;          // put, tell, add, fence, get: whom; read: its own rank
  int place = 0;         // put, read, get
  int signal = 0;        // tell, wait, ask: a cell that is told once; add, wait_sum: one of the sums
  std::int64_t sum = 0;  // wait_sum: all that is ever added
  bool relaxed = false;  // tell, add
};

struct Program {
  std::uint64_t seed = 0;
  int ranks = 0;
  std::vector<int> rank_of;  // of each agent
  std::vector<Step> steps;
};

// What every word of a place holds after this step's put; 0 before any.
std::int64_t mark_of(const Program& program, int step);

Program generate(std::uint64_t seed);
std::string describe(const Program& program);

enum class Rules : std::uint8_t {
  promised,
  relaxed_publishes,  // wrong: as if a relaxed notify published earlier puts
  unfenced_in_order,  // wrong: as if puts and notifies to one peer arrived in order
};

struct Seen {
  int step = 0;                      // the look
  std::vector<std::int64_t> values;  // that each of its words may have; of a signal, 0 or 1
};

// Of every look, in the order of the steps.
std::vector<Seen> model(const Program& program, Rules rules);

// Without the looks at memory that race with a put.
Program without_races(Program program);

}  // namespace heddle::random_windows
