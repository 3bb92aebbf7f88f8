// SPDX-License-Identifier: Apache-2.0
//
// A module of a later library: only its first word may be read.
#include <cstdint>
#include <heddle/program.hpp>

extern "C" __attribute__((visibility("default"))) const std::uint32_t heddle_module;
extern "C" const std::uint32_t heddle_module = heddle::module_abi + 1;
