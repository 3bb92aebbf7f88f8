// SPDX-License-Identifier: Apache-2.0
#include "lab/chip_run_impl.hpp"

namespace heddle::host {
template class Engine<lab::ProgramEnvironment, lab::ChipBackend<lab::ProgramEnvironment>>;
template class Rank<lab::ProgramEnvironment, lab::ChipBackend<lab::ProgramEnvironment>>;
}  // namespace heddle::host

namespace heddle::lab {
template class ChipRun<ProgramEnvironment>;
}  // namespace heddle::lab
