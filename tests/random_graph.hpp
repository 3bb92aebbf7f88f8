// SPDX-License-Identifier: Apache-2.0
//
// Random programs of tasks, and what a serial interpreter says they do. Tests run them on a backend and compare.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <heddle/types.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/random.hpp"
#include "tests/random_graph_signatures.hpp"

namespace heddle::random_graph {

inline constexpr int buffer_bytes_most = 512;
using ByteSet = std::bitset<buffer_bytes_most>;

using test::Random;

// A view of a buffer: where it starts, in bytes, and extents and strides in elements of one of the `types`.
struct Layout {
  std::int64_t offset = 0;
  int rank = 1;
  int type = 0;
  std::array<std::int64_t, 5> shape{};
  std::array<std::int64_t, 5> stride{};
};

struct Arg {
  Kind kind = Kind::in;
  int buffer = -1;         // -1: scratch
  bool untouched = false;  // a no_dep argument that the kernel leaves alone, so that it needs no order
  Layout layout;
  ByteSet bytes;
};

struct Predicate {
  int buffer = 0;
  std::int64_t offset = 0;
  int type = 0;
  Compare compare = Compare::eq;
  int value = 0;
  ByteSet bytes;
};

enum class What : std::uint8_t { nothing, task, open, close, read, write };

struct Step {
  What what = What::task;
  int list = 0;  // of `lists`: the argument tags
  int variant = 0;
  std::vector<Arg> args;  // read, write: one element
  int blocks = 1;
  std::vector<int> after;
  std::optional<Predicate> predicate;
  bool manual = false;   // open: a manual scope; else whether the step stands in one
  bool guarded = false;  // left out when what the orchestrator has read so far says so
  bool fixed = false;    // others rely on it for their order
  std::uint64_t salt = 0;
};

// A buffer of the caller's, or what a task allocates.
struct Buffer {
  int bytes = 0;
  int owner = -1;
};

// Buffer 0 is never written; buffer 1 is a declared tensor of the program; the others of the caller's are wrapped.
struct Program {
  std::uint64_t seed = 0;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
};

Program generate(std::uint64_t seed);
std::string describe(const Program& program);
std::string describe(const Program& program, int step);

// A view of one of a signature's arguments with its type erased.
struct Erased {
  std::byte* data = nullptr;
  std::int64_t element_bytes = 1;
  int rank = 1;
  const std::int64_t* shape = nullptr;
  const std::int64_t* stride = nullptr;
};
// What every task does in one block: reads what it may read, writes all that it must, and returns a digest of all that
// it has read. Blocks of a task share out the elements that it writes.
std::uint64_t run_kernel(const Step& step, std::uint64_t salt, std::int64_t block, const Erased* views);

// The outcome of running the steps one after another.
struct Expectation {
  struct Task {
    bool submitted = false;
    bool ran = false;
    std::uint64_t salt = 0;
    std::vector<std::uint64_t> digests;  // per block; for a read of the orchestrator's, the value
  };
  std::vector<Task> tasks;
  std::vector<std::vector<std::uint64_t>> memory;  // per buffer
  std::uint64_t tasks_submitted = 0;
  std::uint64_t blocks_run = 0;
};
Expectation interpret(const Program& program);
std::vector<std::vector<std::uint64_t>> initial_memory(const Program& program);
std::uint64_t mixed(std::uint64_t state, std::uint64_t value);
// What a step's guard and salt make of the values that the orchestrator has read.
bool skipped(const Step& step, std::uint64_t influence);

// For each step, the earlier steps that must have ended before it starts: those that share a byte which one of the two
// writes, the named ones, and the owners of what it uses.
std::vector<std::vector<int>> predecessors(const Program& program, const Expectation& expected);

// The edges of the whole program when no task ends before the last is submitted: distinct producers, where a write that
// covers an earlier access supersedes it, or does not.
std::uint64_t edges_of(const Program& program, const Expectation& expected, bool supersedes);

// The least ring that runs the program, whichever of its tasks end early; heap and pool with little to spare.
struct Need {
  std::uint32_t task_window = 1;
  std::uint64_t heap_bytes = 1024;
  std::uint32_t dep_pool = 1;
  std::uint32_t region_entries = 1;
  void include(const Need& other);
};
Need need(const Program& program, const Expectation& expected);

// The sets of bytes that a step reads and writes, where inference or the brute force look.
struct Access {
  int buffer;
  bool write;
  const ByteSet* bytes;
};
std::vector<Access> accesses(const Step& step);
bool conflict(const Step& left, const Step& right);

}  // namespace heddle::random_graph
