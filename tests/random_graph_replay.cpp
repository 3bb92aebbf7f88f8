// SPDX-License-Identifier: Apache-2.0
#include "tests/random_graph_replay.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <utility>

namespace heddle::random_graph {

namespace {

struct Kernel {
  Replay* replay;
  int number;
  template <class... V>
  void operator()(Block& block, const V&... view) const {
    const Erased views[sizeof...(V) + 1] = {erase(view)..., {}};
    replay->run_block(number, block, views);
  }
  template <class T, int N>
  static Erased erase(const View<T, N>& view) {
    const auto& s = view.strided();
    return {reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(s.data)), sizeof(T), N, s.shape.data(),
            s.stride.data()};
  }
};

constexpr std::size_t signatures = lists.size() * static_cast<std::size_t>(variants) * 2;
std::size_t signature_of(const Step& step) {
  return (static_cast<std::size_t>(step.list) * static_cast<std::size_t>(variants) +
          static_cast<std::size_t>(step.variant)) *
             2 +
         (step.predicate ? 1 : 0);
}

using Submitter = void (Replay::*)(Orchestrator&, int);
template <std::size_t S>
constexpr Submitter submitter() {
  constexpr int list = static_cast<int>(S / 2) / variants;
  constexpr bool exists =
      (S % 2 == 0 || may_have_predicate(list)) && (!is_dummy(list) || static_cast<int>(S / 2) % variants == 0);
  if constexpr (exists)
    return &Replay::submit_as<S>;
  else
    return nullptr;
}
template <std::size_t... S>
constexpr std::array<Submitter, sizeof...(S)> submitters(std::index_sequence<S...>) {
  return {submitter<S>()...};
}

}  // namespace

Replay::Replay(const Program& program, const Expectation& expected, bool inferred)
    : program_(program),
      expected_(expected),
      inferred_(inferred),
      memory_(initial_memory(program)),
      handles_(program.steps.size()),
      salts_(program.steps.size()) {
  std::size_t blocks = 0;
  for (const Step& step : program.steps) {
    first_block_.push_back(blocks);
    blocks += static_cast<std::size_t>(step.blocks);
  }
  blocks_ = std::make_unique<BlockLog[]>(blocks);
  for (auto& buffer : memory_) data_.push_back(reinterpret_cast<std::byte*>(buffer.data()));
  owners_.resize(program.buffers.size());
}

template <class T, int N>
Tensor<T, N> Replay::tensor(const Arg& arg) const {
  const auto which = static_cast<std::size_t>(arg.buffer);
  heddle::detail::Strided<T, N> strided;
  strided.data = reinterpret_cast<T*>(data_[which] + arg.layout.offset);
  std::copy_n(arg.layout.shape.begin(), N, strided.shape.begin());
  std::copy_n(arg.layout.stride.begin(), N, strided.stride.begin());
  return {strided, owners_[which]};
}

template <class T>
Tensor<T, 1> Replay::element(int buffer, std::int64_t offset) const {
  const auto which = static_cast<std::size_t>(buffer);
  return {heddle::detail::Strided<T, 1>::dense(reinterpret_cast<T*>(data_[which] + offset), {1}), owners_[which]};
}

template <int list, int variant, int arg>
auto Replay::argument(const Step& step) const {
  using T = std::tuple_element_t<static_cast<std::size_t>(type_of(list, variant, arg)), Types>;
  constexpr int N = rank_of(list, variant, arg);
  constexpr Kind kind = static_cast<Kind>(lists[static_cast<std::size_t>(list)][static_cast<std::size_t>(arg)]);
  const Arg& described = step.args[static_cast<std::size_t>(arg)];
  const auto& shape = described.layout.shape;
  if constexpr (kind == Kind::in)
    return in(Tensor<const T, N>(tensor<T, N>(described)));
  else if constexpr (kind == Kind::out)
    return out(tensor<T, N>(described));
  else if constexpr (kind == Kind::inout)
    return inout(tensor<T, N>(described));
  else if constexpr (kind == Kind::no_dep)
    return no_dep(tensor<T, N>(described));
  else if constexpr (kind == Kind::scratch)
    return [&]<std::size_t... D>(std::index_sequence<D...>) {
      return scratch<T>(shape[D]...);
    }(std::make_index_sequence<static_cast<std::size_t>(N)>());
  else
    return [&]<std::size_t... D>(std::index_sequence<D...>) {
      return new_tensor<T>(shape[D]...);
    }(std::make_index_sequence<static_cast<std::size_t>(N)>());
}

heddle::detail::WhenArg Replay::predicate(const Predicate& p) const {
  switch (p.type) {
    case 0:
      return when(element<std::uint8_t>(p.buffer, p.offset), p.compare, static_cast<std::uint8_t>(p.value));
    case 1:
      return when(element<std::int16_t>(p.buffer, p.offset), p.compare, static_cast<std::int16_t>(p.value));
    case 2:
      return when(element<std::uint32_t>(p.buffer, p.offset), p.compare, static_cast<std::uint32_t>(p.value));
    case 3:
      return when(element<float>(p.buffer, p.offset), p.compare, static_cast<float>(p.value));
    case 4:
      return when(element<double>(p.buffer, p.offset), p.compare, p.value);
    default:
      return when(element<std::uint64_t>(p.buffer, p.offset), p.compare, static_cast<std::uint64_t>(p.value));
  }
}

bool is_mixed(const Step& step) { return step.salt % 8 < 2; }

Cores cores_of(const Step& step) {
  switch (step.salt % 8) {
    case 0:
      return mixed_pair;
    case 1:
      return mixed_cores;
    default:
      return step.salt % 2 == 0 ? vector_core : cube_core;
  }
}

template <std::size_t S>
void Replay::submit_as(Orchestrator& graph, int number) {
  constexpr int variant = static_cast<int>(S / 2) % variants, list = static_cast<int>(S / 2) / variants;
  const Step& step = program_.steps[static_cast<std::size_t>(number)];
  const auto named = after(std::span<const TaskHandle>(after_));
  [&]<std::size_t... A>(std::index_sequence<A...>) {
    if constexpr (is_dummy(list))
      keep(number, graph.dummy("dummy", argument<list, variant, static_cast<int>(A)>(step)..., named));
    else if constexpr (S % 2 == 1)
      keep(number,
           graph.spmd("predicated", cores_of(step), step.blocks, Kernel{this, number},
                      argument<list, variant, static_cast<int>(A)>(step)..., named, predicate(*step.predicate)));
    else
      keep(number, graph.spmd("task", cores_of(step), step.blocks, Kernel{this, number},
                              argument<list, variant, static_cast<int>(A)>(step)..., named, allow_early()));
  }(std::make_index_sequence<lists[static_cast<std::size_t>(list)].size()>());
}

template <class Handle>
void Replay::keep(int number, const Handle& handle) {
  handles_[static_cast<std::size_t>(number)] = handle;
  std::apply(
      [&](const auto&... output) {
        [[maybe_unused]] std::size_t at = 0;
        [[maybe_unused]] const auto& args = program_.steps[static_cast<std::size_t>(number)].args;
        [[maybe_unused]] const auto one = [&](const auto& allocated) {
          while (args[at].kind != Kind::fresh) ++at;
          const auto which = static_cast<std::size_t>(args[at++].buffer);
          data_[which] = reinterpret_cast<std::byte*>(allocated.strided().data);
          owners_[which] = allocated.owner();
          if (reinterpret_cast<std::uintptr_t>(data_[which]) % 1024 != 0)
            complaint_ = "an output is not aligned to 1024 bytes";
        };
        (one(output), ...);
      },
      handle.outputs);
}

void Replay::scalar(Orchestrator& graph, int number) {
  const auto i = static_cast<std::size_t>(number);
  const Step& step = program_.steps[i];
  const auto access = [&]<class T>(T) {
    const auto where = element<T>(step.args[0].buffer, step.args[0].layout.offset);
    T value{};
    if (step.what == What::write) {
      std::memcpy(&value, &step.salt, sizeof value);
      graph.write(where, value);
      return;
    }
    value = graph.read(where);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    influence_ = mixed(influence_, bits);
    if (complaint_.empty() && bits != expected_.tasks[i].digests[0] && !graph.stopped())
      complaint_ = "step " + std::to_string(number) + ": the orchestrator read " + std::to_string(bits) +
                   " instead of " + std::to_string(expected_.tasks[i].digests[0]);
  };
  switch (step.args[0].layout.type) {
    case 0:
      access(std::uint8_t{});
      break;
    case 1:
      access(std::int16_t{});
      break;
    case 2:
      access(std::uint32_t{});
      break;
    case 3:
      access(float{});
      break;
    case 4:
      access(double{});
      break;
    default:
      access(std::uint64_t{});
      break;
  }
}

// Tasks that run no kernel may end unseen.
bool Replay::all_ran() const {
  for (std::size_t i = 0; i < program_.steps.size(); ++i)
    if (program_.steps[i].what == What::task && expected_.tasks[i].submitted && !expected_.tasks[i].ran) return false;
  return true;
}

void Replay::submit_all(Orchestrator& graph, const Io& io) {
  static constexpr auto table = submitters(std::make_index_sequence<signatures>());
  data_[1] = reinterpret_cast<std::byte*>(io.output<std::uint64_t>("declared").strided().data);
  std::vector<Scope> scopes;
  if (!inferred_) scopes.push_back(graph.scope(ScopeMode::manual));
  for (int number = 0; number < static_cast<int>(program_.steps.size()); ++number) {
    const Step& step = program_.steps[static_cast<std::size_t>(number)];
    if (step.what == What::open)
      scopes.push_back(graph.scope(step.manual || !inferred_ ? ScopeMode::manual : ScopeMode::automatic));
    if (step.what == What::close) scopes.pop_back();
    if (step.what == What::read || step.what == What::write) scalar(graph, number);
    if (step.what != What::task || skipped(step, influence_)) continue;
    after_.clear();
    for (const int earlier : step.after)
      if (inferred_ && handles_[static_cast<std::size_t>(earlier)].task != 0)
        after_.push_back(handles_[static_cast<std::size_t>(earlier)]);
    salts_[static_cast<std::size_t>(number)] = mixed(step.salt, influence_);
    (this->*table[signature_of(step)])(graph, number);
  }
  edges_exact_ = clock_.load(std::memory_order_relaxed) == 0 && all_ran();
  while (!scopes.empty()) scopes.pop_back();
}

void Replay::run_block(int number, Block& block, const Erased* views) {
  const auto i = static_cast<std::size_t>(number);
  if (is_mixed(program_.steps[i]) && block.core() != Core::cube) return;  // one half does the work of the block
  BlockLog& log = blocks_[first_block_[i] + static_cast<std::size_t>(block.index())];
  // relaxed: the clock must order nothing itself, or it would hide an order that the runtime forgot. Increments of one
  // cell follow any order that there is.
  const std::uint32_t now = clock_.fetch_add(1, std::memory_order_relaxed);
  if (log.runs.fetch_add(1, std::memory_order_relaxed) != 0) return;
  log.begun = now;
  if ((salts_[i] >> 20U) % 16 == 0) std::this_thread::yield();
  block.spend(salts_[i] % 3'000);
  log.digest = run_kernel(program_.steps[i], salts_[i], block.index(), views);
  log.ended = clock_.fetch_add(1, std::memory_order_relaxed);
}

// A block of a mixed task counts once for each of its cores.
std::uint64_t Replay::kernel_calls() const {
  std::uint64_t calls = expected_.blocks_run;
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    const Step& step = program_.steps[i];
    if (step.what == What::task && expected_.tasks[i].ran && !is_dummy(step.list))
      calls += static_cast<std::uint64_t>(step.blocks) * static_cast<std::uint64_t>(cores_of(step).count() - 1);
  }
  return calls;
}

std::string Replay::check_blocks() const {
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    const Step& step = program_.steps[i];
    if (step.what != What::task) continue;
    const auto& task = expected_.tasks[i];
    for (int b = 0; b < step.blocks; ++b) {
      const BlockLog& log = blocks_[first_block_[i] + static_cast<std::size_t>(b)];
      const std::uint32_t runs = log.runs.load(std::memory_order_relaxed), want = task.ran ? 1 : 0;
      const std::string which = "step " + std::to_string(i) + " block " + std::to_string(b) + ": ";
      if (runs != want) return which + "ran " + std::to_string(runs) + " times instead of " + std::to_string(want);
      if (want == 1 && log.digest != task.digests[static_cast<std::size_t>(b)])
        return which + "read other values than the interpreter";
    }
  }
  return {};
}

// A task without a kernel ends when all that it comes after have ended.
std::string Replay::check_order() const {
  const auto before = predecessors(program_, expected_);
  std::vector<std::uint32_t> ended(program_.steps.size(), 0);
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    for (const int earlier : before[i]) {
      const std::uint32_t end = ended[static_cast<std::size_t>(earlier)];
      ended[i] = std::max(ended[i], end);
      for (int b = 0; expected_.tasks[i].ran && b < program_.steps[i].blocks; ++b)
        if (blocks_[first_block_[i] + static_cast<std::size_t>(b)].begun < end)
          return "step " + std::to_string(i) + " block " + std::to_string(b) + " began before step " +
                 std::to_string(earlier) + " had ended";
    }
    for (int b = 0; expected_.tasks[i].ran && b < program_.steps[i].blocks; ++b)
      ended[i] = std::max(ended[i], blocks_[first_block_[i] + static_cast<std::size_t>(b)].ended);
  }
  return {};
}

std::string Replay::difference(const RoundStatistics& statistics, std::span<const std::uint64_t> declared) {
  if (!complaint_.empty()) return complaint_;
  if (auto text = check_order(); !text.empty()) return text;
  if (auto text = check_blocks(); !text.empty()) return text;
  std::copy(declared.begin(), declared.end(), memory_[1].begin());
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    if (program_.buffers[i].owner >= 0) continue;
    for (std::size_t w = 0; w < memory_[i].size(); ++w)
      if (memory_[i][w] != expected_.memory[i][w])
        return "buffer " + std::to_string(i) + " differs at byte " + std::to_string(w * 8);
  }
  if (statistics.tasks != expected_.tasks_submitted)
    return std::to_string(statistics.tasks) + " tasks counted instead of " + std::to_string(expected_.tasks_submitted);
  if (const std::uint64_t expected = kernel_calls(); statistics.blocks != expected)
    return std::to_string(statistics.blocks) + " blocks counted instead of " + std::to_string(expected);
  const std::uint64_t least = edges_of(program_, expected_, true), most = edges_of(program_, expected_, false);
  if ((inferred_ && edges_exact_ && statistics.edges < least) || statistics.edges > most)
    return std::to_string(statistics.edges) + " edges counted; expected are " + std::to_string(least) + " to " +
           std::to_string(most);
  superfluous_ = edges_exact_ ? statistics.edges - least : 0;
  return {};
}

}  // namespace heddle::random_graph
