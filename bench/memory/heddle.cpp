// SPDX-License-Identifier: Apache-2.0
// A session's own memory: what the process grows by when many blocks wait, beyond rings, windows and tensors. The
// allowance is what it may grow by: 64 KiB a worker and 32 KiB a waiting block. Bytes stand in place of ns.
#include <cstdio>
#include <string>

#include "common/heddle_session.hpp"

namespace {
using namespace heddle::bench;

constexpr std::int64_t waiting_blocks = 4'096;

std::int64_t resident_bytes() {
  long pages = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  require(file != nullptr && std::fscanf(file, "%ld %ld", &pages, &resident) == 2, "cannot read /proc/self/statm");
  std::fclose(file);
  return static_cast<std::int64_t>(resident) * sysconf(_SC_PAGESIZE);
}

// All blocks wait for the last one, which looks at the memory first.
struct Waiters {
  std::int64_t* seen;

  void plan(heddle::Plan& plan) const { plan.window("gate", 64); }
  void rank(heddle::Orchestrator& graph, const heddle::Io&) const {
    const auto gate = graph.window("gate").signals<std::int32_t>();
    const auto arrived = gate.mine()[1];
    graph.spmd("waiter", heddle::vector_core, waiting_blocks, [=](heddle::Block& block) {
      block.notify(arrived, 1, heddle::Notify::add);
      block.wait(gate.mine()[0], heddle::Compare::ge, 1);
    });
    graph.submit("opener", heddle::vector_core, [=, out = seen](heddle::Block& block) {
      block.wait(arrived, heddle::Compare::ge, static_cast<std::int32_t>(waiting_blocks));
      *out = resident_bytes();
      block.notify(gate.mine()[0], 1, heddle::Notify::set);
    });
  }
};
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    heddle::bench::device();
    Contender contender{"memory", "heddle", 1, {}, {}};
    contender.sample = [&] {
      const std::int64_t before = resident_bytes();
      std::int64_t seen = 0;
      auto session = open_session(Waiters{&seen});
      session.run();
      return seen - before;
    };
    // One sample: fibers are kept, so that later sessions of this process would find theirs made.
    Report report{contender.work, contender.name, 1, {contender.sample()}};
    (void)options;
    print(report);
  });
}
