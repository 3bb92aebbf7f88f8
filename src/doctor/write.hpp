// SPDX-License-Identifier: Apache-2.0
//
// A report for a terminal, and for tools. docs/snapshot.md describes the object.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "doctor/report.hpp"

namespace heddle::doctor {

struct TextOptions {
  std::size_t columns = 80;
  bool colour = false;
  std::size_t lines_of_a_list = 12;  // of waits, victims, members; what is more is counted
};
std::string to_text(const Report& report, const snapshot::Snapshot& snapshot, const TextOptions& options = {});

nlohmann::ordered_json to_json(const Report& report);

}  // namespace heddle::doctor
