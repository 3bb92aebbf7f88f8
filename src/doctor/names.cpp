// SPDX-License-Identifier: Apache-2.0
#include "doctor/report.hpp"

namespace heddle::doctor {

const char* name_of(Party::Kind kind) noexcept {
  switch (kind) {
    case Party::Kind::none:
      return "none";
    case Party::Kind::program:
      return "program";
    case Party::Kind::task:
      return "task";
    case Party::Kind::block:
      return "block";
    case Party::Kind::core:
      return "core";
    case Party::Kind::cell:
      return "cell";
    case Party::Kind::ring:
      return "ring";
    case Party::Kind::fault:
      return "fault";
  }
  return "none";
}

const char* name_of(EdgeKind kind) noexcept {
  switch (kind) {
    case EdgeKind::signal:
      return "waits for signal";
    case EdgeKind::flag:
      return "waits for flag";
    case EdgeKind::core:
      return "waits for core";
    case EdgeKind::taken_up:
      return "waits to be taken up";
    case EdgeKind::producer:
      return "waits for producer";
    case EdgeKind::blocks:
      return "waits for its blocks";
    case EdgeKind::submit:
      return "waits to be submitted";
    case EdgeKind::room:
      return "waits for ring";
    case EdgeKind::value:
      return "waits for value";
    case EdgeKind::fault:
      return "is kept by a fault";
  }
  return "waits";
}

const char* name_of(Why why) noexcept {
  switch (why) {
    case Why::never_submitted:
      return "never submitted";
    case Why::queued_behind:
      return "queued behind what waits";
    case Why::waits_itself:
      return "waits itself";
    case Why::ran_earlier:
      return "already ran in an earlier round";
    case Why::not_visible:
      return "sent but not visible";
    case Why::cleared:
      return "cleared after it arrived";
    case Why::died:
      return "died";
    case Why::ran_not_enough:
      return "ran, and it is not enough";
    case Why::can_still:
      return "can still";
    case Why::unknown:
      return "not recorded";
  }
  return "not recorded";
}

const char* name_of(Hypothesis::Outcome outcome) noexcept {
  switch (outcome) {
    case Hypothesis::Outcome::confirmed:
      return "confirmed";
    case Hypothesis::Outcome::excluded:
      return "excluded";
    case Hypothesis::Outcome::open:
      return "open";
  }
  return "open";
}

}  // namespace heddle::doctor
