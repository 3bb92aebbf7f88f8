// SPDX-License-Identifier: Apache-2.0
//
// The entry of libFuzzer. HEDDLE_FUZZ_TARGET: the function of targets.hpp that takes the bytes.
#include <cstddef>
#include <cstdint>

#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heddle::fuzz::HEDDLE_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
