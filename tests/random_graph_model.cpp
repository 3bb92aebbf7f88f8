// SPDX-License-Identifier: Apache-2.0
//
// The serial interpreter of random programs, and the brute force over their bytes.
#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "tests/random_graph.hpp"

namespace heddle::random_graph {

namespace {

std::uint64_t load(const std::byte* from, std::int64_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, static_cast<std::size_t>(bytes));
  return value;
}

// Calls visit(number, place) for the elements of a view in order, every `step`-th from `first`.
template <class F>
void for_each(const Erased& view, std::int64_t first, std::int64_t step, F&& visit) {
  std::int64_t at[5]{};
  std::int64_t number = 0;
  std::int64_t place = 0;
  for (int d = 0; d < view.rank; ++d)
    if (view.shape[d] == 0) return;
  for (;; ++number) {
    if (number % step == first) visit(number, view.data + place * view.element_bytes);
    int d = view.rank - 1;
    for (; d >= 0; --d) {
      place += view.stride[d];
      if (++at[d] < view.shape[d]) break;
      place -= at[d] * view.stride[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

template <class T>
bool compares(const Predicate& predicate, const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return holds(value, predicate.compare, static_cast<T>(predicate.value));
}

bool evaluate(const Predicate& predicate, const std::byte* element) {
  switch (predicate.type) {
    case 0:
      return compares<std::uint8_t>(predicate, element);
    case 1:
      return compares<std::int16_t>(predicate, element);
    case 2:
      return compares<std::uint32_t>(predicate, element);
    case 3:
      return compares<float>(predicate, element);
    case 4:
      return compares<double>(predicate, element);
    default:
      return compares<std::uint64_t>(predicate, element);
  }
}

std::byte* bytes_at(std::vector<std::uint64_t>& buffer, std::int64_t offset) {
  return reinterpret_cast<std::byte*>(buffer.data()) + offset;
}

}  // namespace

std::uint64_t mixed(std::uint64_t state, std::uint64_t value) {
  return (std::rotl(state, 23) ^ value) * 0x9fb21c651e98df25U;
}
bool skipped(const Step& step, std::uint64_t influence) { return step.guarded && (influence >> 40U & 1U) != 0; }

std::uint64_t run_kernel(const Step& step, std::uint64_t salt, std::int64_t block, const Erased* views) {
  std::uint64_t digest = Random::scramble(salt + static_cast<std::uint64_t>(block));
  const auto fold = [&](std::size_t i, std::int64_t first, std::int64_t stride) {
    const Erased& view = views[i];
    for_each(view, first, stride,
             [&](std::int64_t, const std::byte* place) { digest = mixed(digest, load(place, view.element_bytes)); });
  };
  const auto write = [&](std::size_t i) {
    const std::uint64_t base = Random::scramble(digest + i);
    const Erased& view = views[i];
    for_each(view, block, step.blocks, [&](std::int64_t number, std::byte* place) {
      const std::uint64_t value = mixed(base, static_cast<std::uint64_t>(number)) >> 8U;
      std::memcpy(place, &value, static_cast<std::size_t>(view.element_bytes));
    });
  };
  for (std::size_t i = 0; i < step.args.size(); ++i) {
    if (step.args[i].kind == Kind::scratch) write(i);
    if (step.args[i].kind == Kind::in || (step.args[i].kind == Kind::no_dep && !step.args[i].untouched)) fold(i, 0, 1);
    if (step.args[i].kind == Kind::inout) fold(i, block, step.blocks);
  }
  for (std::size_t i = 0; i < step.args.size(); ++i)
    if (step.args[i].kind == Kind::out || step.args[i].kind == Kind::inout || step.args[i].kind == Kind::fresh)
      write(i);
  for (std::size_t i = 0; i < step.args.size(); ++i)
    if (step.args[i].kind == Kind::scratch) fold(i, block, step.blocks);
  return digest;
}

std::vector<std::vector<std::uint64_t>> initial_memory(const Program& program) {
  Random random(~program.seed);
  std::vector<std::vector<std::uint64_t>> memory;
  for (const Buffer& buffer : program.buffers) {
    auto& words = memory.emplace_back(static_cast<std::size_t>(buffer.bytes / 8));
    for (auto& word : words) word = buffer.owner < 0 ? random.next() : 0;
  }
  return memory;
}

Expectation interpret(const Program& program) {
  Expectation result;
  result.memory = initial_memory(program);
  result.tasks.resize(program.steps.size());
  std::uint64_t influence = 0;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    auto& task = result.tasks[i];
    if (step.what == What::read || step.what == What::write) {
      const Arg& arg = step.args[0];
      std::byte* place = bytes_at(result.memory[static_cast<std::size_t>(arg.buffer)], arg.layout.offset);
      const int size = type_bytes[static_cast<std::size_t>(arg.layout.type)];
      if (step.what == What::write)
        std::memcpy(place, &step.salt, static_cast<std::size_t>(size));
      else
        task.digests.push_back(load(place, size));
      if (step.what == What::read) influence = mixed(influence, task.digests[0]);
      task.submitted = true;
    }
    if (step.what != What::task || skipped(step, influence)) continue;
    task.submitted = true;
    ++result.tasks_submitted;
    task.salt = mixed(step.salt, influence);
    task.ran = !is_dummy(step.list) &&
               (!step.predicate ||
                evaluate(*step.predicate, bytes_at(result.memory[static_cast<std::size_t>(step.predicate->buffer)],
                                                   step.predicate->offset)));
    if (!task.ran) continue;
    std::array<Erased, 5> views;
    std::array<std::uint64_t, buffer_bytes_most / 8> scratch[5];
    for (std::size_t a = 0; a < step.args.size(); ++a) {
      const Arg& arg = step.args[a];
      std::byte* data = arg.buffer < 0
                            ? reinterpret_cast<std::byte*>(scratch[a].data())
                            : bytes_at(result.memory[static_cast<std::size_t>(arg.buffer)], arg.layout.offset);
      views[a] = {data, type_bytes[static_cast<std::size_t>(arg.layout.type)], arg.layout.rank, arg.layout.shape.data(),
                  arg.layout.stride.data()};
    }
    for (int block = 0; block < step.blocks; ++block)
      task.digests.push_back(run_kernel(step, task.salt, block, views.data()));
    result.blocks_run += static_cast<std::uint64_t>(step.blocks);
  }
  return result;
}

std::vector<Access> accesses(const Step& step) {
  std::vector<Access> all;
  for (const Arg& arg : step.args)
    if (arg.kind != Kind::scratch && arg.kind != Kind::no_dep)
      all.push_back({arg.buffer, arg.kind != Kind::in, &arg.bytes});
  if (step.predicate) all.push_back({step.predicate->buffer, false, &step.predicate->bytes});
  return all;
}

bool conflict(const Step& left, const Step& right) {
  const auto mine = accesses(left);
  for (const Access& b : accesses(right))
    for (const Access& a : mine)
      if (a.buffer == b.buffer && (a.write || b.write) && (*a.bytes & *b.bytes).any()) return true;
  return false;
}

std::vector<std::vector<int>> predecessors(const Program& program, const Expectation& expected) {
  std::vector<std::vector<int>> result(program.steps.size());
  std::vector<std::vector<Access>> all(program.steps.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i)
    if (expected.tasks[i].submitted) all[i] = accesses(program.steps[i]);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (!expected.tasks[i].submitted) continue;
    std::vector<bool> before(i, false);
    for (const int earlier : step.after)
      before[static_cast<std::size_t>(earlier)] = expected.tasks[static_cast<std::size_t>(earlier)].submitted;
    for (std::size_t j = 0; j < i; ++j) {
      for (const Access& b : all[i])
        for (const Access& a : all[j])
          if (a.buffer == b.buffer && (a.write || b.write) && (*a.bytes & *b.bytes).any()) before[j] = true;
      if (before[j]) result[i].push_back(static_cast<int>(j));
    }
  }
  return result;
}

namespace {

// The inference table as semantics define it: accesses in order, those dropped that a later write covers.
class Ledger {
 public:
  explicit Ledger(bool supersedes) : supersedes_(supersedes) {}
  // Distinct producers of a step; then the step's own accesses go in.
  std::size_t enter(const Program& program, const Expectation& expected, int number) {
    const Step& step = program.steps[static_cast<std::size_t>(number)];
    std::set<int> producers;
    for (const int earlier : step.after)
      if (expected.tasks[static_cast<std::size_t>(earlier)].submitted) producers.insert(earlier);
    const auto own = [&](int buffer) {
      if (buffer >= 0 && program.buffers[static_cast<std::size_t>(buffer)].owner >= 0)
        producers.insert(program.buffers[static_cast<std::size_t>(buffer)].owner);
    };
    for (const Arg& arg : step.args)
      if (arg.kind != Kind::fresh) own(arg.buffer);
    if (step.predicate) own(step.predicate->buffer);
    if (!step.manual) infer(step, number, producers);
    return producers.size();
  }

 private:
  struct Entry {
    Access access;
    int task;
  };
  void infer(const Step& step, int number, std::set<int>& producers) {
    std::vector<Access> all;
    for (const Access& access : accesses(step)) {
      // What a task allocates is ordered by its owner, which is always an edge: it stands in no table.
      const bool fresh = std::any_of(step.args.begin(), step.args.end(), [&](const Arg& arg) {
        return arg.kind == Kind::fresh && &arg.bytes == access.bytes;
      });
      if (!fresh) all.push_back(access);
    }
    for (const Access& access : all)
      for (const Entry& entry : entries_)
        if (entry.access.buffer == access.buffer && (entry.access.write || access.write) &&
            (*entry.access.bytes & *access.bytes).any())
          producers.insert(entry.task);
    for (const Access& access : all) {
      if (access.write && supersedes_)
        std::erase_if(entries_, [&](const Entry& entry) {
          return entry.access.buffer == access.buffer && (*entry.access.bytes & ~*access.bytes).none();
        });
      entries_.push_back({access, number});
    }
  }
  bool supersedes_;
  std::vector<Entry> entries_;
};

}  // namespace

std::uint64_t edges_of(const Program& program, const Expectation& expected, bool supersedes) {
  Ledger ledger(supersedes);
  std::uint64_t edges = 0;
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i)
    if (program.steps[static_cast<std::size_t>(i)].what == What::task &&
        expected.tasks[static_cast<std::size_t>(i)].submitted)
      edges += ledger.enter(program, expected, i);
  return edges;
}

void Need::include(const Need& other) {
  task_window = std::max(task_window, other.task_window);
  heap_bytes = std::max(heap_bytes, other.heap_bytes);
  dep_pool = std::max(dep_pool, other.dep_pool);
  region_entries = std::max(region_entries, other.region_entries);
}

Need need(const Program& program, const Expectation& expected) {
  struct Totals {
    std::uint64_t tasks = 0, heap = 0, edges = 0;
  };
  struct Frame {
    std::size_t ring = 0;
    bool used = false;
    Totals before;  // of its ring, when its first task came
  };
  // Every task takes memory for a closure that does not fit into its slot and for its predicate: never more than this.
  constexpr std::uint64_t aside = 1024;
  Need result;
  Ledger ledger(false);
  Totals rings[4];
  std::vector<Frame> frames{{}};
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    const Step& step = program.steps[static_cast<std::size_t>(i)];
    if (step.what == What::open) frames.push_back({std::min<std::size_t>(frames.size(), 3), false, {}});
    if (step.what == What::close) frames.pop_back();
    if (step.what != What::task || !expected.tasks[static_cast<std::size_t>(i)].submitted) continue;
    const std::uint64_t edges = ledger.enter(program, expected, i);
    std::uint64_t heap = is_dummy(step.list) ? 0 : aside;
    std::uint32_t table = step.predicate ? 1 : 0;
    for (const Arg& arg : step.args) {
      if (arg.kind == Kind::fresh || arg.kind == Kind::scratch)
        heap += 1024;
      else if (arg.kind != Kind::no_dep)
        ++table;
    }
    Frame& frame = frames.back();
    Totals& ring = rings[frame.ring];
    if (!frame.used) frame = {frame.ring, true, ring};
    const auto holder = std::find_if(frames.begin(), frames.end(),
                                     [&](const Frame& each) { return each.used && each.ring == frame.ring; });
    ring.tasks += 1;
    ring.heap += heap;
    ring.edges += edges;
    result.include({static_cast<std::uint32_t>(ring.tasks - holder->before.tasks), ring.heap - holder->before.heap,
                    static_cast<std::uint32_t>(ring.edges - holder->before.edges), table});
  }
  return result;
}

}  // namespace heddle::random_graph
