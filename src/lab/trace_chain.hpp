// SPDX-License-Identifier: Apache-2.0
//
// Who waits for whom in a run that failed, for its trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::lab {

struct TraceChain {
  // Somebody or something that the chain goes through.
  struct Place {
    int rank = -1;
    std::int64_t task = -1, core = -1;  // of the rank; -1: none
    std::string name;
  };
  // From what waits to what it waits for: indices of places.
  struct Arrow {
    std::size_t from = 0, to = 0;
    std::string name, sentence;
  };
  std::vector<Place> places;
  std::vector<Arrow> arrows;
};

}  // namespace heddle::lab
