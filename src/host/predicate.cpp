// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "host/block_services.hpp"

namespace heddle::host {

namespace {

template <class T>
T read(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

bool compare_integer(const heddle::detail::PredicateRecord& predicate, std::int64_t value) {
  return holds(value, predicate.compare, predicate.integer);
}

}  // namespace

bool evaluate(const heddle::detail::PredicateRecord& predicate) {
  const void* element = predicate.element;
  switch (predicate.type) {
    case DType::i8:
      return compare_integer(predicate, read<std::int8_t>(element));
    case DType::u8:
      return compare_integer(predicate, read<std::uint8_t>(element));
    case DType::i16:
      return compare_integer(predicate, read<std::int16_t>(element));
    case DType::u16:
      return compare_integer(predicate, read<std::uint16_t>(element));
    case DType::i32:
      return compare_integer(predicate, read<std::int32_t>(element));
    case DType::u32:
      return compare_integer(predicate, read<std::uint32_t>(element));
    case DType::i64:
      return compare_integer(predicate, read<std::int64_t>(element));
    case DType::u64:
      return holds(read<std::uint64_t>(element), predicate.compare, static_cast<std::uint64_t>(predicate.integer));
    case DType::f32:
      return holds(static_cast<double>(read<float>(element)), predicate.compare, predicate.real);
    case DType::f64:
      return holds(read<double>(element), predicate.compare, predicate.real);
    case DType::bf16:
    case DType::other:
      break;
  }
  return true;
}

}  // namespace heddle::host
