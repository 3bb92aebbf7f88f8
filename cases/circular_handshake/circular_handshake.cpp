// SPDX-License-Identifier: Apache-2.0
//
// Four ranks in a ring open a channel to each neighbour: 0-1, 1-2, 2-3, 3-0. An end says that it is there, and waits
// for the other end. Every rank begins with the channel to its right-hand neighbour, which is busy with its own.
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

constexpr int ring = 4;

struct CircularHandshake {
  bool repaired = false;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "odd ranks begin with the channel to their left-hand neighbour");
  }
  static Defaults defaults() { return {.ranks = ring, .rounds = 1, .group = ring}; }

  // A cell for each channel: channel c is between member c and the next one.
  static void plan(Plan& plan) { plan.window("opened", ring * sizeof(std::int32_t)); }

  void rank(Orchestrator& graph, const Io&) const {
    const Group group = graph.group(ring);
    const auto opened = graph.window("opened").signals<std::int32_t>();
    const int mine = group.mine().index, left = (mine + ring - 1) % ring, right = (mine + 1) % ring;
    const auto epoch = static_cast<std::int32_t>(graph.round() + 1);
    const auto handshake = [=](Peer peer, int channel) {
      return [=](Block& block) {
        block.notify(opened.at(peer)[channel], epoch, Notify::set);
        block.wait(opened.mine()[channel], Compare::ge, epoch);
      };
    };
    if (repaired && mine % 2 != 0) {
      const auto first = graph.submit("open_left", vector_core, handshake(group[left], left));
      graph.submit("open_right", vector_core, handshake(group[right], mine), after(first));
    } else {
      const auto first = graph.submit("open_right", vector_core, handshake(group[right], mine));
      graph.submit("open_left", vector_core, handshake(group[left], left), after(first));
    }
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<CircularHandshake>("circular_handshake",
                                               "case: four ranks open their channels in a circle"));
