// SPDX-License-Identifier: Apache-2.0
#include <heddle/types.hpp>

namespace heddle {

std::string_view name_of(DType type) noexcept {
  switch (type) {
    case DType::i8:
      return "i8";
    case DType::u8:
      return "u8";
    case DType::i16:
      return "i16";
    case DType::u16:
      return "u16";
    case DType::i32:
      return "i32";
    case DType::u32:
      return "u32";
    case DType::i64:
      return "i64";
    case DType::u64:
      return "u64";
    case DType::bf16:
      return "bf16";
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::other:
      return "other";
  }
  return "unknown";
}

std::string_view name_of(Compare compare) noexcept {
  switch (compare) {
    case Compare::eq:
      return "eq";
    case Compare::ne:
      return "ne";
    case Compare::gt:
      return "gt";
    case Compare::ge:
      return "ge";
    case Compare::lt:
      return "lt";
    case Compare::le:
      return "le";
  }
  return "unknown";
}

}  // namespace heddle
