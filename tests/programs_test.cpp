// SPDX-License-Identifier: Apache-2.0
//
// Every shipped program, as a module, with small settings: it passes its own check, and the check is able to fail.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <heddle/heddle.hpp>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace heddle {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Case {
  std::string name;
  Settings settings;  ///< small sizes
  std::vector<int> ranks;
};
std::ostream& operator<<(std::ostream& out, const Case& value) { return out << value.name; }

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = {
      {"tp_isolation", {{"rows", "16"}, {"width", "64"}, {"skew_iterations", "1000"}}, {4, 8}},
      {"vector_add", {{"count", "10007"}}, {1, 4}},
      {"stencil", {{"tiles", "6"}, {"tile", "50"}, {"steps", "41"}, {"scope_steps", "7"}}, {1, 4}},
      {"tiled_matmul", {{"size", "100"}, {"tile", "32"}}, {1, 4}},
      {"tiled_cholesky", {{"size", "100"}, {"tile", "32"}}, {1, 4}},
      {"broadcast", {{"count", "1001"}}, {1, 4, 7, 8}},
      {"allgather", {{"count", "1001"}}, {1, 4, 7, 8}},
      {"reduce_scatter", {{"count", "1001"}}, {1, 4, 7, 8}},
      {"allreduce", {{"count", "1001"}}, {1, 4, 7, 8}},
      {"all_to_all", {{"count", "1001"}}, {1, 4, 7, 8}},
  };
  return cases;
}

/// A program's module stays loaded until the process ends: sessions may outlive a test's scope.
std::shared_ptr<ProgramBase> load(const std::string& name, const Settings& settings) {
  const std::string path = std::string(HEDDLE_TEST_PROGRAM_DIR) + "/" + name + ".so";
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) throw std::runtime_error(dlerror());
  const auto* const info = static_cast<const ModuleInfo*>(dlsym(module, "heddle_module"));
  if (info == nullptr || info->abi != module_abi || info->count == 0) throw std::runtime_error(path + " is no module");
  std::shared_ptr<ProgramBase> program(info->entries[0].create());
  ParameterList list;
  program->parameters(list);
  for (const auto& [parameter, value] : settings) list.set(parameter, value);
  return program;
}

/// The program's own variants, each with the case's sizes.
std::vector<Variant> variants_of(const Case& test) {
  std::vector<Variant> variants = load(test.name, {})->matrix();
  if (variants.empty()) variants.push_back({"default", {}});
  for (Variant& variant : variants)
    variant.settings.insert(variant.settings.end(), test.settings.begin(), test.settings.end());
  return variants;
}

RoundStatistics run_round(Session& session, std::int64_t round) {
  RoundStatistics last;
  for (int phase = 0; phase < session.program().phases(); ++phase) {
    session.fill(round, phase);
    last = session.run();
    session.check(round, phase);
  }
  return last;
}

std::vector<Plan::TensorSpec> outputs_of(const Session& session, int rank) {
  Plan plan(rank, session.ranks());
  session.program().plan(plan);
  std::vector<Plan::TensorSpec> outputs = plan.tensors();
  std::erase_if(outputs, [](const auto& tensor) { return tensor.direction == Direction::input; });
  return outputs;
}

template <class T>
std::span<std::byte> writable(Session& session, int rank, const std::string& name) {
  const auto output = session.output<T>(rank, name);
  return std::as_writable_bytes(std::span(const_cast<T*>(output.data()), output.size()));
}
std::span<std::byte> bytes_of(Session& session, int rank, const Plan::TensorSpec& tensor) {
  switch (tensor.type) {
    case DType::f32:
      return writable<float>(session, rank, tensor.name);
    case DType::bf16:
      return writable<bf16>(session, rank, tensor.name);
    case DType::i32:
      return writable<std::int32_t>(session, rank, tensor.name);
    default:
      throw std::runtime_error(tensor.name + " has a type that this test does not know");
  }
}

class EveryProgram : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Modules, EveryProgram, ::testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.name; });

TEST_P(EveryProgram, PassesItsCheckInEveryVariantOnAnyRanksAndThreads) {
  for (const Variant& variant : variants_of(GetParam()))
    for (const int ranks : GetParam().ranks)
      for (const int threads : {1, 2}) {
        SCOPED_TRACE(variant.name + ", " + std::to_string(ranks) + " ranks, " + std::to_string(threads) + " threads");
        Device device = Device::open("host", {.ranks = ranks, .threads = threads});
        Session session = device.prepare(load(GetParam().name, variant.settings));
        for (std::int64_t round = 0; round < 6; ++round)
          ASSERT_NO_THROW(run_round(session, round)) << "round " << round;
      }
}

TEST_P(EveryProgram, PassesWithWindowsThatAreResetBeforeEachRound) {
  for (const Variant& variant : variants_of(GetParam())) {
    if (load(GetParam().name, variant.settings)->phases() > 1) continue;  // needs what the phase before left in them
    SCOPED_TRACE(variant.name);
    Device device = Device::open("host", {.ranks = 4, .threads = 2});
    SessionConfig config;
    config.reset_windows = true;
    Session session = device.prepare(load(GetParam().name, variant.settings), config);
    for (std::int64_t round = 0; round < 4; ++round) ASSERT_NO_THROW(run_round(session, round)) << "round " << round;
  }
}

TEST_P(EveryProgram, NoticesThatNothingRan) {
  for (const Variant& variant : variants_of(GetParam())) {
    SCOPED_TRACE(variant.name);
    Device device = Device::open("host", {.ranks = 4, .threads = 1});
    Session session = device.prepare(load(GetParam().name, variant.settings));
    const int last_phase = session.program().phases() - 1;
    session.fill(0, last_phase);
    EXPECT_THROW(session.check(0, last_phase), Error);
  }
}

TEST_P(EveryProgram, NoticesAnElementOfAnyOutputThatIsWrong) {
  for (const Variant& variant : variants_of(GetParam())) {
    Device device = Device::open("host", {.ranks = 4, .threads = 2});
    Session session = device.prepare(load(GetParam().name, variant.settings));
    const int last_phase = session.program().phases() - 1;
    run_round(session, 0);
    for (int rank = 0; rank < session.ranks(); ++rank)
      for (const Plan::TensorSpec& tensor : outputs_of(session, rank)) {
        const auto bytes = bytes_of(session, rank, tensor);
        const std::size_t count = bytes.size() / tensor.element_bytes;
        for (const std::size_t element : {std::size_t{0}, count / 3, count / 2, count - 1}) {
          SCOPED_TRACE(variant.name + ": " + tensor.name + "[" + std::to_string(element) + "] of rank " +
                       std::to_string(rank));
          // The upper half of the element, so that no rounding error is as large.
          std::byte& byte = bytes[(element + 1) * tensor.element_bytes - 2];
          byte ^= std::byte{0x40};
          try {
            session.check(0, last_phase);
            ADD_FAILURE() << "the check did not notice";
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::user_error);
            EXPECT_NE(error.message().find(tensor.name), std::string::npos) << error.message();
          }
          byte ^= std::byte{0x40};
        }
      }
    EXPECT_NO_THROW(session.check(0, last_phase));
  }
}

TEST_P(EveryProgram, NoticesTheResultsOfAnotherRound) {
  for (const Variant& variant : variants_of(GetParam())) {
    const auto program = load(GetParam().name, variant.settings);
    if (program->phases() > 1) continue;  // its counters are the same in every round
    SCOPED_TRACE(variant.name);
    Device device = Device::open("host", {.ranks = 4, .threads = 2});
    Session session = device.prepare(program);
    run_round(session, 0);
    EXPECT_THROW(session.check(1), Error);
  }
}

TEST(Programs, AreAllTestedHere) {
  std::set<std::string> shipped, tested;
  for (const auto& entry : std::filesystem::directory_iterator(HEDDLE_TEST_PROGRAM_DIR))
    if (entry.path().extension() == ".so") shipped.insert(entry.path().stem());
  for (const Case& test : all_cases()) tested.insert(test.name);
  EXPECT_EQ(shipped, tested);
}

TEST(Programs, RefuseParametersThatDoNotFitAndNameThem) {
  struct Bad {
    std::string program, parameter;
    Settings settings;
    int ranks = 4;
  };
  const std::vector<Bad> bad = {
      {"tp_isolation", "rows", {{"rows", "12"}}},
      {"tp_isolation", "width", {{"width", "66"}}},
      {"tp_isolation", "group", {}, 6},
      {"tp_isolation", "variant", {{"variant", "payload"}}},
      {"vector_add", "count", {{"count", "0"}}},
      {"stencil", "scope_steps", {{"tiles", "4096"}}},
      {"tiled_matmul", "tile", {{"tile", "8"}}},
      {"tiled_cholesky", "tile", {{"tile", "0"}}},
      {"broadcast", "root", {{"root", "4"}}},
      {"allreduce", "count", {{"count", "3"}}},
      {"allreduce", "type", {{"type", "bf16"}, {"count", "1000"}}, 200},
      {"reduce_scatter", "type", {{"type", "fp16"}}},
  };
  for (const Bad& test : bad) {
    SCOPED_TRACE(test.program + " " + test.parameter);
    try {
      Device device = Device::open("host", {.ranks = test.ranks, .threads = 1});
      Session session = device.prepare(load(test.program, test.settings));
      ADD_FAILURE() << "it was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      EXPECT_NE(error.message().find(test.parameter), std::string::npos) << error.message();
      EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    }
  }
}

TEST(TpIsolation, DoesTheWorkOfTheReportInEachRound) {
  for (const char* variant : {"payload_compact", "payload_set"}) {
    SCOPED_TRACE(variant);
    Device device = Device::open("host", {.ranks = 16, .threads = 2});
    Session session = device.prepare(load("tp_isolation", {{"variant", variant}, {"skew_iterations", "2000"}}));
    for (std::int64_t round = 0; round < 3; ++round) {
      const RoundStatistics statistics = run_round(session, round);
      EXPECT_EQ(statistics.tasks, 16U * 7);
      EXPECT_EQ(statistics.blocks, 16U * 68);
      EXPECT_EQ(statistics.puts, 16U * 32);
      EXPECT_EQ(statistics.put_bytes, 64ULL << 20U);
      EXPECT_EQ(statistics.notifies, 1536U);
    }
  }
}

TEST(TpIsolation, LeavesEveryCounterClear) {
  for (const Variant& variant : variants_of(all_cases().front())) {
    SCOPED_TRACE(variant.name);
    Device device = Device::open("host", {.ranks = 4, .threads = 2});
    Session session = device.prepare(load("tp_isolation", variant.settings));
    run_round(session, 0);
    for (int rank = 0; rank < 4; ++rank)
      for (const char* name : {"hidden_done", "logits_done"})
        for (const std::byte byte : session.window(rank, name)) ASSERT_EQ(byte, std::byte{0}) << name;
  }
}

}  // namespace
}  // namespace heddle
