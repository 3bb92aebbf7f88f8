// SPDX-License-Identifier: Apache-2.0
// Heddle as every benchmark uses it: one rank, the harness's threads, defaults otherwise.
#pragma once

#include <heddle/heddle.hpp>
#include <utility>

#include "common/harness.hpp"

namespace heddle::bench {

inline heddle::Device& device() {
  static heddle::Device opened = heddle::Device::open("host", {.ranks = 1, .threads = thread_count});
  return opened;
}

template <class Program>
heddle::Session open_session(Program program, const heddle::SessionConfig& config = {}) {
  return device().prepare(std::move(program), config);
}

}  // namespace heddle::bench
