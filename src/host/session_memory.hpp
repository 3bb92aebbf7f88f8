// SPDX-License-Identifier: Apache-2.0
//
// The declared tensors of a session's ranks, as a caller names them.
#pragma once

#include <functional>
#include <heddle/program.hpp>
#include <heddle/session.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::host {

class SessionMemory {
 public:
  SessionMemory() = default;
  // One table for each rank. They belong to the session's engine.
  explicit SessionMemory(std::vector<heddle::detail::IoTable*> of_rank) : of_rank_(std::move(of_rank)) {}

  int ranks() const { return static_cast<int>(of_rank_.size()); }
  heddle::detail::IoTable& of(int rank) const { return *of_rank_[static_cast<std::size_t>(rank)]; }

  // All of these throw invalid_argument for a rank, a name or a type that does not fit.
  void check_rank(int rank) const;
  std::span<std::byte> find(int rank, std::string_view name, DType type, std::size_t element_bytes) const;
  // Before a round: all bindings are good before the first one is copied.
  void copy_in(std::span<const Binding> bindings) const;
  // After it, of the ranks that finished.
  void copy_back(std::span<const Binding> bindings, const std::function<bool(int)>& finished) const;

 private:
  std::size_t find(const Binding& binding) const;
  std::vector<heddle::detail::IoTable*> of_rank_;
};

}  // namespace heddle::host
