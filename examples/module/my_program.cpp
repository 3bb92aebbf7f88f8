// SPDX-License-Identifier: Apache-2.0
//
// A program of your own: `heddle run ./my_program.so --set factor=3`.
#include <heddle/heddle.hpp>

using namespace heddle;

struct Scale {
  float factor = 2;
  std::int64_t count = 4096;

  void parameters(ParameterList& list) {
    list.add("factor", factor, "what each element is multiplied by");
    list.add("count", count, "elements", 1, 1 << 24);
  }
  void plan(Plan& plan) const {
    plan.input<float>("x", {count});
    plan.output<float>("y", {count});
  }

  // Two tasks over the two halves of the data. They share no byte, so they may run at the same time.
  void rank(Orchestrator& graph, const Io& io) const {
    const auto x = io.input<float>("x");
    const auto y = io.output<float>("y");
    const std::int64_t half = count / 2;
    graph.submit("scale_low", vector_core, scale, in(x.rows(0, half)), out(y.rows(0, half)), factor);
    graph.submit("scale_high", vector_core, scale, in(x.rows(half, count - half)), out(y.rows(half, count - half)),
                 factor);
  }
  static void scale(Block&, View<const float> x, View<float> y, float by) {
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = by * x[i];
  }

  void fill(HostIo& io) const {
    float next = static_cast<float>(io.round());
    for (float& element : io.input<float>("x")) element = next++;
  }
  void check(const HostIo& io) const {
    const auto x = io.tensor<float>("x"), y = io.tensor<float>("y");
    for (std::size_t i = 0; i < y.size(); ++i)
      io.expect(y[i] == factor * x[i], "y[" + std::to_string(i) + "] is not factor * x");
  }
};

HEDDLE_MODULE(heddle::entry<Scale>("scale", "multiplies a vector by a factor"));
