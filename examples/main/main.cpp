// SPDX-License-Identifier: Apache-2.0
#include <heddle/heddle.hpp>
#include <iostream>
#include <numeric>

using namespace heddle;

struct Squares {
  void plan(Plan& plan) const {
    plan.input<float>("x", {1024});
    plan.output<float>("y", {1024});
  }
  void rank(Orchestrator& graph, const Io& io) const {
    const auto square = [](Block&, View<const float> x, View<float> y) {
      for (std::int64_t i = 0; i < x.size(); ++i) y[i] = x[i] * x[i];
    };
    graph.submit("square", vector_core, square, in(io.input<float>("x")), out(io.output<float>("y")));
  }
};

int main() try {
  auto device = Device::open("host", {.ranks = 2});
  auto session = device.prepare(Squares{});
  for (int rank = 0; rank < session.ranks(); ++rank) {
    const auto x = session.input<float>(rank, "x");
    std::iota(x.begin(), x.end(), static_cast<float>(rank));
  }
  session.run();
  std::cout << "rank 1 squares 10 to " << session.output<float>(1, "y")[9] << "\n";
} catch (const Error& error) {
  std::cerr << error.report() << "\n";
  return 1;
}
