// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the host backend share: programs made of lambdas, the error that a call throws, and the proof that
// a session and its device still work.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <heddle/heddle.hpp>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace heddle::host {

struct TestProgram {
  std::function<void(Orchestrator&, const Io&)> body;
  std::function<void(Plan&)> declare;

  void plan(Plan& plan) const {
    if (declare) declare(plan);
  }
  void rank(Orchestrator& graph, const Io& io) const { body(graph, io); }
};

inline Device open_host(int ranks = 1, int threads = 2) {
  return Device::open("host", {.ranks = ranks, .threads = threads});
}

/// Runs one round of a program in a session of its own.
inline RoundStatistics run_once(Device& device, TestProgram program, const SessionConfig& config = {}) {
  return device.prepare(std::move(program), config).run();
}

/// The error that `call` throws; one of code ok, and a failed test, when it throws none.
template <class Call>
Error error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {Code::ok, "nothing was thrown"};
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Every error names its code and keeps to one line, whatever it is about.
inline void expect_error(const Error& error, Code code, const std::vector<std::string>& parts) {
  EXPECT_EQ(error.code(), code) << error.report();
  EXPECT_EQ(error.name(), info(code).name);
  for (const auto& part : parts)
    EXPECT_TRUE(contains(error.message(), part)) << "\"" << part << "\" is not in: " << error.message();
  EXPECT_FALSE(contains(error.what(), "\n")) << error.what();
  EXPECT_FALSE(error.hint().empty()) << error.what();
}

inline void expect_at(const Error& error, const char* file, std::uint32_t line) {
  ASSERT_NE(error.location().file, nullptr) << error.report();
  EXPECT_STREQ(error.location().file, file);
  EXPECT_EQ(error.location().line, line) << error.report();
}

// A program that is broken until it is mended. Mended, every rank tells the next one its number, adds what the one
// before has told, and says so in "sum".
class Mendable {
 public:
  explicit Mendable(std::function<void(Orchestrator&, const Io&)> broken, std::function<void(Plan&)> declare = {})
      : broken_(std::make_shared<std::atomic<bool>>(true)), body_(std::move(broken)), declare_(std::move(declare)) {}

  void mend() { *broken_ = false; }
  TestProgram program() const {
    return {[state = broken_, body = body_](Orchestrator& graph, const Io& io) {
              state->load() ? body(graph, io) : work(graph, io);
            },
            [more = declare_](Plan& plan) {
              plan.output<std::int64_t>("sum", {1});
              plan.window("told", sizeof(std::int64_t));
              if (more) more(plan);
            }};
  }
  static void expect_work(Session& session) {
    const std::int64_t ranks = session.ranks();
    for (int r = 0; r < ranks; ++r) {
      ASSERT_TRUE(session.finished(r)) << "rank " << r;
      EXPECT_EQ(session.output<std::int64_t>(r, "sum")[0], (r + 1) + (r + ranks - 1) % ranks + 1) << "rank " << r;
    }
  }

 private:
  static void work(Orchestrator& graph, const Io& io) {
    const auto told = graph.window("told").signals<std::int64_t>();
    const auto sum = io.output<std::int64_t>("sum");
    const std::int64_t mine = graph.rank() + 1;
    graph.submit(
        "number", vector_core, [](Block&, View<std::int64_t> out, std::int64_t number) { out(0) = number; }, out(sum),
        mine);
    const auto next = told.at((graph.rank() + 1) % graph.ranks())[0];
    const auto own = told.mine()[0];
    graph.submit(
        "exchange", vector_core,
        [next, own](Block& block, View<std::int64_t> sum_view) {
          block.notify(next, sum_view(0), Notify::set);
          block.wait(own, Compare::ne, 0);
          std::atomic_ref<std::int64_t> cell(*own.cell);
          sum_view(0) +=
              cell.exchange(0, std::memory_order_seq_cst);  // seq_cst: the next round's notify may not come before
        },
        inout(sum));
  }

  std::shared_ptr<std::atomic<bool>> broken_;
  std::function<void(Orchestrator&, const Io&)> body_;
  std::function<void(Plan&)> declare_;
};

struct Setting {
  int ranks = 1;
  int threads = 2;
  SessionConfig config{};
  const char* backend = "host";
};

/// The first error of a broken program; afterwards the session, recovered, and a new one on the same device must work.
inline Error failure_of(const Setting& setting, std::function<void(Orchestrator&, const Io&)> broken,
                        std::function<void(Plan&)> declare = {}) {
  Device device = Device::open(setting.backend, {.ranks = setting.ranks, .threads = setting.threads});
  Mendable mendable(std::move(broken), std::move(declare));
  Session session = device.prepare(mendable.program(), setting.config);
  Error error = error_of([&] { session.run(); });
  EXPECT_EQ(error.round(), 0) << error.report();
  EXPECT_EQ(error_of([&] { session.run(); }).code(), Code::invalid_argument);
  mendable.mend();
  session.recover();
  session.run();
  Mendable::expect_work(session);
  Session other = device.prepare(mendable.program(), setting.config);
  for (int round = 0; round < 2; ++round) other.run();
  Mendable::expect_work(other);
  return error;
}

}  // namespace heddle::host
