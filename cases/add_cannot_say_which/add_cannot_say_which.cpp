// SPDX-License-Identifier: Apache-2.0
//
// Chunks go to a peer, each from a block of its own, and each is announced by an add of 1 to the same cell. Who reads
// chunk 0 waits until the cell is 1: that says that a chunk has come, and not which.
#include <algorithm>
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

constexpr std::int64_t width = 64;

struct AddCannotSayWhich {
  bool repaired = false;
  int chunks = 2;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "each chunk has a cell of its own");
    list.add("chunks", chunks, "chunks that are sent", 2, 64);
  }
  static Defaults defaults() { return {.ranks = 2, .rounds = 1, .group = 2}; }

  void plan(Plan& plan) const {
    plan.window("inbox", static_cast<std::uint64_t>(chunks * width) * sizeof(std::int32_t));
    plan.window("arrived", static_cast<std::uint64_t>(chunks) * sizeof(std::int32_t));
    plan.input<std::int32_t>("data", {chunks, width});
    plan.output<std::int32_t>("first", {width});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const Group pair = graph.group(2);
    const int peer = pair[1 - pair.mine().index].rank;
    const auto inbox = graph.window("inbox").tensor<std::int32_t>(chunks, width);
    const auto arrived = graph.window("arrived").signals<std::int32_t>();
    graph.spmd(
        "send", vector_core, chunks,
        [=, own_cells = repaired](Block& block, View<const std::int32_t, 2> data) {
          const std::int64_t chunk = block.index();
          block.put(inbox.at(peer).rows(chunk, 1), data.rows(chunk, 1));
          block.notify(arrived.at(peer)[own_cells ? chunk : 0], 1, Notify::add);
        },
        in(io.input<std::int32_t, 2>("data")));

    const auto before = static_cast<std::int32_t>(graph.round()) * (repaired ? 1 : chunks);
    const auto came = graph.dummy("chunk_0_came", completes_when(arrived.mine()[0], Compare::ge, before + 1));
    graph.submit(
        "read_chunk_0", vector_core,
        [](Block&, View<const std::int32_t, 2> chunk, View<std::int32_t> first) {
          std::copy_n(chunk.data(), width, first.data());
        },
        in(inbox.mine().rows(0, 1)), out(io.output<std::int32_t>("first")), after(came));
  }

  void fill(HostIo& io) const {
    const auto data = io.input<std::int32_t>("data");
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = value(io.rank(), io.round(), i);
  }
  static void check(const HostIo& io) {
    const auto first = io.tensor<std::int32_t>("first");
    for (std::size_t i = 0; i < first.size(); ++i)
      io.expect(first[i] == value(io.rank() ^ 1, io.round(), i), "chunk 0 was read before it had come");
  }

 private:
  static std::int32_t value(int rank, std::int64_t round, std::size_t i) {
    return static_cast<std::int32_t>((rank + 1) * 100'000 + round * 1'000 + static_cast<std::int64_t>(i));
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<AddCannotSayWhich>("add_cannot_say_which",
                                               "case: one counter for several chunks cannot say which of them came"));
