// SPDX-License-Identifier: Apache-2.0
//
// The argument lists that random tasks have. Submits are templates over their arguments, so the lists are fixed;
// element types and ranks are spread over them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

namespace heddle::random_graph {

enum class Kind : char { in = 'i', out = 'o', inout = 'b', no_dep = 'n', scratch = 's', fresh = 'f' };

using Types = std::tuple<std::uint8_t, std::int16_t, std::uint32_t, float, double, std::uint64_t>;
inline constexpr int type_count = static_cast<int>(std::tuple_size_v<Types>);
inline constexpr std::array<int, std::tuple_size_v<Types>> type_bytes{1, 2, 4, 4, 8, 8};
inline constexpr std::array<std::string_view, std::tuple_size_v<Types>> type_names{"u8",  "i16", "u32",
                                                                                   "f32", "f64", "u64"};

// One letter an argument, as in Kind. Lists from `first_dummy` on are of tasks that run nothing.
inline constexpr std::array<std::string_view, 31> lists{
    "o",   "io",  "iio", "iiio", "iiiio", "b",  "ib",  "iib", "ioo",   "ob", "iob", "iioob", "i",   "ii", "n",  "ino",
    "inb", "iso", "f",   "if",   "iif",   "bf", "ifs", "ff",  "iinsf", "",   "b",   "bb",    "bbb", "ib", "iob"};
inline constexpr int first_dummy = 25;
inline constexpr int variants = 3;

constexpr int type_of(int list, int variant, int arg) { return (list + variant * 2 + arg) % type_count; }
constexpr int rank_of(int list, int variant, int arg) { return (list + variant + arg * 2) % 5 + 1; }
constexpr bool has_fresh(int list) { return lists[static_cast<std::size_t>(list)].find('f') != std::string_view::npos; }
constexpr bool is_dummy(int list) { return list >= first_dummy; }
// A task with a predicate may not have written what it allocates, so that nobody could use it.
constexpr bool may_have_predicate(int list) { return !has_fresh(list) && !is_dummy(list); }

}  // namespace heddle::random_graph
