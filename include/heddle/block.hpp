// SPDX-License-Identifier: Apache-2.0
//
// A block: one SPMD instance of a task, as its kernel sees it.
#pragma once

#include <cstdint>
#include <heddle/error.hpp>
#include <heddle/window.hpp>
#include <source_location>
#include <type_traits>

namespace heddle {

namespace detail {

/// An N-dimensional copy between two strided regions of the same shape. Strides in bytes.
struct CopyPlan {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t element_bytes = 0;
  int rank = 0;
  std::int64_t shape[max_tensor_rank]{};
  std::int64_t to_stride[max_tensor_rank]{};
  std::int64_t from_stride[max_tensor_rank]{};
};

/// A signal cell, its width erased.
struct SignalRef {
  void* cell = nullptr;
  const WindowTable* window = nullptr;
  int rank = 0;
  bool wide = false;  ///< 64 bit
};
template <SignalValue T>
SignalRef ref(const Signal<T>& signal) {
  return {signal.cell, signal.window, signal.rank, sizeof(T) == 8};
}

/// No vector half was named.
inline constexpr int every_part = INT32_MIN;

/// A tile as push reads it and pop writes it. Strides in bytes.
struct TileRef {
  std::byte* data = nullptr;
  std::size_t element_bytes = 0;
  int rank = 0;
  std::int64_t shape[max_tensor_rank]{};
  std::int64_t stride[max_tensor_rank]{};
};

/// What a backend does for a running block.
class BlockServices {
 public:
  virtual void put(int peer, const CopyPlan& plan) = 0;
  virtual void get(int peer, const CopyPlan& plan) = 0;
  virtual void notify(const SignalRef& signal, std::int64_t value, Notify how, Order order) = 0;
  virtual void wait(const SignalRef& signal, Compare compare, std::int64_t value) = 0;
  virtual bool test(const SignalRef& signal, Compare compare, std::int64_t value) = 0;
  virtual void fence(int peer) = 0;
  virtual void quiet() = 0;
  virtual void load(void* value, const void* cell, std::size_t bytes) = 0;
  virtual void store(void* cell, const void* value, std::size_t bytes) = 0;
  virtual void clean(const void* data, std::size_t bytes) = 0;
  virtual void invalidate(const void* data, std::size_t bytes) = 0;
  virtual bool cancelled() = 0;
  virtual void spend(std::uint64_t nanoseconds) = 0;
  virtual void flag_set(std::int64_t flag, const Location& here) = 0;
  virtual void flag_wait(std::int64_t flag, const Location& here) = 0;
  virtual void push(const TileRef& tile, int part, const Location& here) = 0;  // or every_part
  virtual void pop(const TileRef& tile, int part, const Location& here) = 0;

 protected:
  ~BlockServices() = default;
};

template <class D, class S, int N>
CopyPlan plan_copy(const char* operation, const Strided<D, N>& to, const Strided<S, N>& from) {
  static_assert(std::is_same_v<std::remove_const_t<D>, std::remove_const_t<S>>, "both sides have one element type");
  CopyPlan plan{
      reinterpret_cast<std::byte*>(to.data), reinterpret_cast<const std::byte*>(from.data), sizeof(D), N, {}, {}, {}};
  for (int d = 0; d < N; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (to.shape[i] != from.shape[i]) throw_bad_shape(operation, from.shape.data(), N, to.shape[i]);
    plan.shape[d] = to.shape[i];
    plan.to_stride[d] = to.stride[i] * static_cast<std::int64_t>(sizeof(D));
    plan.from_stride[d] = from.stride[i] * static_cast<std::int64_t>(sizeof(D));
  }
  return plan;
}

template <class T, int N>
TileRef tile_of(const Strided<T, N>& strided) {
  using Element = std::remove_const_t<T>;
  TileRef tile{reinterpret_cast<std::byte*>(const_cast<Element*>(strided.data)), sizeof(T), N, {}, {}};
  for (int d = 0; d < N; ++d) {
    const auto i = static_cast<std::size_t>(d);
    tile.shape[d] = strided.shape[i];
    tile.stride[d] = strided.stride[i] * static_cast<std::int64_t>(sizeof(T));
  }
  return tile;
}

}  // namespace detail

class Block {
 public:
  struct Identity {
    std::int64_t index = 0;
    std::int64_t count = 1;
    int rank = 0;
    int ranks = 1;
    std::int64_t round = 0;
    const char* task = "";
    Core core = Core::vector;
    int part = 0;
    bool values = true;
  };
  Block(detail::BlockServices& services, const Identity& identity) : services_(&services), identity_(identity) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// In [0, count).
  std::int64_t index() const { return identity_.index; }
  std::int64_t count() const { return identity_.count; }
  int rank() const { return identity_.rank; }
  int ranks() const { return identity_.ranks; }
  std::int64_t round() const { return identity_.round; }
  const char* task() const { return identity_.task; }
  /// The kind of core that this runs on, and which one of the block's vector cores (0 or 1; 0 on a cube core). A task
  /// of mixed_cores runs its kernel once on each of a block's cores.
  Core core() const { return identity_.core; }
  int part() const { return identity_.part; }
  /// False in a laboratory run without values: a kernel then skips its arithmetic, and keeps its puts, notifies and
  /// waits.
  bool values() const { return identity_.values; }

  /// Copies a region into a peer's window. Same shape on both sides.
  template <class T, class S, int N>
  void put(const Remote<T, N>& to, const View<S, N>& from) {
    services_->put(to.rank(), detail::plan_copy("put", to.strided(), from.strided()));
  }
  /// Copies a region of a peer's window into a view.
  template <class T, class S, int N>
  void get(const View<T, N>& to, const Remote<S, N>& from) {
    static_assert(!std::is_const_v<T>, "get writes its first argument");
    services_->get(from.rank(), detail::plan_copy("get", to.strided(), from.strided()));
  }
  /// Updates one cell atomically; released, it also publishes this block's earlier puts to that peer.
  template <SignalValue T>
  void notify(const Signal<T>& signal, std::type_identity_t<T> value, Notify how, Order order = Order::released) {
    services_->notify(detail::ref(signal), value, how, order);
  }
  /// Parks until the cell compares true with the value. The cell belongs to this block's own rank.
  template <SignalValue T>
  void wait(const Signal<T>& signal, Compare compare, std::type_identity_t<T> value) {
    services_->wait(detail::ref(signal), compare, value);
  }
  /// The same question, asked once.
  template <SignalValue T>
  bool test(const Signal<T>& signal, Compare compare, std::type_identity_t<T> value) {
    return services_->test(detail::ref(signal), compare, value);
  }
  /// Orders this block's earlier puts and notifies to the peer before its later ones.
  void fence(Peer peer) { services_->fence(peer.rank); }
  void fence(int rank) { services_->fence(rank); }
  /// Returns when this block's earlier puts have reached their peers.
  void quiet() { services_->quiet(); }

  /// Scalar access to device memory through the core's own cache, which is not coherent on a chip: `clean` writes lines
  /// back, `invalidate` forgets them. Plain loads and stores on the host.
  template <class T, int N, class... I>
    requires detail::all_indices<I...>
  std::remove_const_t<T> read(const View<T, N>& view, I... index) {
    std::remove_const_t<T> value;
    services_->load(&value, &view(index...), sizeof value);
    return value;
  }
  template <class T, int N, class... I>
    requires detail::all_indices<I...>
  void write(const View<T, N>& view, std::type_identity_t<T> value, I... index) {
    services_->store(&view(index...), &value, sizeof value);
  }
  template <class T, int N>
  void clean(const View<T, N>& view) {
    services_->clean(view.span().data(), view.span().size_bytes());
  }
  template <class T, int N>
  void invalidate(const View<T, N>& view) {
    services_->invalidate(view.span().data(), view.span().size_bytes());
  }

  /// How long the arithmetic of this kernel takes on a core. Virtual time of a laboratory run; nothing on the host,
  /// where the arithmetic takes what it takes.
  void spend(std::uint64_t nanoseconds) { services_->spend(nanoseconds); }

  /// A mixed task's halves, the cube core and the vector cores of one block, talk by flags and tiles; tasks of one core
  /// are refused (invalid_argument). Flags are numbered from 0 to 15 and count to 15. What one side sets the other side
  /// waits for: a cube's set reaches each vector half, and a cube's wait takes one of each of them.
  ///
  /// Adds one. Waits while the count is full.
  void flag_set(std::int64_t flag, const std::source_location& here = std::source_location::current()) {
    services_->flag_set(flag, Location(here));
  }
  /// Waits until there is one, and takes it.
  void flag_wait(std::int64_t flag, const std::source_location& here = std::source_location::current()) {
    services_->flag_wait(flag, Location(here));
  }
  /// Copies a tile into the queue to the other side, which holds 4. Waits while that is full. A cube's tile goes to
  /// each vector half.
  template <class T, int N>
  void push(const View<T, N>& tile, const std::source_location& here = std::source_location::current()) {
    services_->push(detail::tile_of(tile.strided()), detail::every_part, Location(here));
  }
  /// Waits for the oldest tile of the other side, and takes it. A cube that has two vector halves names the one.
  template <class T, int N>
  void pop(const View<T, N>& tile, const std::source_location& here = std::source_location::current()) {
    static_assert(!std::is_const_v<T>, "pop writes its argument");
    services_->pop(detail::tile_of(tile.strided()), detail::every_part, Location(here));
  }
  /// On a cube: to or from that vector half alone, 0 or 1.
  template <class T, int N>
  void push_to(int part, const View<T, N>& tile, const std::source_location& here = std::source_location::current()) {
    services_->push(detail::tile_of(tile.strided()), part, Location(here));
  }
  template <class T, int N>
  void pop_from(int part, const View<T, N>& tile, const std::source_location& here = std::source_location::current()) {
    static_assert(!std::is_const_v<T>, "pop_from writes its argument");
    services_->pop(detail::tile_of(tile.strided()), part, Location(here));
  }

  /// True once the rank is being cancelled: a long kernel that asks can end early.
  bool cancelled() const { return services_->cancelled(); }

 private:
  detail::BlockServices* services_;
  Identity identity_;
};

}  // namespace heddle
