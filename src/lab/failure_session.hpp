// SPDX-License-Identifier: Apache-2.0
//
// The fields of a SessionConfig by name, as a failure file holds them.
#pragma once

#include <heddle/session.hpp>
#include <span>
#include <string>
#include <string_view>

namespace heddle::lab {

struct SessionField {
  std::string_view name;
  std::string (*get)(const SessionConfig&);
  bool (*set)(SessionConfig&, std::string_view);  // false: the value is out of range or malformed
};

std::span<const SessionField> session_fields() noexcept;

}  // namespace heddle::lab
