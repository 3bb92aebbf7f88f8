// SPDX-License-Identifier: Apache-2.0
//
// The cube half of a kernel hands over each tile by a flag, whether it is wanted or not. The vector half leaves out the
// tiles that are masked, and with them the waits. What is left fills the flag: the next kernel on this cluster, which
// is right, finds no room in it and hangs.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

constexpr std::int64_t tile_ready = 0, scale_ready = 1;  // flags
constexpr std::int64_t vectors = 2;

struct FlagsUnbalanced {
  bool repaired = false;
  int tiles = 15;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "the vector half also waits for tiles that it leaves out");
    list.add("tiles", tiles, "tiles of a block, as many as a flag counts to", 1, 15);
  }

  void plan(Plan& plan) const {
    plan.input<std::int32_t>("wanted", {tiles});
    plan.output<std::int32_t>("sums", {vectors});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const auto sums = io.output<std::int32_t>("sums");
    graph.submit(
        "mask", mixed_cores,
        [count = tiles, balanced = repaired](Block& block, View<const std::int32_t> wanted, View<std::int32_t> out) {
          if (block.core() == Core::vector) out(block.part()) = 0;
          for (std::int64_t tile = 0; tile < count; ++tile) {
            if (block.core() == Core::cube) {
              block.flag_set(tile_ready);
            } else if (wanted(tile) != 0) {
              block.flag_wait(tile_ready);
              out(block.part()) += wanted(tile);
            } else if (balanced) {
              block.flag_wait(tile_ready);
            }
          }
        },
        in(io.input<std::int32_t>("wanted")), out(sums));
    graph.submit(
        "softmax", mixed_cores,
        [](Block& block, View<std::int32_t> out) {
          if (block.core() == Core::cube) {
            block.flag_set(tile_ready);
            block.flag_set(scale_ready);
          } else {
            block.flag_wait(scale_ready);
            block.flag_wait(tile_ready);
            out(block.part()) += 1;
          }
        },
        inout(sums));
  }

  // A round whose tiles are all masked.
  static void fill(HostIo& io) {
    for (std::int32_t& each : io.input<std::int32_t>("wanted")) each = 0;
  }
  static void check(const HostIo& io) {
    for (const std::int32_t sum : io.tensor<std::int32_t>("sums")) io.expect(sum == 1, "a vector half has not run");
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<FlagsUnbalanced>("flags_unbalanced",
                                             "case: a branch leaves a flag unbalanced, and the next kernel hangs"));
