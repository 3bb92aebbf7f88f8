// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <heddle/tensor.hpp>
#include <string>

#include "base/text.hpp"

namespace heddle::detail {
namespace {

std::string in_dimension(const char* operation, int dimension) {
  return std::string(operation) + ": dimension " + std::to_string(dimension);
}

}  // namespace

void throw_bad_slice(const char* operation, int dimension, std::int64_t first, std::int64_t count, std::int64_t step,
                     std::int64_t extent) {
  std::string text = in_dimension(operation, dimension) + ": ";
  if (first < 0) throw_invalid(text + "first index " + std::to_string(first) + " is negative");
  if (count < 0) throw_invalid(text + "count " + std::to_string(count) + " is negative");
  if (step < 1) throw_invalid(text + "step " + std::to_string(step) + " is not positive");
  text += std::to_string(count) + (count == 1 ? " index" : " indices") + " from " + std::to_string(first);
  if (step != 1) text += " in steps of " + std::to_string(step);
  throw_invalid(text + (count == 1 ? " leaves" : " leave") + " its extent of " + std::to_string(extent));
}

void throw_bad_shape(const char* operation, const std::int64_t* shape, int rank, std::int64_t have) {
  const std::string text = std::string(operation) + ": ";
  if (std::string_view(operation) == "reshape") {
    throw_invalid(text + "shape " + base::shape_text(shape, rank) + " has " +
                  base::counted(checked_size(operation, shape, rank, 1), "element") + ", the tensor has " +
                  std::to_string(have));
  }
  throw_invalid(text + "both sides must have the same shape, but the source has shape " +
                base::shape_text(shape, rank) + " and the destination extent " + std::to_string(have) +
                " in one of its dimensions");
}

void throw_bad_dimension(const char* operation, int dimension, int rank) {
  throw_invalid(std::string(operation) + ": there is no dimension " + std::to_string(dimension) + ", the tensor has " +
                base::counted(rank, "dimension"));
}

std::int64_t checked_size(const char* operation, const std::int64_t* shape, int rank, std::size_t element_bytes) {
  // Extents of zero count as one here: strides are products of the extents too, and must fit as well.
  auto bytes = static_cast<std::int64_t>(element_bytes);
  std::int64_t elements = 1;
  for (int d = 0; d < rank; ++d) {
    if (shape[d] < 0)
      throw_invalid(in_dimension(operation, d) + ": extent " + std::to_string(shape[d]) + " is negative");
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(shape[d], 1), &bytes))
      throw_invalid(std::string(operation) + ": shape " + base::shape_text(shape, rank) + " with elements of " +
                    base::counted(static_cast<std::int64_t>(element_bytes), "byte") +
                    " takes more than 2^63 - 1 bytes");
    elements *= shape[d];
  }
  return elements;
}

}  // namespace heddle::detail
