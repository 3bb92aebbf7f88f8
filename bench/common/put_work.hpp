// SPDX-License-Identifier: Apache-2.0
// The size of one put and how many of them make a sample, equal for all contenders.
#pragma once

#include "common/harness.hpp"

namespace heddle::bench {

struct PutWork {
  explicit PutWork(const Options& options)
      : bytes(static_cast<std::size_t>(options.bytes == 0 ? 65'536 : options.bytes)),
        operations(std::max<std::int64_t>(1, bytes_a_sample(options) / static_cast<std::int64_t>(bytes))) {}

  std::size_t bytes;        ///< of one put
  std::int64_t operations;  ///< puts a sample

 private:
  static std::int64_t bytes_a_sample(const Options& options) { return std::int64_t{options.is_quick ? 64 : 256} << 20; }
};

inline void fill_put_pattern(std::vector<unsigned char>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i % 251);
}

}  // namespace heddle::bench
