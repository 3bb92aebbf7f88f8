// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace heddle::programs {
namespace {

template <class T>
class Pattern : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, bf16, std::int32_t>;
TYPED_TEST_SUITE(Pattern, ElementTypes);

template <class T>
Period<T> some_period() {
  return make_period<T>([](std::int64_t i) { return (i * i + 5) % 127; });
}

TYPED_TEST(Pattern, IsWrittenAsAPlainLoopWouldWriteIt) {
  const auto period = some_period<TypeParam>();
  for (const std::size_t size : {0UL, 1UL, 96UL, 97UL, 98UL, 194UL, 1000UL, 6208UL, 6209UL, 50'000UL}) {
    std::vector<TypeParam> data(size + 1);
    const TypeParam behind = data.back();
    fill_periodic(std::span(data).first(size), period);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(data[i], period[i % 97]) << "element " << i << " of " << size;
    EXPECT_EQ(data.back(), behind);
    EXPECT_EQ(first_difference(std::span<const TypeParam>(data).first(size), period), -1);
  }
}

TYPED_TEST(Pattern, FirstWrongElementIsFoundWhereverItIs) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto period = some_period<TypeParam>();
  for (int repeat = 0; repeat < 300; ++repeat) {
    const std::size_t size = 1 + random() % 500;
    std::vector<TypeParam> data(size);
    fill_periodic(std::span(data), period);
    // Errors a whole period apart agree with each other, and are errors all the same.
    const std::size_t wrong = random() % size;
    for (std::size_t i = wrong; i < size; i += random() % 2 == 0 ? 97 : 1 + random() % 200)
      reinterpret_cast<unsigned char*>(&data[i])[random() % sizeof(TypeParam)] ^=
          static_cast<unsigned char>(1U << random() % 8);
    EXPECT_EQ(first_difference(std::span<const TypeParam>(data), period), static_cast<std::int64_t>(wrong));
  }
}

}  // namespace
}  // namespace heddle::programs
