// SPDX-License-Identifier: Apache-2.0
//
// Tasks: their names and handles, the tags and attributes that a submit takes, and how a kernel and its arguments
// become one closure.
#pragma once

#include <cstdint>
#include <heddle/block.hpp>
#include <new>
#include <source_location>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace heddle {

/// A task's name, and where it is submitted. The text must outlive the session: a string literal.
struct TaskName {
  const char* text;
  Location location;
  template <std::size_t M>
  TaskName(const char (&name)[M], std::source_location here = std::source_location::current())  // NOLINT(*-explicit-*)
      : text(name), location(here) {}
};

/// A submitted task. Valid until the scope that it was submitted in ends; used later it is refused.
struct TaskHandle {
  std::uint64_t task = 0;
};

/// A handle that also names the tensors that the runtime allocated for the task's new_tensor arguments, in their order.
template <class... Outputs>
struct Submitted : TaskHandle {
  std::tuple<Outputs...> outputs;
  template <std::size_t I>
  const auto& output() const {
    return std::get<I>(outputs);
  }
};

namespace detail {

enum class Tag : std::uint8_t { in, out, inout, no_dep, scratch, fresh };

struct ArgRecord {
  std::byte* data = nullptr;  ///< null for scratch and fresh until the submit has placed them
  const std::int64_t* shape = nullptr;
  const std::int64_t* stride = nullptr;
  std::uint64_t bytes = 0;  ///< scratch and fresh: of the whole allocation
  Owner owner;
  std::uint32_t element_bytes = 0;
  std::uint8_t rank = 0;
  Tag tag = Tag::in;
};

struct ConditionRecord {
  SignalRef signal;
  Compare compare = Compare::eq;
  std::int64_t value = 0;
};

struct PredicateRecord {
  const void* element = nullptr;
  Owner owner;
  DType type = DType::other;
  std::uint8_t element_bytes = 0;
  Compare compare = Compare::eq;
  std::int64_t integer = 0;
  double real = 0;
};

using Invoke = void (*)(const void* closure, Block& block);
using Destroy = void (*)(void* closure) noexcept;

struct TaskRequest {
  TaskName name;
  Cores cores = vector_core;
  std::int64_t blocks = 1;
  std::span<ArgRecord> args;
  std::span<const std::span<const TaskHandle>> after;
  std::span<const ConditionRecord> conditions;
  const PredicateRecord* predicate = nullptr;
  std::size_t closure_bytes = 0;
  std::size_t closure_align = 1;
  Invoke invoke = nullptr;  ///< null: a dummy task
  Destroy destroy = nullptr;
  bool sync_start = false;
  bool allow_early = false;
};

struct Placement {
  void* closure = nullptr;  ///< where to build the closure; null when the rank no longer accepts work
  TaskHandle handle;
};

/// What a backend does for a rank's orchestrator.
class OrchestratorServices {
 public:
  virtual ~OrchestratorServices() = default;
  /// Infers, allocates and waits for room; fills the records' data. The caller builds the closure, then commits.
  virtual Placement place(TaskRequest& request) = 0;
  virtual void commit() = 0;
  virtual std::uint64_t begin_scope(bool manual, const Location& location) = 0;
  virtual void end_scope(std::uint64_t scope) noexcept = 0;
  /// Waits until the element may be read (or written) by the orchestrator. False when the rank no longer runs.
  virtual bool settle(const ArgRecord& element, const Location& location) = 0;
  virtual const WindowTable* window(std::string_view name) = 0;
  virtual const WindowTable* alloc_window(const char* name, std::uint64_t bytes, const Location& location) = 0;
  virtual void fail(std::string message, const Location& location) = 0;
  virtual bool stopped() const = 0;

  int rank = 0;
  int ranks = 1;
  std::int64_t round = 0;
  int width = 1;
};

template <Tag tag_value, class T, int N>
struct TensorArg {
  static constexpr Tag tag = tag_value;
  Tensor<T, N> tensor;
};
template <Tag tag_value, class T, int N>
struct AllocArg {
  static constexpr Tag tag = tag_value;
  Strided<T, N> strided;  ///< data is null until placed
  std::uint64_t bytes;
};
template <std::size_t M>
struct AfterArg {
  TaskHandle handles[M];
  std::span<const TaskHandle> span() const { return {handles, M}; }
};
struct AfterSpanArg {
  std::span<const TaskHandle> handles;
  std::span<const TaskHandle> span() const { return handles; }
};
struct WhenArg {
  PredicateRecord record;
};
struct CompletesWhenArg {
  ConditionRecord record;
};
struct SyncStartArg {};
struct AllowEarlyArg {};

template <class A>
struct ArgTraits {  // a scalar, passed to the kernel by value
  static constexpr bool is_tensor = false, is_after = false, is_condition = false, is_predicate = false,
                        is_sync = false, is_early = false;
  static constexpr bool is_fresh = false;
  static constexpr bool is_bound = true;
  using Bound = A;
};
struct AttributeTraits : ArgTraits<int> {
  static constexpr bool is_bound = false;
};
template <Tag tag, class T, int N>
struct ArgTraits<TensorArg<tag, T, N>> : ArgTraits<int> {
  static constexpr bool is_tensor = true;
  using Bound = View<std::conditional_t<tag == Tag::in, const T, T>, N>;
};
template <Tag tag, class T, int N>
struct ArgTraits<AllocArg<tag, T, N>> : ArgTraits<int> {
  static constexpr bool is_tensor = true;
  static constexpr bool is_fresh = tag == Tag::fresh;
  using Bound = View<T, N>;
};
template <std::size_t M>
struct ArgTraits<AfterArg<M>> : AttributeTraits {
  static constexpr bool is_after = true;
};
template <>
struct ArgTraits<AfterSpanArg> : AttributeTraits {
  static constexpr bool is_after = true;
};
template <>
struct ArgTraits<WhenArg> : AttributeTraits {
  static constexpr bool is_predicate = true;
};
template <>
struct ArgTraits<CompletesWhenArg> : AttributeTraits {
  static constexpr bool is_condition = true;
};
template <>
struct ArgTraits<SyncStartArg> : AttributeTraits {
  static constexpr bool is_sync = true;
};
template <>
struct ArgTraits<AllowEarlyArg> : AttributeTraits {
  static constexpr bool is_early = true;
};

template <class K, class... Bound>
struct Closure {
  K kernel;
  std::tuple<Bound...> args;
  static void invoke(const void* closure, Block& block) {
    const auto& self = *static_cast<const Closure*>(closure);
    std::apply([&](const Bound&... bound) { self.kernel(block, bound...); }, self.args);
  }
  static void destroy(void* closure) noexcept { static_cast<Closure*>(closure)->~Closure(); }
};

template <Tag tag, class T, int N>
void describe(ArgRecord& record, const TensorArg<tag, T, N>& arg) {
  const auto& s = arg.tensor.strided();
  record = {reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(s.data)),
            s.shape.data(),
            s.stride.data(),
            0,
            arg.tensor.owner(),
            sizeof(T),
            N,
            tag};
}
template <Tag tag, class T, int N>
void describe(ArgRecord& record, const AllocArg<tag, T, N>& arg) {
  record = {nullptr, arg.strided.shape.data(), arg.strided.stride.data(), arg.bytes, {}, sizeof(T), N, tag};
}

/// The argument as the kernel gets it; attributes give nothing.
template <class A>
auto bind(const A& arg, const ArgRecord*& next) {
  using Traits = ArgTraits<A>;
  if constexpr (!Traits::is_bound) {
    return std::tuple<>();
  } else if constexpr (Traits::is_tensor) {
    const ArgRecord& record = *next++;
    if constexpr (requires { arg.tensor; }) {
      const auto& s = arg.tensor.strided();
      return std::tuple<typename Traits::Bound>(typename Traits::Bound({s.data, s.shape, s.stride}));
    } else {
      using T = typename Traits::Bound::Element;
      return std::tuple<typename Traits::Bound>(
          typename Traits::Bound({reinterpret_cast<T*>(record.data), arg.strided.shape, arg.strided.stride}));
    }
  } else {
    return std::tuple<A>(arg);
  }
}
template <class A>
using BoundTuple = std::conditional_t<ArgTraits<A>::is_bound, std::tuple<typename ArgTraits<A>::Bound>, std::tuple<>>;

template <class A>
auto fresh_output(const A& arg, const ArgRecord*& next, const Owner& owner) {
  if constexpr (!ArgTraits<A>::is_tensor) {
    return std::tuple<>();
  } else if constexpr (!ArgTraits<A>::is_fresh) {
    ++next;
    return std::tuple<>();
  } else {
    using View_ = typename ArgTraits<A>::Bound;
    using T = typename View_::Element;
    const ArgRecord& record = *next++;
    return std::tuple(
        Tensor<T, View_::rank>({reinterpret_cast<T*>(record.data), arg.strided.shape, arg.strided.stride}, owner));
  }
}

template <class A>
using FreshTuple =
    decltype(fresh_output(std::declval<const A&>(), std::declval<const ArgRecord*&>(), std::declval<const Owner&>()));

template <class K, class Tuple>
struct KernelAccepts;
template <class K, class... Bound>
struct KernelAccepts<K, std::tuple<Bound...>> {
  static constexpr bool value = std::is_invocable_v<const K&, Block&, const Bound&...>;
  using ClosureType = Closure<K, Bound...>;
};

/// The order in which arguments are evaluated is fixed by the braces.
template <class... T>
auto concat(std::tuple<T...>&& parts) {
  return std::apply([](auto&&... part) { return std::tuple_cat(std::move(part)...); }, std::move(parts));
}

template <Tag tag, class T, int N>
AllocArg<tag, T, N> allocate_arg(const char* operation, const Extents<N>& shape) {
  const auto size = checked_size(operation, shape.data(), N, sizeof(T));
  return {Strided<T, N>::dense(nullptr, shape), static_cast<std::uint64_t>(size) * sizeof(T)};
}

}  // namespace detail

/// Argument tags. `in` reads; `out` writes, what was there is not read; `inout` does both; `no_dep` takes part in no
/// inference.
template <class T, int N>
detail::TensorArg<detail::Tag::in, const T, N> in(const Tensor<T, N>& tensor) {
  return {tensor};
}
template <class T, int N>
detail::TensorArg<detail::Tag::out, T, N> out(const Tensor<T, N>& tensor) {
  static_assert(!std::is_const_v<T>, "out: this tensor is read-only (an input of the round)");
  return {tensor};
}
template <class T, int N>
detail::TensorArg<detail::Tag::inout, T, N> inout(const Tensor<T, N>& tensor) {
  static_assert(!std::is_const_v<T>, "inout: this tensor is read-only (an input of the round)");
  return {tensor};
}
template <class T, int N>
detail::TensorArg<detail::Tag::no_dep, T, N> no_dep(const Tensor<T, N>& tensor) {
  return {tensor};
}

/// Memory from the scope's ring that only this task sees.
template <class T, class... I>
  requires detail::all_indices<I...>
auto scratch(I... extent) {
  constexpr int N = static_cast<int>(sizeof...(I));
  return detail::allocate_arg<detail::Tag::scratch, T, N>("scratch", {static_cast<std::int64_t>(extent)...});
}
/// An output that the runtime allocates from the scope's ring, contiguous and 1,024-byte aligned; named afterwards by
/// the handle's output<I>().
template <class T, class... I>
  requires detail::all_indices<I...>
auto new_tensor(I... extent) {
  constexpr int N = static_cast<int>(sizeof...(I));
  return detail::allocate_arg<detail::Tag::fresh, T, N>("new_tensor", {static_cast<std::int64_t>(extent)...});
}

/// The task starts after these have completed, whatever their arguments say.
template <class... H>
  requires(sizeof...(H) > 0 && (std::is_base_of_v<TaskHandle, H> && ...))
detail::AfterArg<sizeof...(H)> after(const H&... handle) {
  return {{static_cast<const TaskHandle&>(handle)...}};
}
inline detail::AfterSpanArg after(std::span<const TaskHandle> handles) { return {handles}; }

/// The task runs its kernel only if `element` compares true with `value` when the task becomes ready; otherwise it
/// completes without. `element` is a tensor of one element.
template <class T, int N>
detail::WhenArg when(const Tensor<T, N>& element, Compare compare, std::type_identity_t<std::remove_const_t<T>> value) {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<std::remove_const_t<T>, bool>,
                "when: an arithmetic element");
  if (element.size() != 1) detail::throw_invalid("when: the tensor must have exactly one element");
  return {{element.strided().data, element.owner(), dtype_of<T>(), sizeof(T), compare,
           std::is_integral_v<T> ? static_cast<std::int64_t>(value) : 0, static_cast<double>(value)}};
}

/// The task completes when its blocks are done and the signal compares true: a wait that holds no core and no stack.
/// At most 64 of them for a task; more are refused as invalid_argument.
template <SignalValue T>
detail::CompletesWhenArg completes_when(const Signal<T>& signal, Compare compare, std::type_identity_t<T> value) {
  return {{detail::ref(signal), compare, value}};
}

/// No block of the task starts before all of them are placed.
inline detail::SyncStartArg sync_start() { return {}; }

/// While the task runs, tasks that wait for nothing but such tasks may be placed on idle cores, behind gates that open
/// when it completes: a chip saves the way of a dispatch. The kernel must come to its end by itself: `Block::wait` in
/// it fails the task as kernel_failed. Without effect on the host, and for a task with `completes_when`.
inline detail::AllowEarlyArg allow_early() { return {}; }

}  // namespace heddle
