// SPDX-License-Identifier: Apache-2.0
// The three works of empty tasks: their shape, and the kernels in two forms.
//
// Timed kernels are empty. Checked kernels prove that a contender runs every task once and only after those that it
// depends on; they work on the very cells whose addresses carry the dependences.
//   stencil      task (step, i) reads cells i-1, i, i+1 of one buffer and writes cell i of the other, on a ring of
//   cells independent  task i writes cell i chain        task i reads and writes the one cell
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "common/harness.hpp"

namespace heddle::bench {

inline constexpr int stencil_width = 32;
inline constexpr int stencil_steps = 3'000;
inline constexpr int flat_tasks = 96'000;
static_assert(stencil_width * stencil_steps == flat_tasks, "the three works have as many tasks");

/// A cell on a cache line of its own, so that no contender pays for its neighbour.
struct alignas(64) Cell {
  std::int32_t value = 0;
};

/// What the checked kernels found. Failures are counted, not thrown: a kernel runs on a thread of the rival.
struct Findings {
  std::atomic<std::int64_t> executed{0};
  std::atomic<std::int64_t> wrong{0};

  // Relaxed: only read after the contender has joined all tasks.
  void record(bool is_right) {
    executed.fetch_add(1, std::memory_order_relaxed);
    if (!is_right) wrong.fetch_add(1, std::memory_order_relaxed);
  }
};

struct StencilCells {
  std::vector<Cell> buffers[2] = {std::vector<Cell>(stencil_width), std::vector<Cell>(stencil_width)};

  Cell* source(int step) { return buffers[step % 2].data(); }
  Cell* target(int step) { return buffers[(step + 1) % 2].data(); }
  static int left(int i) { return (i + stencil_width - 1) % stencil_width; }
  static int right(int i) { return (i + 1) % stencil_width; }

  /// Cells of step s hold s; a target holds what was written two steps ago.
  void reset() {
    for (int i = 0; i < stencil_width; ++i) {
      buffers[0][static_cast<std::size_t>(i)].value = 0;
      buffers[1][static_cast<std::size_t>(i)].value = -1;
    }
  }
};

struct EmptyKernel {
  static void stencil(const Cell&, const Cell&, const Cell&, Cell&) {}
  static void independent(Cell&) {}
  static void chain(Cell&, int) {}
};

/// The kernels that check; `findings` is set before tasks are submitted and read after they are joined.
struct CheckedKernel {
  static inline Findings findings;

  static void stencil(const Cell& left, const Cell& here, const Cell& right, Cell& target) {
    const std::int32_t step = here.value;
    findings.record(left.value == step && right.value == step && target.value == step - 1);
    target.value = step + 1;
  }
  static void independent(Cell& cell) {
    findings.record(cell.value == 0);
    cell.value = 1;
  }
  static void chain(Cell& cell, int index) {
    findings.record(cell.value == index);
    cell.value = index + 1;
  }
};

inline void begin_check() {
  CheckedKernel::findings.executed.store(0, std::memory_order_relaxed);
  CheckedKernel::findings.wrong.store(0, std::memory_order_relaxed);
}

inline void end_check() {
  require(CheckedKernel::findings.executed.load(std::memory_order_relaxed) == flat_tasks, "not every task ran once");
  require(CheckedKernel::findings.wrong.load(std::memory_order_relaxed) == 0, "a task ran before what it depends on");
}

/// A contender of a work of empty tasks. `run.template operator()<Kernel>(cells)` does the work once and returns ns.
template <class Cells, class Run>
void measure_tasks(const char* work, const char* name, Cells& cells, Run run, const Options& options) {
  Contender contender{work, name, flat_tasks, {}, {}};
  contender.verify = [&] {
    cells.reset();
    begin_check();
    run.template operator()<CheckedKernel>(cells);
    end_check();
  };
  contender.sample = [&] { return run.template operator()<EmptyKernel>(cells); };
  measure(contender, options);
}

/// The cells of `independent` (one a task) and of `chain` (one).
struct FlatCells {
  explicit FlatCells(int count) : cells(static_cast<std::size_t>(count)) {}
  std::vector<Cell> cells;

  Cell* data() { return cells.data(); }
  void reset() {
    for (Cell& cell : cells) cell.value = 0;
  }
};

}  // namespace heddle::bench
