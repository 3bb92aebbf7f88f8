// SPDX-License-Identifier: Apache-2.0
#include "lab/checkers/bounds.hpp"

namespace heddle::lab::checkers {
namespace {

std::string bytes_from(const graph::Region& bytes, std::uintptr_t base) {
  const auto offset = static_cast<std::int64_t>(bytes.base) - static_cast<std::int64_t>(base);
  return "bytes " + std::to_string(offset) + " to " +
         std::to_string(offset + static_cast<std::int64_t>(bytes.extent) - 1);
}

}  // namespace

void Bounds::uses(BlockIndex block, const char* verb, const Piece& piece, bool far) {
  const graph::Region bytes = region_of(piece);
  if (bytes.empty()) return;
  if (piece.window != nullptr) return check_window(block, verb, piece, bytes);
  if (far) return refuse(block, std::string(verb) + " " + std::to_string(bytes.extent) + " bytes in no window");
  check_arguments(block, verb, bytes);
}

void Bounds::check_window(BlockIndex block, const char* verb, const Piece& piece, const graph::Region& bytes) {
  const auto& part = piece.window->part;
  const auto rank = static_cast<std::size_t>(piece.rank);
  if (piece.rank < 0 || rank >= part.size())
    return refuse(block, std::string(verb) + " memory of rank " + std::to_string(piece.rank) + ", which there is not");
  const auto base = reinterpret_cast<std::uintptr_t>(part[rank]);
  if (bytes.base >= base && bytes.end() <= base + piece.window->bytes) return;
  refuse(block, std::string(verb) + " " + bytes_from(bytes, base) + " of window " + piece.window->name + " of rank " +
                    std::to_string(piece.rank) + ", which has " + std::to_string(piece.window->bytes) + " bytes");
}

// What touches no argument and none beside it is the kernel's own memory.
void Bounds::check_arguments(BlockIndex block, const char* verb, const graph::Region& bytes) {
  const auto arguments = context_.arguments_of(context_.order.block(block).task);
  const graph::Region first = graph::Region::contiguous(reinterpret_cast<const void*>(bytes.base), 1);
  const graph::Region last = graph::Region::contiguous(reinterpret_cast<const void*>(bytes.end() - 1), 1);
  std::size_t left = arguments.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const graph::Region& region = arguments[i].region;
    if (region.empty()) continue;
    if (graph::overlaps(region, first, context_.overlaps) && graph::overlaps(region, last, context_.overlaps)) return;
    const bool beside = bytes.base < region.end() + bytes_of_line && bytes.end() + bytes_of_line > region.base;
    if (beside && left == arguments.size()) left = i;
  }
  if (left == arguments.size()) return;
  refuse(block, std::string(verb) + " " + bytes_from(bytes, arguments[left].region.base) + " of argument " +
                    std::to_string(left) + ", which has " + std::to_string(arguments[left].region.extent) + " bytes");
}

void Bounds::refuse(BlockIndex block, std::string message) {
  context_.report("bounds", context_.error_at(Code::kernel_failed, "the kernel " + std::move(message),
                                              context_.order.block(block).task, block));
}

}  // namespace heddle::lab::checkers
