// SPDX-License-Identifier: Apache-2.0
//
// Element types, comparison and notify operations: the vocabulary that tensors, signals and tasks share.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace heddle {

/// Brain floating point: the upper half of an IEEE single. Storage type; arithmetic is done in float.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  /// Rounds to nearest even; a NaN stays a NaN.
  explicit bf16(float value) noexcept {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (word & 0x7fffffffU) > 0x7f800000U;
    bits = static_cast<std::uint16_t>(is_nan ? (word >> 16U) | 0x40U : (word + 0x7fffU + ((word >> 16U) & 1U)) >> 16U);
  }
  explicit operator float() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }
  friend bool operator==(bf16 left, bf16 right) noexcept {
    return static_cast<float>(left) == static_cast<float>(right);
  }
};
static_assert(sizeof(bf16) == 2 && std::is_trivially_copyable_v<bf16>);

enum class DType : std::uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, bf16, f32, f64, other };

template <class T>
constexpr DType dtype_of() noexcept {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bf16>)
    return DType::bf16;
  else if constexpr (std::is_same_v<U, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<U, double>)
    return DType::f64;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 1)
    return std::is_signed_v<U> ? DType::i8 : DType::u8;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 2)
    return std::is_signed_v<U> ? DType::i16 : DType::u16;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 4)
    return std::is_signed_v<U> ? DType::i32 : DType::u32;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 8)
    return std::is_signed_v<U> ? DType::i64 : DType::u64;
  else
    return DType::other;
}

std::string_view name_of(DType type) noexcept;

/// The kinds of core: matrix ("AIC") and vector ("AIV").
enum class Core : std::uint8_t { cube, vector };

/// The cores that one block of a task takes, all of them in one cluster and at the same time.
struct Cores {
  std::uint8_t cubes = 0;    ///< 0 or 1
  std::uint8_t vectors = 1;  ///< 0 to 2
  constexpr int count() const noexcept { return cubes + vectors; }
  friend constexpr bool operator==(Cores, Cores) = default;
};
inline constexpr Cores cube_core{1, 0};
inline constexpr Cores vector_core{0, 1};
/// A cube core with both vector cores of its cluster. The kernel runs once on each of them: see Block::core and part.
inline constexpr Cores mixed_cores{1, 2};
/// A cube core with one vector core.
inline constexpr Cores mixed_pair{1, 1};

enum class Compare : std::uint8_t { eq, ne, gt, ge, lt, le };
std::string_view name_of(Compare compare) noexcept;

template <class T>
constexpr bool holds(T left, Compare compare, T right) noexcept {
  switch (compare) {
    case Compare::eq:
      return left == right;
    case Compare::ne:
      return left != right;
    case Compare::gt:
      return left > right;
    case Compare::ge:
      return left >= right;
    case Compare::lt:
      return left < right;
    case Compare::le:
      return left <= right;
  }
  return false;
}

/// How a notify changes its cell.
enum class Notify : std::uint8_t { set, add };

/// What a notify promises about the puts that the same block issued before it to the same peer: `released`, that
/// whoever waits for the value sees their data; `relaxed`, nothing.
enum class Order : std::uint8_t { released, relaxed };

/// A signal cell holds one of these.
template <class T>
concept SignalValue = std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>;

}  // namespace heddle
