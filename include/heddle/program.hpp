// SPDX-License-Identifier: Apache-2.0
//
// Programs: plain types whose fields are their parameters. The command, a test or a main of ten lines runs them alike.
//
//   struct Scale {
//     float factor = 2;
//     void parameters(ParameterList& list) { list.add("factor", factor, "what each element is multiplied by"); }
//     void plan(Plan& plan) const { plan.input<float>("x", {1024}); plan.output<float>("y", {1024}); }
//     void rank(Orchestrator& graph, const Io& io) const {
//       graph.spmd("scale", vector_core, 8, kernel, in(io.input<float>("x")), out(io.output<float>("y")), factor);
//     }
//     void fill(HostIo& io) const { … }          // optional: inputs of one rank and round
//     void check(const HostIo& io) const { … }   // optional: throws when an output is wrong
//   };
//   HEDDLE_MODULE(heddle::entry<Scale>("scale", "multiplies a vector"));
#pragma once

#include <cstdint>
#include <heddle/graph.hpp>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace heddle {

/// How a host tensor takes part in a round.
enum class Direction : std::uint8_t { input, output, inout };

/// What one rank of a program declares before the first round.
class Plan {
 public:
  struct TensorSpec {
    std::string name;
    Direction direction = Direction::input;
    DType type = DType::other;
    std::size_t element_bytes = 0;
    std::vector<std::int64_t> shape;
    std::uint64_t bytes() const;
  };
  struct WindowSpec {
    std::string name;
    std::uint64_t bytes = 0;
  };

  Plan(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  template <class T>
  void input(std::string name, std::vector<std::int64_t> shape) {
    add(std::move(name), Direction::input, dtype_of<T>(), sizeof(T), std::move(shape));
  }
  template <class T>
  void output(std::string name, std::vector<std::int64_t> shape) {
    add(std::move(name), Direction::output, dtype_of<T>(), sizeof(T), std::move(shape));
  }
  template <class T>
  void inout(std::string name, std::vector<std::int64_t> shape) {
    add(std::move(name), Direction::inout, dtype_of<T>(), sizeof(T), std::move(shape));
  }
  /// Collective: every rank names the same windows in the same order with the same sizes.
  void window(std::string name, std::uint64_t bytes);

  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  const std::vector<WindowSpec>& windows() const { return windows_; }

 private:
  void add(std::string name, Direction direction, DType type, std::size_t element_bytes,
           std::vector<std::int64_t> shape);
  int rank_, ranks_;
  std::vector<TensorSpec> tensors_;
  std::vector<WindowSpec> windows_;
};

namespace detail {
/// One rank's declared tensors with their memory, in declaration order.
struct IoTable {
  const std::vector<Plan::TensorSpec>* specs = nullptr;
  std::vector<std::byte*> data;
  /// Throws invalid_argument that names the tensor and what is declared when it does not fit.
  std::size_t find(std::string_view name, bool writable, DType type, std::size_t element_bytes, int rank) const;
};
}  // namespace detail

/// A rank's declared tensors, as its orchestrator names them.
class Io {
 public:
  explicit Io(const detail::IoTable& table) : table_(&table) {}
  template <class T, int N = 1>
  Tensor<const T, N> input(std::string_view name) const {
    return tensor<const T, N>(name, false);
  }
  template <class T, int N = 1>
  Tensor<T, N> output(std::string_view name) const {
    return tensor<T, N>(name, true);
  }

 private:
  template <class T, int N>
  Tensor<T, N> tensor(std::string_view name, bool writable) const {
    const std::size_t i = table_->find(name, writable, dtype_of<T>(), sizeof(T), N);
    detail::Extents<N> shape{};
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = (*table_->specs)[i].shape[d];
    return {detail::Strided<T, N>::dense(reinterpret_cast<T*>(table_->data[i]), shape), detail::Owner{}};
  }
  const detail::IoTable* table_;
};

/// A rank's declared tensors between rounds, as the program's fill and check see them.
class HostIo {
 public:
  HostIo(const detail::IoTable& table, int rank, int ranks, std::int64_t round, int phase)
      : table_(&table), rank_(rank), ranks_(ranks), round_(round), phase_(phase) {}
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  std::int64_t round() const { return round_; }
  /// Of a program whose rounds take several runs of its graph; 0 for most.
  int phase() const { return phase_; }
  /// What fill may write: inputs and inouts.
  template <class T>
  std::span<T> input(std::string_view name) {
    return span<T>(name, -1);
  }
  /// What check may read: any declared tensor.
  template <class T>
  std::span<const T> tensor(std::string_view name) const {
    return span<const T>(name, -1);
  }
  /// Throws user_error with the message when `condition` is false.
  void expect(bool condition, std::string_view message) const;

 private:
  template <class T>
  std::span<T> span(std::string_view name, int rank) const {
    const std::size_t i = table_->find(name, false, dtype_of<T>(), sizeof(T), rank);
    return {reinterpret_cast<T*>(table_->data[i]), static_cast<std::size_t>((*table_->specs)[i].bytes() / sizeof(T))};
  }
  const detail::IoTable* table_;
  int rank_, ranks_;
  std::int64_t round_;
  int phase_;
};

/// A program's fields by name, as `--set name=value` reaches them.
class ParameterList {
 public:
  using Field = std::variant<bool*, int*, std::int64_t*, double*, float*, std::string*>;
  struct Parameter {
    std::string name;
    Field field;
    std::string help;
    double least = 0, most = 0;
    std::vector<std::string> choices;
    /// The field's present value.
    std::string value() const;
  };

  void add(std::string name, bool& field, std::string help) {
    push({std::move(name), &field, std::move(help), 0, 0, {}});
  }
  template <class T>
    requires(std::is_same_v<T, int> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> ||
             std::is_same_v<T, float>)
  void add(std::string name, T& field, std::string help, double least = -1e18, double most = 1e18) {
    push({std::move(name), &field, std::move(help), least, most, {}});
  }
  /// One of `choices`; any text when there are none.
  void add(std::string name, std::string& field, std::string help, std::vector<std::string> choices = {}) {
    push({std::move(name), &field, std::move(help), 0, 0, std::move(choices)});
  }

  /// Throws invalid_argument that names the parameter, the value and what is allowed.
  void set(std::string_view name, std::string_view value);
  const std::vector<Parameter>& all() const { return parameters_; }

 private:
  void push(Parameter parameter);
  std::vector<Parameter> parameters_;
};

/// What a program is run with when the command line does not say.
struct Defaults {
  int ranks = 1;
  int rounds = 1;
  /// The ranks of a run must be a multiple of this.
  int group = 1;
};

/// One row of a program's own test matrix: a name, and what to set.
struct Variant {
  std::string name;
  std::vector<std::pair<std::string, std::string>> settings;
};

/// A program with its type erased.
class ProgramBase {
 public:
  virtual ~ProgramBase() = default;
  virtual void parameters(ParameterList&) {}
  virtual Defaults defaults() const { return {}; }
  virtual std::vector<Variant> matrix() const { return {}; }
  /// Runs of the graph that make one round.
  virtual int phases() const { return 1; }
  virtual void plan(Plan& plan) const = 0;
  virtual void rank(Orchestrator& graph, const Io& io) const = 0;
  virtual void fill(HostIo&) const {}
  virtual void check(const HostIo&) const {}
};

namespace detail {
template <class P>
class ProgramHolder final : public ProgramBase {
 public:
  explicit ProgramHolder(P program) : program_(std::move(program)) {}
  void parameters(ParameterList& list) override {
    if constexpr (requires { program_.parameters(list); }) program_.parameters(list);
  }
  Defaults defaults() const override {
    if constexpr (requires { program_.defaults(); })
      return program_.defaults();
    else
      return {};
  }
  std::vector<Variant> matrix() const override {
    if constexpr (requires { program_.matrix(); })
      return program_.matrix();
    else
      return {};
  }
  int phases() const override {
    if constexpr (requires { program_.phases(); })
      return program_.phases();
    else
      return 1;
  }
  void plan(Plan& plan) const override {
    if constexpr (requires { program_.plan(plan); }) program_.plan(plan);
  }
  void rank(Orchestrator& graph, const Io& io) const override { program_.rank(graph, io); }
  void fill(HostIo& io) const override {
    if constexpr (requires { program_.fill(io); }) program_.fill(io);
  }
  void check(const HostIo& io) const override {
    if constexpr (requires { program_.check(io); }) program_.check(io);
  }

 private:
  P program_;
};
}  // namespace detail

/// Wraps a program that has at least `void rank(Orchestrator&, const Io&) const`.
template <class P>
std::unique_ptr<ProgramBase> make_program(P program) {
  static_assert(
      requires(const P& p, Orchestrator& graph, const Io& io) { p.rank(graph, io); },
      "a program has a member `void rank(Orchestrator& graph, const Io& io) const`");
  return std::make_unique<detail::ProgramHolder<P>>(std::move(program));
}

namespace detail {
/// Mixes what a module and the library must agree on: the interface's number, and the sizes of what they share.
template <class... Shared>
constexpr std::uint32_t interface_number(std::uint32_t number) {
  ((number = (number ^ static_cast<std::uint32_t>(sizeof(Shared))) * 16'777'619U), ...);
  return number;
}
}  // namespace detail

/// The binary interface of modules: a module built for another one is refused when it is loaded.
inline constexpr std::uint32_t module_abi =
    detail::interface_number<ProgramBase, Plan, Plan::TensorSpec, ParameterList::Parameter, HostIo, Io, Block,
                             Tensor<float, 2>, View<float, 2>, Error, detail::TaskRequest, detail::ArgRecord,
                             detail::ConditionRecord, detail::PredicateRecord, detail::Placement, detail::CopyPlan,
                             detail::OrchestratorServices, Block::Identity>(2);

struct ModuleEntry {
  const char* name;
  const char* summary;
  ProgramBase* (*create)();
};
struct ModuleInfo {
  std::uint32_t abi = module_abi;
  std::uint32_t count = 0;
  const ModuleEntry* entries = nullptr;
};

template <class P>
constexpr ModuleEntry entry(const char* name, const char* summary) {
  return {name, summary, []() -> ProgramBase* { return make_program(P{}).release(); }};
}

/// Defines the symbol by which `heddle run ./module.so` finds the module's programs.
#define HEDDLE_MODULE(...)                                                                    \
  static const ::heddle::ModuleEntry heddle_module_entries[] = {__VA_ARGS__};                 \
  extern "C" __attribute__((visibility("default"))) const ::heddle::ModuleInfo heddle_module; \
  extern "C" const ::heddle::ModuleInfo heddle_module = {                                     \
      ::heddle::module_abi, sizeof heddle_module_entries / sizeof heddle_module_entries[0], heddle_module_entries}

}  // namespace heddle
