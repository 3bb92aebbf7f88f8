// SPDX-License-Identifier: Apache-2.0
#include "snapshot/snapshot.hpp"

#include <algorithm>

namespace heddle::snapshot {

std::string Source::text() const {
  if (!known()) return {};
  return line < 0 ? file : file + ":" + std::to_string(line);
}

bool Snapshot::has(const std::string& list) const {
  return std::find(recorded.begin(), recorded.end(), list) != recorded.end();
}

}  // namespace heddle::snapshot
