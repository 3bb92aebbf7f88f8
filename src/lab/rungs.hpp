// SPDX-License-Identifier: Apache-2.0
//
// What a ladder changes, one thing at a time, to see which of them a failure needs.
#pragma once

#include <functional>
#include <heddle/program.hpp>
#include <memory>
#include <string>
#include <vector>

#include "lab/failure_file.hpp"
#include "lab/run.hpp"

namespace heddle::lab {

struct Rung {
  std::string name;     // "rings x4"
  std::string layer;    // what is changed, in words: "the size of the rings"
  RunSpec spec;         // with the change in it
  Settings settings;    // of the program, with the change in it
  std::string why_not;  // not empty: there is nothing to change, or nothing would come of it
};

struct RungSource {
  RunSpec spec;
  Settings settings;
  // A new program with these parameters.
  std::function<std::shared_ptr<ProgramBase>(const Settings&)> make;
  std::vector<std::pair<std::string, std::string>> more;  // parameters to set, each a rung
};

// All changes that the chip, the session and the program have; those that do not apply say why not. Of `spec` the chip
// is a simulated one.
std::vector<Rung> rungs_of(const RungSource& source);

}  // namespace heddle::lab
