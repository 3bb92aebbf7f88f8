// SPDX-License-Identifier: Apache-2.0
//
// Symmetric windows: memory of which every rank of a session has one part of the same size, reachable by all. Kernels
// move data between parts with Block::put and get, and order it with signals: cells that a peer notifies and that their
// own rank waits on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <heddle/tensor.hpp>
#include <vector>

namespace heddle {

namespace detail {
/// One symmetric window, as handles see it. Lives as long as the session.
struct WindowTable {
  std::vector<std::byte*> part;  ///< per rank
  std::uint64_t bytes = 0;       ///< of one part
  const char* name = "";
};
[[noreturn]] void throw_bad_peer(const WindowTable& window, int rank);
[[noreturn]] void throw_bad_cell(const WindowTable& window, std::int64_t index, std::int64_t count);
[[noreturn]] void throw_window_too_small(const WindowTable& window, std::uint64_t bytes);
void check_window_view(const WindowTable* window, const std::int64_t* shape, int rank, std::size_t element_bytes);
}  // namespace detail

/// A member of a Group: its rank in the session, and its place within the group.
struct Peer {
  int rank = 0;
  int index = 0;
  friend bool operator==(const Peer&, const Peer&) = default;
};

/// A run of consecutive ranks, one of which is mine. Iterates over its peers in order.
class Group {
 public:
  Group(int base, int size, int mine) : base_(base), size_(size), mine_(mine) {}

  class Iterator {
   public:
    using value_type = Peer;
    using difference_type = std::ptrdiff_t;
    Iterator(int base, int index, int skip) : base_(base), index_(index), skip_(skip) { pass(); }
    Peer operator*() const { return {base_ + index_, index_}; }
    Iterator& operator++() {
      ++index_;
      pass();
      return *this;
    }
    friend bool operator==(const Iterator& left, const Iterator& right) { return left.index_ == right.index_; }

   private:
    void pass() {
      if (index_ == skip_) ++index_;
    }
    int base_, index_, skip_;
  };
  struct Others {
    int base, size, mine;
    Iterator begin() const { return {base, 0, mine}; }
    Iterator end() const { return {base, size, -1}; }
  };

  int size() const { return size_; }
  Peer mine() const { return {base_ + mine_, mine_}; }
  /// index in [0, size).
  Peer operator[](int index) const {
    if (index < 0 || index >= size_) detail::throw_invalid("group: there is no such member");
    return {base_ + index, index};
  }
  Iterator begin() const { return {base_, 0, -1}; }
  Iterator end() const { return {base_, size_, -1}; }
  /// All but mine.
  Others others() const { return {base_, size_, mine_}; }

 private:
  int base_, size_, mine_;
};

/// A region of one rank's part of a window: what put writes and get reads.
template <class T, int N = 1>
class Remote {
 public:
  Remote(const detail::Strided<T, N>& strided, int rank) : s_(strided), rank_(rank) {}
  int rank() const { return rank_; }
  Remote rows(std::int64_t first, std::int64_t count) const { return {s_.slice("rows", 0, first, count, 1), rank_}; }
  Remote view(const detail::Extents<N>& offset, const detail::Extents<N>& extent) const {
    return {s_.window(offset, extent), rank_};
  }
  Remote slice(int dimension, std::int64_t first, std::int64_t count, std::int64_t step = 1) const {
    return {s_.slice("slice", dimension, first, count, step), rank_};
  }
  const detail::Strided<T, N>& strided() const { return s_; }

 private:
  detail::Strided<T, N> s_;
  int rank_;
};

/// A window seen as a tensor of the same shape on every rank.
template <class T, int N = 1>
class Symmetric {
 public:
  Symmetric() = default;
  Symmetric(const detail::WindowTable* window, int mine, const detail::Extents<N>& shape)
      : window_(window), mine_(mine), shape_(shape) {
    detail::check_window_view(window, shape.data(), N, sizeof(T));
  }
  Remote<T, N> at(int rank) const { return {on(rank), rank}; }
  Remote<T, N> at(Peer peer) const { return at(peer.rank); }
  Tensor<T, N> mine() const { return {on(mine_), detail::Owner{}}; }

 private:
  detail::Strided<T, N> on(int rank) const {
    if (rank < 0 || static_cast<std::size_t>(rank) >= window_->part.size()) detail::throw_bad_peer(*window_, rank);
    return detail::Strided<T, N>::dense(reinterpret_cast<T*>(window_->part[static_cast<std::size_t>(rank)]), shape_);
  }
  const detail::WindowTable* window_ = nullptr;
  int mine_ = 0;
  detail::Extents<N> shape_{};
};

/// One cell of one rank's part.
template <SignalValue T>
struct Signal {
  T* cell = nullptr;
  int rank = 0;
  const detail::WindowTable* window = nullptr;
};

/// The cells of one rank's part.
template <SignalValue T>
class SignalRow {
 public:
  SignalRow(const detail::WindowTable* window, int rank) : window_(window), rank_(rank) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= window->part.size()) detail::throw_bad_peer(*window, rank);
  }
  std::int64_t size() const { return static_cast<std::int64_t>(window_->bytes / sizeof(T)); }
  Signal<T> operator[](std::int64_t index) const {
    if (index < 0 || index >= size()) detail::throw_bad_cell(*window_, index, size());
    return {reinterpret_cast<T*>(window_->part[static_cast<std::size_t>(rank_)]) + index, rank_, window_};
  }
  Signal<T> operator[](Peer peer) const { return (*this)[static_cast<std::int64_t>(peer.index)]; }

 private:
  const detail::WindowTable* window_;
  int rank_;
};

/// A window seen as signal cells of T.
template <SignalValue T>
class Signals {
 public:
  Signals() = default;
  Signals(const detail::WindowTable* window, int mine) : window_(window), mine_(mine) {
    if (window->bytes < sizeof(T)) detail::throw_window_too_small(*window, sizeof(T));
  }
  SignalRow<T> at(int rank) const { return {window_, rank}; }
  SignalRow<T> at(Peer peer) const { return {window_, peer.rank}; }
  SignalRow<T> mine() const { return {window_, mine_}; }
  /// The cells of my part as a tensor, for tasks that read or clear them.
  Tensor<T, 1> tensor() const {
    const auto cells = static_cast<std::int64_t>(window_->bytes / sizeof(T));
    auto* data = reinterpret_cast<T*>(window_->part[static_cast<std::size_t>(mine_)]);
    return {detail::Strided<T, 1>::dense(data, {cells}), detail::Owner{}};
  }

 private:
  const detail::WindowTable* window_ = nullptr;
  int mine_ = 0;
};

/// An untyped window handle of one rank.
class Window {
 public:
  Window(const detail::WindowTable* window, int mine) : window_(window), mine_(mine) {}
  std::uint64_t bytes() const { return window_->bytes; }
  template <class T, class... I>
    requires detail::all_indices<I...>
  Symmetric<T, static_cast<int>(sizeof...(I))> tensor(I... extent) const {
    return {window_, mine_, detail::Extents<static_cast<int>(sizeof...(I))>{static_cast<std::int64_t>(extent)...}};
  }
  template <SignalValue T>
  Signals<T> signals() const {
    return {window_, mine_};
  }

 private:
  const detail::WindowTable* window_;
  int mine_;
};

}  // namespace heddle
