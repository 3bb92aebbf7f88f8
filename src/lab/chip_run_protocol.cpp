// SPDX-License-Identifier: Apache-2.0
#include "lab/chip_run_impl.hpp"

namespace heddle::host {
template class Engine<lab::ProtocolEnvironment, lab::ChipBackend<lab::ProtocolEnvironment>>;
template class Rank<lab::ProtocolEnvironment, lab::ChipBackend<lab::ProtocolEnvironment>>;
}  // namespace heddle::host

namespace heddle::lab {
template class ChipRun<ProtocolEnvironment>;
}  // namespace heddle::lab
