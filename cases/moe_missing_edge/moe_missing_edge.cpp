// SPDX-License-Identifier: Apache-2.0
//
// Expert parallelism in stages. In each, `dispatch_meta` tells every peer its counts and waits in its kernel for all of
// theirs, the experts work, `combine_notify` tells every peer that they are done, and the deferred `combine_wait` waits
// for all peers. A stage follows the one before it channel by channel: dispatch_meta after dispatch_meta,
// combine_notify after combine_notify. What the next dispatch_meta gets is what was combined, so it comes after
// combine_wait, too; but combine_wait says that the peers are done, not that this rank is.
//
// A rank that has more tokens than its peers so begins the next dispatch_meta before its own experts have finished.
// That holds the cores, and no peer gets there before this rank's combine_notify, which has none to run on.
#include <algorithm>
#include <heddle/heddle.hpp>
#include <vector>

namespace {

using namespace heddle;

struct MoeMissingEdge {
  bool repaired = false;
  int stages = 5, tokens = 48, meta_blocks = 2, first_dispatch = 1, tasks = 1000;

  void parameters(ParameterList& list) {
    list.add("repaired", repaired, "dispatch_meta comes after the combine_notify of the stage before");
    list.add("stages", stages, "stages", 1, 1000);
    list.add("tokens", tokens, "tokens of the busiest rank of a stage; 1 us each", 0, 1e6);
    list.add("meta_blocks", meta_blocks, "blocks of dispatch_meta, each of which waits on a vector core", 1, 1000);
    list.add("first_dispatch", first_dispatch, "1: the first stage has a dispatch_meta; 0: its counts are known", 0, 1);
    list.add("tasks", tasks, "tasks of each rank; what comes after them is left out", 1, 1e6);
  }
  static Defaults defaults() { return {.ranks = 4, .rounds = 1}; }

  static void plan(Plan& plan) {
    plan.window("dispatched", static_cast<std::uint64_t>(plan.ranks()) * sizeof(std::int32_t));
    plan.window("combined", sizeof(std::int32_t));
  }

  void rank(Orchestrator& graph, const Io&) const {
    const Group peers = graph.group(graph.ranks());
    const auto dispatched = graph.window("dispatched").signals<std::int32_t>();
    const auto combined = graph.window("combined").signals<std::int32_t>();
    std::vector<TaskHandle> last_dispatch, last_combine, last_wait;
    int left = tasks;

    for (int stage = 0; stage < stages; ++stage) {
      const auto epoch = static_cast<std::int32_t>(graph.round() * stages + stage + 1);
      if (stage > 0 || first_dispatch != 0) {
        if (left-- == 0) return;
        std::vector<TaskHandle> before = last_dispatch;
        before.insert(before.end(), last_wait.begin(), last_wait.end());
        if (repaired) before.insert(before.end(), last_combine.begin(), last_combine.end());
        last_dispatch = {graph.spmd(
            "dispatch_meta", vector_core, meta_blocks,
            [=](Block& block) {
              for (Peer peer : peers.others())
                if (block.index() == 0) block.notify(dispatched.at(peer)[peers.mine()], epoch, Notify::set);
              for (Peer peer : peers.others()) block.wait(dispatched.mine()[peer], Compare::ge, epoch);
            },
            after(before))};
      }

      if (left-- == 0) return;
      const auto experts = graph.submit(
          "experts", cube_core, [nanoseconds = nanoseconds(peers, stage)](Block& block) { block.spend(nanoseconds); },
          after(last_dispatch));

      if (left-- == 0) return;
      last_combine = {graph.submit(
          "combine_notify", vector_core,
          [=](Block& block) {
            for (Peer peer : peers.others()) block.notify(combined.at(peer)[0], 1, Notify::add);
          },
          after(experts), after(last_combine))};

      if (left-- == 0) return;
      last_wait = {graph.dummy("combine_wait", completes_when(combined.mine()[0], Compare::ge, epoch * others(peers)),
                               after(last_dispatch))};
    }
  }

 private:
  static int others(const Group& peers) { return peers.size() - 1; }
  // One rank of each stage has all of its tokens, the others have a third.
  std::uint64_t nanoseconds(const Group& peers, int stage) const {
    const bool is_busiest = stage % peers.size() == peers.mine().index;
    return static_cast<std::uint64_t>(is_busiest ? tokens : tokens / 3) * 1'000;
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<MoeMissingEdge>(
    "moe_missing_edge", "case: a wait that holds its core begins before the notify that its peers wait for"));
