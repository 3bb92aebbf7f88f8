// SPDX-License-Identifier: Apache-2.0
//
// What --stats shows: how much of its rings a program used, and which scopes held how much.
#pragma once

#include <heddle/session.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/result.hpp"

namespace heddle::cli {

/// Two tables; only of a result that has rooms.
std::string rooms_table(const RunResult& result);
nlohmann::ordered_json rooms_json(const RoomUse& rooms, const RingConfig& size);

}  // namespace heddle::cli
