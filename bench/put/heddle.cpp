// SPDX-License-Identifier: Apache-2.0
// Puts of one block to a peer's window.
#include <algorithm>
#include <cstring>

#include "common/heddle_session.hpp"
#include "common/put_work.hpp"

namespace {
using namespace heddle::bench;

struct Puts {
  std::int64_t bytes;
  std::int64_t operations;

  void plan(heddle::Plan& plan) const {
    plan.input<unsigned char>("source", {bytes});
    plan.window("target", static_cast<std::uint64_t>(bytes));
  }
  void rank(heddle::Orchestrator& graph, const heddle::Io& io) const {
    if (graph.rank() != 0) return;
    const auto target = graph.window("target").tensor<unsigned char>(bytes);
    graph.submit(
        "put", heddle::vector_core,
        [target, count = operations](heddle::Block& block, const heddle::View<const unsigned char>& source) {
          for (std::int64_t i = 0; i < count; ++i) block.put(target.at(1), source);
        },
        in(io.input<unsigned char>("source")));
  }
};
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    const PutWork work(options);
    auto device = heddle::Device::open("host", {.ranks = 2, .threads = thread_count});
    auto session = device.prepare(Puts{static_cast<std::int64_t>(work.bytes), work.operations});
    std::vector<unsigned char> pattern(work.bytes);
    fill_put_pattern(pattern);
    Contender contender{"put", "heddle", work.operations, {}, {}};
    contender.verify = [&] {
      std::copy(pattern.begin(), pattern.end(), session.input<unsigned char>(0, "source").begin());
      session.run();
      require(std::memcmp(session.window(1, "target").data(), pattern.data(), work.bytes) == 0,
              "the copy is not the source");
    };
    contender.sample = [&] { return time_ns([&] { session.run(); }); };
    measure(contender, options);
  });
}
