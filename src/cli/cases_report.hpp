// SPDX-License-Identifier: Apache-2.0
//
// What came of the gallery's cases, for people, for tools and as a document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/case_run.hpp"

namespace heddle::cli {

std::string list_text(std::span<const CaseFile> cases);
std::string cases_text(std::span<const CaseRun> runs, bool colour);
nlohmann::ordered_json cases_json(std::span<const CaseFile> cases, std::span<const CaseRun> runs,
                                  const CaseConfig& config, const std::vector<std::string>& written);

/// docs/gallery.md.
std::string gallery_markdown(std::span<const CaseRun> runs, const CaseConfig& config);

}  // namespace heddle::cli
