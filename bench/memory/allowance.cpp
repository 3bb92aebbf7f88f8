// SPDX-License-Identifier: Apache-2.0
// What heddle.cpp beside this may use: 64 KiB a worker and 32 KiB for each of its waiting blocks. Bytes stand in place
// of ns.
#include "common/harness.hpp"

int main(int argc, char** argv) {
  using namespace heddle::bench;
  return run_main(argc, argv, [](const Options&) {
    constexpr std::int64_t waiting_blocks = 4'096 + 1;
    print(Report{"memory", "allowance", 1, {thread_count * (64LL << 10U) + waiting_blocks * (32LL << 10U)}});
  });
}
