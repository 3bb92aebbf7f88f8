// SPDX-License-Identifier: Apache-2.0
//
// Two programs in one module: one with a parameter of each kind and a matrix whose second row fails its check, and one
// without anything.
#include <heddle/heddle.hpp>
#include <string>

namespace {

using namespace heddle;

struct First {
  int size = 64;
  std::int64_t offset = 0;
  double scale = 1;
  bool loud = false;
  std::string mode = "plain";

  void parameters(ParameterList& list) {
    list.add("size", size, "elements", 1, 4096);
    list.add("offset", offset, "added to each element");
    list.add("scale", scale, "unused", 0.5, 2);
    list.add("loud", loud, "unused");
    list.add("mode", mode, "what check expects", {"plain", "wrong"});
  }
  Defaults defaults() const { return {.ranks = 4, .rounds = 3, .group = 2}; }
  std::vector<Variant> matrix() const { return {{"good", {{"mode", "plain"}}}, {"bad", {{"mode", "wrong"}}}}; }

  void plan(Plan& plan) const {
    plan.input<std::int64_t>("x", {size});
    plan.output<std::int64_t>("y", {size});
  }
  void rank(Orchestrator& graph, const Io& io) const {
    graph.submit(
        "shift", vector_core,
        [by = offset](Block&, View<const std::int64_t> x, View<std::int64_t> y) {
          for (std::int64_t i = 0; i < x.size(); ++i) y(i) = x(i) + by;
        },
        in(io.input<std::int64_t>("x")), out(io.output<std::int64_t>("y")));
  }
  void fill(HostIo& io) const {
    for (auto& element : io.input<std::int64_t>("x")) element = io.round();
  }
  void check(const HostIo& io) const {
    io.expect(mode != "wrong" || io.round() < 1, "expected to be wrong");
    for (const auto element : io.tensor<std::int64_t>("y"))
      io.expect(element == io.round() + offset, "an element is off");
  }
};

struct Second {
  void rank(Orchestrator& graph, const Io&) const {
    graph.submit("nothing", vector_core, [](Block&) {});
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<First>("first", "shifts a vector"), heddle::entry<Second>("second", "does nothing"));
