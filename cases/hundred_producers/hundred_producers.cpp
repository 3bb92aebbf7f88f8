// SPDX-License-Identifier: Apache-2.0
//
// Each of 64 consumers reads what 100 producers wrote. A runtime that keeps a fixed, small number of producers for a
// task lets the consumers start before the others have written.
#include <algorithm>
#include <heddle/heddle.hpp>

namespace {

using namespace heddle;

struct HundredProducers {
  int producers = 100, consumers = 64;

  void parameters(ParameterList& list) {
    list.add("producers", producers, "tasks that each write one row", 1, 1000);
    list.add("consumers", consumers, "tasks that read all rows", 1, 1000);
  }

  void plan(Plan& plan) const {
    plan.input<std::int32_t>("x", {producers});
    plan.output<std::int32_t>("rows", {producers});
    plan.output<std::int32_t>("sums", {consumers});
  }

  void rank(Orchestrator& graph, const Io& io) const {
    const auto x = io.input<std::int32_t>("x");
    const auto rows = io.output<std::int32_t>("rows");
    const auto sums = io.output<std::int32_t>("sums");
    for (int i = 0; i < producers; ++i)
      graph.submit(
          "produce", vector_core,
          [](Block& block, View<const std::int32_t> from, View<std::int32_t> to) {
            block.spend(1'000);
            to(0) = from(0);
          },
          in(x.rows(i, 1)), out(rows.rows(i, 1)));
    for (int i = 0; i < consumers; ++i)
      graph.submit(
          "consume", vector_core,
          [](Block&, View<const std::int32_t> all, View<std::int32_t> sum) {
            sum(0) = 0;
            for (std::int64_t row = 0; row < all.size(); ++row) sum(0) += all(row);
          },
          in(rows), out(sums.rows(i, 1)));
  }

  static void fill(HostIo& io) {
    std::int32_t next = 0;
    for (std::int32_t& each : io.input<std::int32_t>("x")) each = ++next;
  }
  void check(const HostIo& io) const {
    for (const std::int32_t sum : io.tensor<std::int32_t>("sums"))
      io.expect(sum == producers * (producers + 1) / 2, "a consumer has read a row that was not written yet");
  }
};

}  // namespace

HEDDLE_MODULE(heddle::entry<HundredProducers>("hundred_producers", "case: a hundred producers of each consumer"));
