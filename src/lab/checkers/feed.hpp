// SPDX-License-Identifier: Apache-2.0
//
// A feed written by hand, for tests and benchmarks of the checkers: windows and tensors that nobody runs a kernel on.
#pragma once

#include <cstdlib>
#include <deque>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/checkers/checkers.hpp"
#include "lab/run.hpp"

namespace heddle::lab::checkers {

inline std::vector<std::string> all_checkers() {
  std::vector<std::string> names;
  for (const NamedHelp& entry : checker_names()) names.push_back(entry.name);
  return names;
}

class Feed {
 public:
  using Tag = heddle::detail::Tag;
  using SignalRef = heddle::detail::SignalRef;

  explicit Feed(int ranks, std::vector<std::string> names = all_checkers())
      : ranks_(ranks), serials_(static_cast<std::size_t>(ranks)), set(names, ranks) {}

  // ---- memory
  std::byte* memory(std::size_t bytes) {
    memory_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)), &std::free);
    return memory_.back().get();
  }
  const heddle::detail::WindowTable* window(const char* name, std::size_t bytes) {
    auto& table = windows_.emplace_back();
    for (int r = 0; r < ranks_; ++r) table.part.push_back(memory(bytes));
    table.bytes = bytes;
    table.name = name;
    return &table;
  }
  static Piece piece(int rank, const std::byte* data, std::int64_t bytes) {
    Piece result;
    result.rank = rank;
    result.data = data;
    result.dims = 1;
    result.shape[0] = bytes;
    result.stride[0] = 1;
    return result;
  }
  static Piece part(const heddle::detail::WindowTable* window, int rank, std::int64_t offset, std::int64_t bytes) {
    Piece result = piece(rank, window->part[static_cast<std::size_t>(rank)] + offset, bytes);
    result.window = window;
    return result;
  }
  static SignalRef cell(const heddle::detail::WindowTable* window, int rank, std::int64_t index) {
    return {window->part[static_cast<std::size_t>(rank)] + index * 4, window, rank, false};
  }

  // ---- tasks
  struct Arg {
    Tag tag;
    const std::byte* data;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> stride;  // in elements; empty: dense
    std::uint32_t element_bytes = 1;
  };
  static Arg arg(Tag tag, const Piece& piece) { return {tag, piece.data, {piece.shape[0]}, {1}, 1}; }
  struct How {
    std::uint32_t blocks = 1;
    bool manual = false;
    bool always_runs = true;
    std::uint32_t line = 0;
    Cores cores = vector_core;
  };
  TaskId submit(int rank, const char* name, std::vector<Arg> args = {}, std::vector<TaskId> producers = {}) {
    return submit(rank, name, std::move(args), std::move(producers), How{});
  }
  TaskId submit(int rank, const char* name, std::vector<Arg> args, std::vector<TaskId> producers, How how) {
    std::vector<heddle::detail::ArgRecord> records;
    for (const Arg& a : args) {
      heddle::detail::ArgRecord record;
      record.data = const_cast<std::byte*>(a.data);
      record.shape = a.shape.data();
      record.stride = a.stride.data();
      record.element_bytes = a.element_bytes;
      record.rank = static_cast<std::uint8_t>(a.shape.size());
      record.tag = a.tag;
      records.push_back(record);
    }
    TaskFacts facts;
    facts.id = {rank, serials_[static_cast<std::size_t>(rank)]++};
    facts.name = name;
    facts.location = {"program.cpp", how.line};
    facts.blocks = how.blocks;
    facts.manual = how.manual;
    facts.always_runs = how.always_runs;
    facts.args = records;
    facts.producers = producers;
    facts.cores = how.cores;
    set.submitted(facts);
    return facts.id;
  }
  static BlockId block(TaskId task, std::uint32_t index = 0) { return {task, index}; }
  // Each block on a core of its own, unless one is named.
  BlockId begin(TaskId task, std::uint32_t index = 0, std::optional<std::uint32_t> core = {}) {
    set.block_begins({task, index}, core ? *core : next_core_++);
    return {task, index};
  }
  void end(const BlockId& id) { set.block_ends(id); }
  void finish(const BlockId& id) {
    set.block_ends(id);
    set.completed(id.task);
  }
  // A task whose kernel does nothing that the feed would tell.
  void run(TaskId task, std::uint32_t blocks = 1) {
    for (std::uint32_t i = 0; i < blocks; ++i) end(begin(task, i));
    set.completed(task);
  }

  // ---- what blocks do
  std::uint64_t put(const BlockId& id, const Piece& to, const Piece& from) {
    set.put(id, next_put_, to, from);
    return next_put_++;
  }
  void put_now(const BlockId& id, const Piece& to, const Piece& from) { set.arrived(put(id, to, from)); }
  std::uint64_t notify(const BlockId& id, const SignalRef& signal, std::int64_t value = 1, Notify how = Notify::add,
                       Order order = Order::released) {
    set.notify(id, next_notify_, signal, value, how, order);
    return next_notify_++;
  }
  void notify_now(const BlockId& id, const SignalRef& signal, std::int64_t value = 1, Notify how = Notify::add,
                  Order order = Order::released) {
    set.notify_arrived(notify(id, signal, value, how, order));
  }
  void wait(const BlockId& id, const SignalRef& signal, std::int64_t value = 1, Compare compare = Compare::ge) {
    set.wait_satisfied(id, signal, compare, value, false);
  }
  void deferred(TaskId task, const SignalRef& signal, std::int64_t value = 1, Compare compare = Compare::ge) {
    set.wait_satisfied({task, 0}, signal, compare, value, true);
  }
  void store(const BlockId& id, const Piece& piece) { set.scalar_write(id, piece); }
  void clean(const BlockId& id, const Piece& piece) {
    const auto address = reinterpret_cast<std::uintptr_t>(piece.data);
    const auto bytes = static_cast<std::uintptr_t>(piece.shape[0]);
    Piece line = piece;
    line.data -= address % 64;
    line.shape[0] = 64;
    const std::uint64_t dirty = bytes >= 64 ? ~std::uint64_t{0} : ((std::uint64_t{1} << bytes) - 1) << (address % 64);
    set.line_written_back(id, line, dirty);
  }
  void store_now(const BlockId& id, const Piece& piece) {
    store(id, piece);
    clean(id, piece);
  }
  static Piece piece_of(const SignalRef& signal) {
    Piece result = piece(signal.rank, static_cast<const std::byte*>(signal.cell), 4);
    result.window = signal.window;
    return result;
  }

  std::string found() const {
    const auto finding = set.first();
    return finding ? std::string(finding->checker) + ": " + finding->error.what() : "";
  }

 private:
  int ranks_;
  std::vector<std::uint32_t> serials_;
  std::deque<heddle::detail::WindowTable> windows_;
  std::vector<std::unique_ptr<std::byte, decltype(&std::free)>> memory_;
  std::uint32_t next_core_ = 0;
  std::uint64_t next_put_ = 0, next_notify_ = 0;

 public:
  CheckerSet set;
  void round(std::int64_t number) {
    for (auto& serial : serials_) serial = 0;
    set.round_begins(number);
  }
};

}  // namespace heddle::lab::checkers
