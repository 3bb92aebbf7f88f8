// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/error.hpp>
#include <string>
#include <utility>

namespace heddle::base {

// A call of a kernel that is refused for its arguments. It keeps its code where a kernel lets it pass; any other error
// that leaves a kernel is the kernel's failure.
struct Refused : Error {
  explicit Refused(std::string message) : Error(Code::invalid_argument, std::move(message)) {}
};

}  // namespace heddle::base
