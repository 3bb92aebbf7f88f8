// SPDX-License-Identifier: Apache-2.0
//
// How a process that runs a program is asked where everything stands, and how it answers: by SIGUSR1. One that carries
// a number comes from `heddle snapshot`, which waits for the file of that number.
#pragma once

#include <functional>
#include <string>

#include "snapshot/snapshot.hpp"

namespace heddle::cli {

/// The file with which process `pid` answers request `number`.
std::string answer_path(int pid, int number);

/// Takes a snapshot and writes it: as the answer to a request, or for 0 in the current folder, which the standard error
/// then says. What keeps it from being written is told there as well.
void answer(int number, const std::string& program, const std::function<snapshot::Snapshot()>& take);

}  // namespace heddle::cli
