// SPDX-License-Identifier: Apache-2.0
//
// The orchestrator: what one rank's program submits tasks with. Edges between tasks are inferred from the bytes that
// their arguments name; `after` adds explicit ones.
#pragma once

#include <cstdint>
#include <heddle/task.hpp>
#include <new>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace heddle {

enum class ScopeMode : std::uint8_t { automatic, manual };

/// Bounds the life of what is submitted while it is open. Ends when it leaves the C++ scope.
class Scope {
 public:
  Scope(detail::OrchestratorServices& services, std::uint64_t id) : services_(&services), id_(id) {}
  Scope(Scope&& other) noexcept : services_(std::exchange(other.services_, nullptr)), id_(other.id_) {}
  Scope& operator=(Scope&&) = delete;
  ~Scope() { end(); }
  void end() noexcept {
    if (services_ != nullptr) std::exchange(services_, nullptr)->end_scope(id_);
  }

 private:
  detail::OrchestratorServices* services_;
  std::uint64_t id_;
};

class Orchestrator {
 public:
  explicit Orchestrator(detail::OrchestratorServices& services) : services_(&services) {}
  Orchestrator(const Orchestrator&) = delete;
  Orchestrator& operator=(const Orchestrator&) = delete;

  int rank() const { return services_->rank; }
  int ranks() const { return services_->ranks; }
  std::int64_t round() const { return services_->round; }
  /// Blocks that can run at the same time.
  int width() const { return services_->width; }
  /// The `size` consecutive ranks that mine is among; the session's ranks are a multiple of it.
  Group group(int size) const {
    if (size < 1 || ranks() % size != 0)
      detail::throw_invalid("group: the session's ranks are not a multiple of its size");
    return {rank() / size * size, size, rank() % size};
  }

  /// A kernel is callable as kernel(Block&, arguments...): `in` gives View<const T, N>, `out`, `inout`, `no_dep`,
  /// `scratch` and `new_tensor` View<T, N>; a scalar is passed by value. It is copied with the task. Its arguments are
  /// followed by attributes: after, when, completes_when, sync_start, allow_early.
  template <class K, class... A>
  auto submit(TaskName name, Cores cores, K kernel, const A&... args) {
    return spmd(name, cores, 1, std::move(kernel), args...);
  }
  /// The same with `blocks` instances of the kernel, which may run at the same time.
  template <class K, class... A>
  auto spmd(TaskName name, Cores cores, std::int64_t blocks, K kernel, const A&... args) {
    using Bound = decltype(std::tuple_cat(std::declval<detail::BoundTuple<A>>()...));
    using Check = detail::KernelAccepts<K, Bound>;
    static_assert(
        Check::value,
        "the kernel cannot be called with these arguments: it takes Block&, then a View<const T, N> for each in(), "
        "a View<T, N> for each out(), inout(), no_dep(), scratch() or new_tensor(), and scalars by value, in order");
    using ClosureType = typename Check::ClosureType;
    static_assert(std::is_nothrow_move_constructible_v<K>, "a kernel moves without throwing");
    return submit_task<ClosureType>(name, cores, blocks, &kernel, args...);
  }
  /// Orders others and runs nothing.
  template <class... A>
  auto dummy(TaskName name, const A&... args) {
    return submit_task<void>(name, vector_core, 1, static_cast<const void*>(nullptr), args...);
  }

  [[nodiscard]] Scope scope(ScopeMode mode = ScopeMode::automatic,
                            std::source_location here = std::source_location::current()) {
    return {*services_, services_->begin_scope(mode == ScopeMode::manual, Location(here))};
  }

  /// Waits for exactly the tasks that write this element, then reads it. Zero once the rank has failed.
  template <class T, int N>
  std::remove_const_t<T> read(const Tensor<T, N>& element,
                              std::source_location here = std::source_location::current()) {
    detail::ArgRecord record = element_record(element);
    record.tag = detail::Tag::in;
    return services_->settle(record, Location(here)) ? *element.strided().data : std::remove_const_t<T>{};
  }
  /// Waits for exactly the tasks that read or write this element, then writes it.
  template <class T, int N>
  void write(const Tensor<T, N>& element, std::type_identity_t<T> value,
             std::source_location here = std::source_location::current()) {
    detail::ArgRecord record = element_record(element);
    record.tag = detail::Tag::out;
    if (services_->settle(record, Location(here))) *element.strided().data = value;
  }

  /// A window that the program's plan named.
  Window window(std::string_view name) { return {services_->window(name), rank()}; }
  /// A window that this round allocates. Collective: every rank calls it in the same order with the same size.
  template <std::size_t M>
  Window alloc_window(const char (&name)[M], std::uint64_t bytes,
                      std::source_location here = std::source_location::current()) {
    return {services_->alloc_window(name, bytes, Location(here)), rank()};
  }

  /// Reports that the program failed (user_error). Every later call does nothing.
  void fail(std::string message, std::source_location here = std::source_location::current()) {
    services_->fail(std::move(message), Location(here));
  }
  /// True once the rank has failed or is being cancelled: submits do nothing any more.
  bool stopped() const { return services_->stopped(); }
  /// What this hands its calls to: for a program that wraps another one.
  detail::OrchestratorServices& services() { return *services_; }

 private:
  template <class T, int N>
  static detail::ArgRecord element_record(const Tensor<T, N>& element) {
    if (element.size() != 1) detail::throw_invalid("read, write: the tensor must have exactly one element");
    detail::ArgRecord record;
    detail::describe(record, detail::TensorArg<detail::Tag::in, T, N>{element});
    return record;
  }

  template <class ClosureType, class K, class... A>
  auto submit_task(TaskName name, Cores cores, std::int64_t blocks, K* kernel, const A&... args) {
    using namespace detail;
    constexpr std::size_t tensors = (std::size_t{0} + ... + (ArgTraits<A>::is_tensor ? 1 : 0));
    constexpr std::size_t afters = (std::size_t{0} + ... + (ArgTraits<A>::is_after ? 1 : 0));
    constexpr std::size_t conditions = (std::size_t{0} + ... + (ArgTraits<A>::is_condition ? 1 : 0));
    static_assert((std::size_t{0} + ... + (ArgTraits<A>::is_predicate ? 1 : 0)) <= 1, "one predicate at most");
    ArgRecord records[tensors + 1];
    std::span<const TaskHandle> handles[afters + 1];
    ConditionRecord waits[conditions + 1];
    TaskRequest request{
        name,    cores,   blocks, {records, tensors}, {handles, afters}, {waits, conditions}, nullptr, 0, 1,
        nullptr, nullptr, false};
    if constexpr (!std::is_void_v<ClosureType>) {
      request.closure_bytes = sizeof(ClosureType);
      request.closure_align = alignof(ClosureType);
      request.invoke = &ClosureType::invoke;
      if constexpr (!std::is_trivially_destructible_v<ClosureType>) request.destroy = &ClosureType::destroy;
    }
    [[maybe_unused]] std::size_t tensor = 0, handle = 0, wait = 0;  // a task need not have any
    (collect(request, records, tensor, handles, handle, waits, wait, args), ...);
    const Placement placement = services_->place(request);
    if (placement.closure != nullptr) {
      if constexpr (!std::is_void_v<ClosureType>) {
        [[maybe_unused]] const ArgRecord* next = records;
        new (placement.closure)
            ClosureType{std::move(*kernel), concat(std::tuple<BoundTuple<A>...>{bind(args, next)...})};
      }
      services_->commit();
    }
    [[maybe_unused]] const ArgRecord* next = records;
    [[maybe_unused]] const Owner owner{placement.handle.task};
    return make_submitted(placement.handle, concat(std::tuple<FreshTuple<A>...>{fresh_output(args, next, owner)...}));
  }

  template <class A>
  static void collect(detail::TaskRequest& request, detail::ArgRecord* records, std::size_t& tensor,
                      std::span<const TaskHandle>* handles, std::size_t& handle, detail::ConditionRecord* waits,
                      std::size_t& wait, const A& arg) {
    using Traits = detail::ArgTraits<A>;
    if constexpr (Traits::is_tensor)
      detail::describe(records[tensor++], arg);
    else if constexpr (Traits::is_after)
      handles[handle++] = arg.span();
    else if constexpr (Traits::is_condition)
      waits[wait++] = arg.record;
    else if constexpr (Traits::is_predicate)
      request.predicate = &arg.record;
    else if constexpr (Traits::is_sync)
      request.sync_start = true;
    else if constexpr (Traits::is_early)
      request.allow_early = true;
  }

  template <class... T>
  static Submitted<T...> make_submitted(const TaskHandle& handle, std::tuple<T...>&& outputs) {
    return {handle, std::move(outputs)};
  }

  detail::OrchestratorServices* services_;
};

}  // namespace heddle
