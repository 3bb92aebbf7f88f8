// SPDX-License-Identifier: Apache-2.0
//
// The simulated chips: one table of figures each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chip/geometry.hpp"
#include "lab/links.hpp"
#include "lab/run.hpp"

namespace heddle::lab {

chip::Config ideal_chip();
chip::Config a2a3_chip();
chip::Config a5_chip();

// The chip of that name with some constants overridden. Throws Error(invalid_argument) for a name that there is not,
// and for a value out of range.
chip::Config chip_config(const std::string& name, const std::map<std::string, std::uint64_t>& overrides);

// What is around the chips' schedulers and cores. The two switches take a hardship away that silicon has.
struct Surroundings {
  LinkTable links;
  bool ordered_notifies = false;  // every notify arrives after the puts before it, as a released one does
  bool coherent_scalars = false;  // scalar accesses go to memory, and through no cache
};

// Throws as chip_config does for a value out of range. Names that it does not know are the chip's.
Surroundings surroundings_of(const std::map<std::string, std::uint64_t>& overrides);

// The constants that can be overridden, with what they mean and their unit.
const std::vector<NamedHelp>& chip_constants();

}  // namespace heddle::lab
