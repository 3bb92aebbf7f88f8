// SPDX-License-Identifier: Apache-2.0
// The floor of a put: `memcpy` between the same two buffers, one thread.
#include <cstring>

#include "common/harness.hpp"
#include "common/put_work.hpp"

int main(int argc, char** argv) {
  using namespace heddle::bench;
  return run_main(argc, argv, [](const Options& options) {
    bind_thread(0);
    const PutWork work(options);
    std::vector<unsigned char> source(work.bytes);
    std::vector<unsigned char> target(work.bytes);
    Contender contender{"put", "memcpy", work.operations, {}, {}};
    const auto copy = [&] {
      std::memcpy(target.data(), source.data(), work.bytes);
      keep(target.data());
    };
    contender.verify = [&] {
      fill_put_pattern(source);
      copy();
      require(source == target, "the copy is not the source");
    };
    contender.sample = [&] {
      return time_ns([&] {
        for (std::int64_t i = 0; i < work.operations; ++i) copy();
      });
    };
    measure(contender, options);
  });
}
