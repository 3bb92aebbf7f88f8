// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/random_graph.hpp"

namespace heddle::random_graph {

// A view that is made by the calls of the public interface: part of the buffer wrapped as a tensor of its own, shaped,
// cast, boxed, stepped and permuted at random; or one of a few tiles that many tasks choose; or the whole.
Layout random_layout(Random& random, int type, int rank, int buffer_bytes);
Layout whole_layout(int type, int rank, int buffer_bytes);
ByteSet bytes_of(const Layout& layout);

}  // namespace heddle::random_graph
