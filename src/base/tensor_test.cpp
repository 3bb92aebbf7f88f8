// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <heddle/tensor.hpp>
#include <heddle/window.hpp>
#include <numeric>
#include <string>
#include <vector>

namespace heddle {
namespace {

template <class F>
std::string refusal(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    return error.message();
  }
  return "nothing was refused";
}

template <class T, int N>
View<T, N> view_of(const Tensor<T, N>& tensor) {
  return View<T, N>(tensor.strided());
}

std::vector<int> counting(std::size_t n) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(Tensor, of_wrapped_memory_is_dense_and_row_major) {
  auto memory = counting(24);
  const auto tensor = wrap(memory.data(), 2, 3, 4);
  EXPECT_EQ(tensor.size(), 24);
  EXPECT_TRUE(tensor.contiguous());
  EXPECT_EQ(tensor.stride(0), 12);
  EXPECT_EQ(tensor.stride(2), 1);
  EXPECT_EQ(view_of(tensor)(1, 2, 3), 23);
  EXPECT_EQ(view_of(tensor)(0, 1, 0), 4);
}

TEST(Tensor, views_slices_and_rows_name_the_same_memory) {
  auto memory = counting(60);
  const auto tensor = wrap(memory.data(), 6, 10);
  const auto box = view_of(tensor.view({1, 2}, {3, 4}));
  EXPECT_EQ(box.shape(0), 3);
  EXPECT_EQ(box(0, 0), 12);
  EXPECT_EQ(box(2, 3), 35);
  EXPECT_FALSE(box.contiguous());
  const auto stepped = view_of(tensor.slice(1, 1, 3, 4));
  EXPECT_EQ(stepped(0, 2), 9);
  EXPECT_EQ(stepped.stride(1), 4);
  EXPECT_EQ(view_of(tensor.slice(1, 1, 3, 4).slice(1, 1, 2))(5, 1), 59);
  EXPECT_TRUE(tensor.rows(2, 2).contiguous());
  EXPECT_EQ(view_of(tensor.rows(2, 2))(0, 0), 20);
  box(0, 0) = -1;
  EXPECT_EQ(memory[12], -1);
}

TEST(Tensor, an_empty_slice_at_the_end_is_allowed) {
  auto memory = counting(8);
  EXPECT_EQ(wrap(memory.data(), 8).rows(8, 0).size(), 0);
  EXPECT_EQ(wrap(static_cast<int*>(nullptr), 0).size(), 0);
}

TEST(Tensor, transposes_and_permutes_without_copying) {
  auto memory = counting(24);
  const auto tensor = wrap(memory.data(), 2, 3, 4);
  const auto transposed = view_of(tensor.transpose(0, 2));
  EXPECT_EQ(transposed.shape(0), 4);
  EXPECT_EQ(transposed(3, 2, 1), 23);
  const auto permuted = view_of(tensor.permute({2, 0, 1}));
  EXPECT_EQ(permuted(3, 1, 2), 23);
  EXPECT_EQ(permuted.shape(1), 2);
}

TEST(Tensor, reshapes_and_casts_contiguous_memory) {
  auto memory = counting(24);
  const auto tensor = wrap(memory.data(), 4, 6);
  EXPECT_EQ(view_of(tensor.reshape(2, 2, 6))(1, 1, 5), 23);
  const auto shorts = tensor.cast<std::int16_t>();
  EXPECT_EQ(shorts.shape(1), 12);
  EXPECT_EQ(view_of(shorts)(3, 10), 23);
  const auto wide = wrap(memory.data(), 4, 6).cast<std::int64_t>();
  EXPECT_EQ(wide.shape(1), 3);
  EXPECT_EQ(wide.stride(0), 3);
}

TEST(Tensor, refuses_what_leaves_it) {
  auto memory = counting(60);
  const auto tensor = wrap(memory.data(), 6, 10);
  EXPECT_EQ(refusal([&] { tensor.rows(5, 2); }), "rows: dimension 0: 2 indices from 5 leave its extent of 6");
  EXPECT_EQ(refusal([&] { tensor.rows(6, 1); }), "rows: dimension 0: 1 index from 6 leaves its extent of 6");
  EXPECT_EQ(refusal([&] { tensor.slice(1, 1, 4, 3); }),
            "slice: dimension 1: 4 indices from 1 in steps of 3 leave its extent of 10");
  EXPECT_EQ(refusal([&] { tensor.slice(1, -1, 4); }), "slice: dimension 1: first index -1 is negative");
  EXPECT_EQ(refusal([&] { tensor.slice(1, 1, -4); }), "slice: dimension 1: count -4 is negative");
  EXPECT_EQ(refusal([&] { tensor.slice(1, 1, 4, 0); }), "slice: dimension 1: step 0 is not positive");
  EXPECT_EQ(
      refusal([&] { tensor.slice(1, 0, INT64_MAX, INT64_MAX); }),
      "slice: dimension 1: 9223372036854775807 indices from 0 in steps of 9223372036854775807 leave its extent of 10");
  EXPECT_EQ(refusal([&] { tensor.slice(2, 0, 1); }), "slice: there is no dimension 2, the tensor has 2 dimensions");
  EXPECT_EQ(refusal([&] { tensor.view({0, 8}, {6, 3}); }),
            "view: dimension 1: 3 indices from 8 leave its extent of 10");
  EXPECT_EQ(refusal([&] { tensor.transpose(0, -1); }),
            "transpose: there is no dimension -1, the tensor has 2 dimensions");
  EXPECT_EQ(refusal([&] { tensor.permute({1, 1}); }), "permute: a dimension is named twice");
  EXPECT_EQ(refusal([&] { static_cast<void>(tensor.shape(3)); }),
            "shape: there is no dimension 3, the tensor has 2 dimensions");
}

TEST(Tensor, refuses_reshapes_and_casts_that_do_not_fit) {
  auto memory = counting(60);
  const auto tensor = wrap(memory.data(), 6, 10);
  EXPECT_EQ(refusal([&] { tensor.reshape(7, 9); }), "reshape: shape [7, 9] has 63 elements, the tensor has 60");
  EXPECT_EQ(refusal([&] { tensor.slice(1, 0, 5).reshape(30); }),
            "reshape: the tensor is not contiguous; reshape a contiguous one, or copy it");
  EXPECT_EQ(refusal([&] { tensor.slice(1, 0, 5).cast<std::int64_t>(); }),
            "cast: the last dimension must be contiguous and a whole number of the new elements");
  EXPECT_EQ(refusal([&] { tensor.transpose(0, 1).cast<std::int16_t>(); }),
            "cast: the last dimension must be contiguous and a whole number of the new elements");
}

TEST(Tensor, refuses_memory_and_sizes_that_cannot_be) {
  int element = 0;
  EXPECT_EQ(refusal([&] { wrap(static_cast<int*>(nullptr), 4); }), "wrap: the memory is null");
  EXPECT_EQ(refusal([&] { wrap(&element, 2, -3); }), "wrap: dimension 1: extent -3 is negative");
  EXPECT_EQ(refusal([&] { wrap(&element, INT64_MAX / 4, 4); }),
            "wrap: shape [2305843009213693951, 4] with elements of 4 bytes takes more than 2^63 - 1 bytes");
  EXPECT_EQ(
      refusal([&] { wrap(&element, 0, INT64_MAX, INT64_MAX); }),
      "wrap: shape [0, 9223372036854775807, 9223372036854775807] with elements of 4 bytes takes more than 2^63 - 1 "
      "bytes");
}

TEST(View, fails_the_kernel_at_an_index_out_of_range) {
  auto memory = counting(6);
  const auto view = view_of(wrap(memory.data(), 2, 3));
  for (const std::int64_t index : {std::int64_t{3}, std::int64_t{-1}, INT64_MAX}) {
    try {
      view(1, index) = 0;
      ADD_FAILURE() << index;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kernel_failed);
      EXPECT_EQ(error.message(),
                "index " + std::to_string(index) + " of dimension 1 is outside its view, whose extent there is 3");
    }
  }
}

TEST(Window, refuses_ranks_cells_and_shapes_that_it_does_not_have) {
  alignas(8) std::byte memory[2][32] = {};
  const detail::WindowTable table{{memory[0], memory[1]}, 32, "hidden_done"};
  const Window window(&table, 0);
  EXPECT_EQ(refusal([&] { window.tensor<int>(2, 4).at(2); }),
            "window \"hidden_done\": there is no rank 2, the session has 2 ranks");
  EXPECT_EQ(refusal([&] { window.signals<std::int64_t>().mine()[4]; }),
            "window \"hidden_done\": there is no cell 4, each part has 4 cells");
  EXPECT_EQ(refusal([&] { window.signals<std::int32_t>().at(-1); }),
            "window \"hidden_done\": there is no rank -1, the session has 2 ranks");
  EXPECT_EQ(refusal([&] { window.tensor<int>(3, 3); }),
            "window \"hidden_done\": shape [3, 3] with elements of 4 bytes takes 36 bytes, each part has 32");
  EXPECT_EQ(refusal([&] { window.tensor<int>(-3); }), "window: dimension 0: extent -3 is negative");
  EXPECT_EQ(refusal([] { Window(nullptr, 0).tensor<int>(1); }), "window: this handle names no window");
  const detail::WindowTable small{{memory[0]}, 2, "tiny"};
  EXPECT_EQ(refusal([&] { Window(&small, 0).signals<std::int32_t>(); }),
            "window \"tiny\": a part of 2 bytes holds no cell of 4 bytes");
  EXPECT_EQ(window.tensor<int>(2, 4).at(1).strided().data, reinterpret_cast<int*>(memory[1]));
}

TEST(Names, of_types_and_comparisons_are_short) {
  EXPECT_EQ(name_of(dtype_of<bf16>()), "bf16");
  EXPECT_EQ(name_of(dtype_of<const std::uint16_t>()), "u16");
  EXPECT_EQ(name_of(dtype_of<float>()), "f32");
  EXPECT_EQ(name_of(dtype_of<void*>()), "other");
  EXPECT_EQ(name_of(Compare::ge), "ge");
}

TEST(Bf16, rounds_to_nearest_even_and_keeps_a_nan_one) {
  EXPECT_EQ(static_cast<float>(bf16(1.0F)), 1.0F);
  EXPECT_EQ(bf16(std::bit_cast<float>(0x3f808000U)).bits, 0x3f80);  // a tie goes to the even neighbour
  EXPECT_EQ(bf16(std::bit_cast<float>(0x3f818000U)).bits, 0x3f82);
  EXPECT_EQ(bf16(std::bit_cast<float>(0x3f808001U)).bits, 0x3f81);
  const auto nan = static_cast<float>(bf16(std::bit_cast<float>(0x7f800001U)));
  EXPECT_NE(nan, nan);
}

}  // namespace
}  // namespace heddle
