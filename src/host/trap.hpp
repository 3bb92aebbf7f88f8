// SPDX-License-Identifier: Apache-2.0
//
// Where every worker of a session stands, when one of them has not moved for too long: which task and block, and the
// line of the source. Any thread may look.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/running_block.hpp"
#include "host/source_lines.hpp"

namespace heddle::host {

class Trap {
 public:
  Trap(HostEngine& engine, HostPool& pool) : engine_(engine), pool_(pool) {}

  // By the number of the worker.
  std::vector<WorkerRecord> look();

 private:
  struct Running {
    RunningBlock block;
    int program = -1;   // the rank whose program it is
    bool busy = false;  // with a kernel or program of whichever session
    friend bool operator==(const Running&, const Running&) = default;
  };

  Running running_on(std::uint32_t worker) const;
  bool identify(const Running& running, std::uint32_t worker, WorkerRecord& record) const;
  std::vector<bool> identify(const std::vector<std::uint32_t>& workers, const std::vector<Running>& running,
                             std::vector<WorkerRecord>& records) const;
  void locate(const std::vector<SourceFrame>& frames, WorkerRecord& record);
  Location place(const SourceFrame& frame, const Location& submitted);

  HostEngine& engine_;
  HostPool& pool_;
  std::set<std::string> files_;  // that records name, until an error keeps them
};

// ", and stands in spin at stuck.cpp:14"; empty when that is not known.
std::string stands_text(const WorkerRecord& record);

}  // namespace heddle::host
