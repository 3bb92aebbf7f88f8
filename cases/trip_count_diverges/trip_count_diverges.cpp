// SPDX-License-Identifier: Apache-2.0
//
// The peer sends how many tiles there are. Both halves of a kernel wait for it and read that cell for their loop's
// bound. The cube half has read the word beside it before, to be ready early, and so has the line in its cache: where
// the peer was late it reads the old number, and hands over fewer tiles than its vector half waits for.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

constexpr std::int64_t tile_ready = 0;  // flag

struct TripCountDiverges {
  bool repaired = false;
  int tiles = 6;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "the cube half invalidates its copy before it reads again");
    list.add("tiles", tiles, "tiles that the peer announces", 1, 1000);
  }
  static Defaults defaults() { return {.ranks = 2, .group = 2}; }

  static void plan(Plan& plan) {
    plan.window("header", 2 * sizeof(std::int32_t));
    plan.window("told", sizeof(std::int32_t));
    plan.output<std::int32_t>("done", {1});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const Group pair = graph.group(2);
    const int peer = pair[1 - pair.mine().index].rank;
    const auto header = graph.window("header").tensor<std::int32_t>(2);  // the number of tiles, and their scale
    const auto told = graph.window("told").signals<std::int32_t>();
    const auto epoch = static_cast<std::int32_t>(graph.round() + 1);
    graph.submit(
        "announce", vector_core,
        [=, count = tiles](Block& block, View<std::int32_t> number) {
          number(0) = count;
          block.put(header.at(peer).rows(0, 1), number);
          block.notify(told.at(peer)[0], epoch, Notify::set);
        },
        scratch<std::int32_t>(1));
    graph.submit(
        "stream", mixed_pair,
        [=, fresh = repaired](Block& block, View<std::int32_t> mine, View<std::int32_t> done) {
          const bool on_cube = block.core() == Core::cube;
          if (on_cube) (void)block.read(mine, 1);
          block.wait(told.mine()[0], Compare::ge, epoch);
          if (fresh || !on_cube) block.invalidate(mine);
          const std::int32_t count = block.read(mine, 0);
          for (std::int32_t tile = 0; tile < count; ++tile)
            on_cube ? block.flag_set(tile_ready) : block.flag_wait(tile_ready);
          if (!on_cube) done(0) = count;
        },
        no_dep(header.mine()), out(io.output<std::int32_t>("done")));
  }

  void check(const HostIo& io) const {
    io.expect(io.tensor<std::int32_t>("done")[0] == tiles, "not every tile was taken");
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<TripCountDiverges>("trip_count_diverges",
                                               "case: the halves of a kernel loop to different bounds"));
