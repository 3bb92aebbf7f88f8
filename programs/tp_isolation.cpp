// SPDX-License-Identifier: Apache-2.0
//
// Communication between the ranks of a tensor-parallel group, isolated from any model. In every round each rank
//   1. pushes its input into the inbox of all members of its group, and tells them with one signal per block,
//   2. waits for theirs, gathers its inbox into the output,
//   3. tells the others that it is done, waits until they are, and clears the counters for the next round.
// The variants differ in how the counters are updated (adds to one cell, or one cell for each writer) and laid out
// (adjacent, or 128 bytes apart), and in whether there is any payload. In odd rounds one rank of each group is late.
//
// `split_phase` is the control: one graph only notifies, the next one only reads and clears, and no block ever waits.
#include "kernels.hpp"
#include "pattern.hpp"

namespace {

using namespace heddle;
using namespace heddle::programs;

constexpr std::int64_t push_blocks = 8, gather_blocks = 32, notify_blocks = 24;
constexpr std::int64_t gather_columns = 4;  // the output is gathered as a grid of 8 x 4 tiles

/// Where the counters of a group are: a row for each source rank, in it one cell, or one for each block that writes.
struct Counters {
  Signals<std::int32_t> done;
  bool single_writer;
  std::int64_t slots, stride;

  std::int64_t cell(int source, std::int64_t slot) const { return (source * slots + slot) * stride; }

  /// Tells every other member that this block is done.
  void notify(Block& block, const Group& group) const {
    const int mine = group.mine().index;
    for (Peer peer : group.others()) {
      if (single_writer)
        block.notify(done.at(peer)[cell(mine, block.index())], 1, Notify::set);
      else
        block.notify(done.at(peer)[cell(mine, 0)], 1, Notify::add);
    }
  }
  /// Waits until `blocks` blocks of every other member are done.
  void wait(Block& block, const Group& group, std::int64_t blocks) const {
    for (Peer peer : group.others()) {
      if (!single_writer) {
        block.wait(done.mine()[cell(peer.index, 0)], Compare::ge, static_cast<std::int32_t>(blocks));
        continue;
      }
      for (std::int64_t slot = 0; slot < blocks; ++slot)
        block.wait(done.mine()[cell(peer.index, slot)], Compare::ge, 1);
    }
  }
  /// Copies my counters into one row of `counts`.
  void read(Block& block, const View<const std::int32_t>& cells, const View<std::int32_t, 2>& counts) const {
    block.invalidate(cells);
    for (std::int64_t i = 0; i < counts.shape(1); ++i) block.write(counts, block.read(cells, i * stride), 0, i);
    block.clean(counts);
  }
  void clear(Block& block, const View<std::int32_t>& cells) const {
    for (std::int64_t i = 0; i < cells.size(); i += stride) block.write(cells, 0, i);
    block.clean(cells);
  }
};

/// What keeps a late rank busy; its result is checked, so that it is not optimised away.
std::int32_t spin(std::int32_t iterations) {
  std::int64_t value = iterations;
  for (std::int64_t i = 0; i < iterations; ++i) value = (value * 17 + i) % 65521;
  return static_cast<std::int32_t>(value);
}

constexpr const char* variants[] = {"atomic_compact", "atomic_padded", "atomic_set", "payload_compact",
                                    "payload_padded", "payload_set",   "split_phase"};

struct Isolation {
  std::string variant = "payload_compact";
  int rows = 128, width = 4096, group = 4, skew_iterations = 200'000;

  void parameters(ParameterList& list) {
    list.add("variant", variant, "what is sent, and how the counters are laid out and written",
             {std::begin(variants), std::end(variants)});
    list.add("rows", rows, "rows of each rank's input", push_blocks, 4096);
    list.add("width", width, "columns of each rank's input", gather_columns, 65536);
    list.add("group", group, "ranks of a group", 1, 64);
    list.add("skew_iterations", skew_iterations, "how long the late rank is busy", 0, 1e9);
  }
  Defaults defaults() const { return {.ranks = 16, .rounds = 100, .group = group}; }
  std::vector<Variant> matrix() const {
    std::vector<Variant> matrix;
    for (const char* name : variants) matrix.push_back({name, {{"variant", name}}});
    return matrix;
  }

  bool split_phase() const { return variant == "split_phase"; }
  bool payload() const { return variant.starts_with("payload"); }
  bool single_writer() const { return variant.ends_with("set"); }
  bool padded() const { return single_writer() || variant.ends_with("padded"); }
  std::int64_t slots() const { return single_writer() ? notify_blocks : 1; }
  std::int64_t stride() const { return padded() ? 32 : 1; }  // in cells: 128 bytes
  int phases() const { return split_phase() ? 2 : 1; }

  void plan(Plan& plan) const {
    if (plan.ranks() % group != 0)
      detail::throw_invalid("group: " + std::to_string(plan.ranks()) + " ranks are not a multiple of it, " +
                            std::to_string(group));
    if (rows % push_blocks != 0)
      detail::throw_invalid("rows: must be a multiple of 8, not " + std::to_string(rows) + ": 8 blocks push them");
    if (width % gather_columns != 0)
      detail::throw_invalid("width: must be a multiple of 4, not " + std::to_string(width) + ": 4 blocks gather a row");

    const std::uint64_t counter_bytes = static_cast<std::uint64_t>(group * slots() * stride()) * sizeof(std::int32_t);
    plan.window("hidden_done", counter_bytes);
    plan.window("logits_done", counter_bytes);
    plan.output<std::int32_t>("counts", {2, group * slots()});
    if (split_phase()) return plan.input<std::int32_t>("phase", {1});

    const std::int64_t all_rows = std::int64_t{group} * rows;
    plan.window("inbox", static_cast<std::uint64_t>(all_rows * width) * sizeof(bf16));
    plan.input<bf16>("input", {rows, width});
    plan.output<bf16>("output", {all_rows, width});
    plan.input<std::int32_t>("skew", {1});
    plan.output<std::int32_t>("probe", {1});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const Group peers = graph.group(group);
    const Counters hidden{graph.window("hidden_done").signals<std::int32_t>(), single_writer(), slots(), stride()};
    const Counters logits{graph.window("logits_done").signals<std::int32_t>(), single_writer(), slots(), stride()};
    if (split_phase()) return rank_split(graph, io, peers, hidden, logits);

    const auto counts = io.output<std::int32_t, 2>("counts");
    const auto inbox = graph.window("inbox").tensor<bf16>(peers.size() * rows, width);
    const std::int64_t my_rows = std::int64_t{peers.mine().index} * rows, push_rows = rows / push_blocks;
    const std::int64_t tile_rows = std::int64_t{peers.size()} * rows / (gather_blocks / gather_columns);
    const std::int64_t tile_width = width / gather_columns;
    const bool payload = this->payload();

    const auto skew = graph.submit(
        "rank_skew", vector_core,
        [](Block& block, View<const std::int32_t> iterations, View<std::int32_t> probe) {
          const std::int32_t count = block.read(iterations, 0);
          block.write(probe, block.values() ? spin(count) : 0, 0);
          block.clean(probe);
        },
        in(io.input<std::int32_t>("skew")), out(io.output<std::int32_t>("probe")));

    const auto push = graph.spmd(
        "hidden_push", vector_core, push_blocks,
        [=](Block& block, View<const bf16, 2> input) {
          const std::int64_t row = block.index() * push_rows;
          if (payload)
            for (Peer peer : peers)
              block.put(inbox.at(peer).rows(my_rows + row, push_rows), input.rows(row, push_rows));
          hidden.notify(block, peers);
        },
        in(io.input<bf16, 2>("input")), after(skew));

    const auto arrived = graph.submit(
        "hidden_wait", vector_core,
        [=](Block& block, View<const std::int32_t> cells, View<std::int32_t, 2> seen) {
          hidden.wait(block, peers, push_blocks);
          hidden.read(block, cells, seen);
        },
        in(hidden.done.tensor()), out(counts.rows(0, 1)), after(push));

    const auto gather = graph.spmd(
        "hidden_gather", vector_core, gather_blocks,
        [=](Block& block, View<const bf16, 2> window, View<bf16, 2> output) {
          if (!block.values()) return;
          const std::int64_t row = block.index() / gather_columns * tile_rows;
          const std::int64_t column = block.index() % gather_columns * tile_width;
          const auto tile = output.view({row, column}, {tile_rows, tile_width});
          if (payload)
            copy(window.view({row, column}, {tile_rows, tile_width}), tile);
          else
            zero(tile);
        },
        in(inbox.mine()), out(io.output<bf16, 2>("output")), after(arrived, push));

    const auto notify = graph.spmd(
        "logits_notify", vector_core, notify_blocks, [=](Block& block) { logits.notify(block, peers); }, after(gather));

    const auto finish = graph.submit(
        "logits_wait", vector_core,
        [=](Block& block, View<const std::int32_t> cells, View<std::int32_t, 2> seen) {
          logits.wait(block, peers, notify_blocks);
          logits.read(block, cells, seen);
        },
        in(logits.done.tensor()), out(counts.rows(1, 1)), after(notify));

    graph.submit(
        "signal_clear", vector_core,
        [=](Block& block, View<std::int32_t> hidden_cells, View<std::int32_t> logits_cells) {
          hidden.clear(block, hidden_cells);
          logits.clear(block, logits_cells);
        },
        out(hidden.done.tensor()), out(logits.done.tensor()), after(finish));
  }

  void fill(HostIo& io) const {
    if (split_phase()) {
      io.input<std::int32_t>("phase")[0] = io.phase();
      return;
    }
    fill_periodic(io.input<bf16>("input"), pattern(io.rank(), io.round()));
    io.input<std::int32_t>("skew")[0] = skew(io);
  }

  void check(const HostIo& io) const {
    if (split_phase() && io.phase() == 0) return;  // nothing is read before the second graph
    check_counts(io);
    if (split_phase()) return;

    const auto output = io.tensor<bf16>("output");
    const std::size_t part = output.size() / static_cast<std::size_t>(group);
    for (int source = 0; source < group; ++source) {
      const std::size_t first = static_cast<std::size_t>(source) * part;
      const auto expected = payload() ? pattern(io.rank() / group * group + source, io.round()) : Period<bf16>{};
      expect_periodic(io, "output", output.subspan(first, part), expected, static_cast<std::int64_t>(first));
    }
    expect_equal(io, "probe", 0, io.tensor<std::int32_t>("probe")[0], spin(skew(io)));
  }

 private:
  static void zero(const View<bf16, 2>& tile) {
    for (std::int64_t row = 0; row < tile.shape(0); ++row)
      std::fill_n(tile.data() + row * tile.stride(0), tile.shape(1), bf16{});
  }

  static void rank_split(Orchestrator& graph, const Io& io, const Group& peers, const Counters& hidden,
                         const Counters& logits) {
    graph.spmd(
        "split_phase", vector_core, push_blocks,
        [=](Block& block, View<const std::int32_t> phase, View<std::int32_t, 2> seen, View<std::int32_t> hidden_cells,
            View<std::int32_t> logits_cells) {
          if (block.read(phase, 0) == 0) {
            hidden.notify(block, peers);
            for (int repeat = 0; repeat < notify_blocks / push_blocks; ++repeat) logits.notify(block, peers);
          } else if (block.index() == 0) {
            hidden.read(block, hidden_cells, seen.rows(0, 1));
            logits.read(block, logits_cells, seen.rows(1, 1));
            hidden.clear(block, hidden_cells);
            logits.clear(block, logits_cells);
          }
        },
        in(io.input<std::int32_t>("phase")), out(io.output<std::int32_t, 2>("counts")), inout(hidden.done.tensor()),
        inout(logits.done.tensor()));
  }

  static Period<bf16> pattern(int rank, std::int64_t round) {
    return make_period<bf16>([=](std::int64_t i) { return (i + std::int64_t{rank} * 7 + round * 13) % 127; });
  }
  std::int32_t skew(const HostIo& io) const {
    const bool late = io.round() % 2 != 0 && io.rank() % group == io.round() / 2 % group;
    return late ? skew_iterations : 0;
  }

  void check_counts(const HostIo& io) const {
    const auto counts = io.tensor<std::int32_t>("counts");
    const std::int64_t cells = group * slots();
    for (std::int64_t i = 0; i < 2 * cells; ++i) {
      const std::int64_t blocks = i < cells ? push_blocks : notify_blocks;
      const std::int64_t source = i % cells / slots(), slot = i % slots();
      std::int64_t expected = single_writer() ? (slot < blocks ? 1 : 0) : blocks;
      if (source == io.rank() % group) expected = 0;
      expect_equal(io, "counts", i, counts[static_cast<std::size_t>(i)], static_cast<std::int32_t>(expected));
    }
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<Isolation>(
    "tp_isolation", "tensor-parallel notify and wait, isolated: counters and payload, checked exactly"));
