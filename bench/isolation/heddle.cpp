// SPDX-License-Identifier: Apache-2.0
// The isolation program as it is shipped, payload variant, 16 ranks: fill, run and check of whole rounds.
#include <memory>

#include "common/heddle_session.hpp"

extern "C" const heddle::ModuleInfo heddle_module;  // of programs/tp_isolation.cpp

int main(int argc, char** argv) {
  using namespace heddle::bench;
  return run_main(argc, argv, [](const Options& options) {
    auto device = heddle::Device::open("host", {.ranks = 16, .threads = thread_count});
    std::shared_ptr<heddle::ProgramBase> program(heddle_module.entries[0].create());
    heddle::ParameterList parameters;
    program->parameters(parameters);
    parameters.set("variant", "payload_compact");
    parameters.set("skew_iterations", "0");  // the floor has no skew loop
    auto session = device.prepare(program);
    const int rounds = options.is_quick ? 2 : 10;
    std::int64_t number = 0;
    Contender contender{"isolation", "heddle", rounds, {}, {}};
    contender.sample = [&] {
      return time_ns([&] {
        for (int i = 0; i < rounds; ++i, ++number) {
          session.fill(number);
          session.run();
          session.check(number);
        }
      });
    };
    measure(contender, options);
  });
}
