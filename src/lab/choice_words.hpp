// SPDX-License-Identifier: Apache-2.0
//
// A choice that was taken, as a sentence.
#pragma once

#include <string>

#include "lab/choice.hpp"

namespace heddle::lab {

// `rank 3, cluster 0 vector 1: put number 2 takes the most of its time`.
std::string in_words(const TakenChoice& choice);

}  // namespace heddle::lab
