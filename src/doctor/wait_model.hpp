// SPDX-License-Identifier: Apache-2.0
//
// A snapshot as a graph of waits, and what each of its nodes stands for. Where the snapshot does not say, a node is
// open: nothing is taken to be stuck that could go on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "doctor/situation.hpp"
#include "doctor/wait_graph.hpp"

namespace heddle::doctor {

struct WaitNode {
  // program: a rank's program goes on. start: a task's next block begins. end: a task completes. block: it ends.
  // some: any part of a task goes on to what it would notify. cell: its value changes. room, cluster: a core for a
  // block. core: it takes up other work. sibling: another half of a mixed block.
  enum class Kind : std::uint8_t {
    program,
    start,
    end,
    block,
    some,
    cell,
    room,
    cluster,
    core,
    flag
  } kind = Kind::program;
  std::uint32_t index = 0;  // in the snapshot's list of ranks, tasks, blocks, cores or cells
  int rank = -1;
};

struct WaitModel {
  explicit WaitModel(const Situation& of) : situation(of) {}

  const Situation& situation;
  WaitGraph graph;                                              // the tags of its edges are EdgeKind
  std::vector<WaitNode> nodes;                                  // of the graph's nodes
  std::vector<std::uint32_t> program, start, end, block, core;  // nodes of the lists' entries; WaitGraph::none
  std::vector<snapshot::Wait> flags;                            // that the flag nodes are of
  // Cells that somebody waits for, by name: some are in no list.
  std::map<std::tuple<int, std::string, std::int64_t>, WaitGraph::Node> cells;
  std::vector<const snapshot::Wait*> cell_of;  // by index of a cell node: a wait for it
  bool guesses = false;                        // who changes some cell is not known
};

WaitModel model_of(const Situation& situation);

}  // namespace heddle::doctor
