// SPDX-License-Identifier: Apache-2.0
#include <heddle/window.hpp>
#include <string>

#include "base/text.hpp"

namespace heddle::detail {
namespace {

std::string in_window(const WindowTable& window) { return "window " + base::quoted(window.name) + ": "; }

}  // namespace

void throw_bad_peer(const WindowTable& window, int rank) {
  throw_invalid(in_window(window) + "there is no rank " + std::to_string(rank) + ", the session has " +
                base::counted(static_cast<std::int64_t>(window.part.size()), "rank"));
}

void throw_bad_cell(const WindowTable& window, std::int64_t index, std::int64_t count) {
  throw_invalid(in_window(window) + "there is no cell " + std::to_string(index) + ", each part has " +
                base::counted(count, "cell"));
}

void throw_window_too_small(const WindowTable& window, std::uint64_t bytes) {
  throw_invalid(in_window(window) + "a part of " + base::counted(static_cast<std::int64_t>(window.bytes), "byte") +
                " holds no cell of " + base::counted(static_cast<std::int64_t>(bytes), "byte"));
}

void check_window_view(const WindowTable* window, const std::int64_t* shape, int rank, std::size_t element_bytes) {
  if (window == nullptr) throw_invalid("window: this handle names no window");
  const auto elements = static_cast<std::uint64_t>(checked_size("window", shape, rank, element_bytes));
  if (elements > window->bytes / element_bytes)
    throw_invalid(in_window(*window) + "shape " + base::shape_text(shape, rank) + " with elements of " +
                  base::counted(static_cast<std::int64_t>(element_bytes), "byte") + " takes " +
                  std::to_string(elements * element_bytes) + " bytes, each part has " + std::to_string(window->bytes));
}

}  // namespace heddle::detail
