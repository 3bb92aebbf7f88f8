// SPDX-License-Identifier: Apache-2.0
//
// A snapshot of a session on the host, while it goes on or when it has failed. Workers run on meanwhile: what they move
// is read from what is atomic. Orchestrators stay outside of their gates for the look, and are not stopped by it unless
// they submit. So what a rank has submitted is of one instant, and what its blocks do is of the same few milliseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/host_pool.hpp"
#include "snapshot/snapshot.hpp"

namespace heddle::host {

// From any thread, as long as no round starts and none is judged. Times are told from `began` on.
snapshot::Snapshot take_snapshot(HostEngine& engine, snapshot::Taken when, std::uint64_t began);

// Where the workers stand, by their number, looked up at about the same time: lines of blocks and of programs.
void add_workers(snapshot::Snapshot& snapshot, const std::vector<WorkerRecord>& workers);

// Throws heddle::Error when it cannot be written whole; then what was written of it is removed.
void write_snapshot(const std::string& path, const snapshot::Snapshot& snapshot);

}  // namespace heddle::host
