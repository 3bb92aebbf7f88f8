// SPDX-License-Identifier: Apache-2.0
//
// Every decision that a lab run takes and that is not fixed by the program is drawn from one stream of labelled
// choices. A choice is named by its label, by the agent that takes it, and by how many of that label this agent has
// taken before: so a choice keeps its name when others are changed or go away. Alternative 0 is the default: what
// happens on an ordinary day. A strategy picks; the same strategy with the same seed picks the same.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::lab {

enum class ChoiceKind : std::uint8_t {
  latency,    // of 16: 0 the mean, 1 … 15 from the least to the most
  order,      // which of several things that may happen next does
  placement,  // which of several places that are equally good
  fault,      // whether a fault happens here; never drawn when that fault is off
};

struct Choice {
  const char* label;  // a string literal, e.g. "latency.put"
  ChoiceKind kind;
  std::uint32_t alternatives;  // at least 2
  std::uint32_t agent;         // number of the agent in its run; UINT32_MAX for "network": outside of agents
  std::uint64_t agent_key;     // hash of the agent's name: the same in every run in which that agent exists
  std::uint64_t label_key;     // hash of the label
  std::uint32_t ordinal;       // among the choices of this agent with this label
  std::uint64_t position;      // among all choices of the run
};

// What a step may have touched. Two steps commute when neither mask has a bit in common. Time is no part of it.
struct Footprint {
  std::uint64_t domains = 0;  // what the step reported with Simulator::touch(); all ones when it reported nothing
  std::uint64_t actors = 0;   // who stepped, and whom it woke or cancelled: a bit for each, by its key

  bool commutes(const Footprint& other) const noexcept {
    return (domains & other.domains) == 0 && (actors & other.actors) == 0;
  }
  void add(const Footprint& other) noexcept {
    domains |= other.domains;
    actors |= other.actors;
  }
};

// How a run decides. One object decides one run at a time.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual const char* name() const = 0;
  // Before each run. `length_hint` is how many choices the last run took, 0 when unknown.
  virtual void begin(std::uint64_t seed, std::uint64_t length_hint) = 0;
  // In [0, alternatives).
  virtual std::uint32_t choose(const Choice& choice) = 0;
  // Whether events are taken in the order of their time (the usual case), or in an order that choose() decides with
  // choices of kind `order` labelled "next" (walk, dfs).
  virtual bool by_time() const { return true; }
  // Before each choice labelled "next" or "tie", and also where only one thing is there to happen and nothing is drawn
  // (without by_time() only): what can be chosen, each by a key that it keeps in other orders of the same things.
  // `all`: no further ones are left out.
  virtual void next_among(std::span<const std::uint64_t> /*keys*/, bool /*all*/) {}
  // Without by_time() only: what was chosen by the last "next" has happened, up to its next switch.
  virtual void step_done(const Footprint& /*footprint*/) {}
  // After a run. False when there is no other run to make (dfs: complete).
  virtual bool end() { return true; }
};

// A choice that was not the default, as failure files and shrinking name it.
struct TakenChoice {
  std::string label;
  std::string agent;
  std::uint32_t ordinal = 0;
  std::uint32_t taken = 0;
  friend bool operator==(const TakenChoice&, const TakenChoice&) = default;
};

}  // namespace heddle::lab
