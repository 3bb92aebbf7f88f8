// SPDX-License-Identifier: Apache-2.0
#include "chip/snapshot.hpp"

namespace heddle::chip {

const char* name_of(CoreState state) noexcept {
  switch (state) {
    case CoreState::idle:
      return "idle";
    case CoreState::gated:
      return "behind its gate";
    case CoreState::dispatched:
      return "dispatched, not acknowledged";
    case CoreState::running:
      return "running";
    case CoreState::finish_withheld:
      return "finished, pending task not taken up";
  }
  return "?";
}

std::string place_of(std::uint32_t cluster, std::uint32_t lane) {
  const std::string name = "cluster " + std::to_string(cluster);
  return lane == 0 ? name + " cube" : name + " vector " + std::to_string(lane - 1);
}

}  // namespace heddle::chip
