// SPDX-License-Identifier: Apache-2.0
//
// A kernel that says when it runs, and returns only once it is cancelled: what an interrupt meets in the middle of a
// round. A stubborn one says when it is cancelled and never returns.
#include <unistd.h>

#include <heddle/heddle.hpp>
#include <string_view>
#include <thread>

namespace {

using namespace heddle;

void say(std::string_view text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

struct Slow {
  bool stubborn = false;

  void parameters(ParameterList& list) { list.add("stubborn", stubborn, "never returns, cancelled or not"); }
  void rank(Orchestrator& graph, const Io&) const {
    graph.submit("linger", vector_core, [is_stubborn = stubborn](Block& block) {
      say("slow: running\n");
      while (!block.cancelled()) std::this_thread::yield();
      if (!is_stubborn) return;
      say("slow: cancelled\n");
      for (;;) std::this_thread::yield();
    });
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<Slow>("slow", "runs until it is cancelled"));
