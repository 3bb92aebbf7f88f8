// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace heddle::base {

// Something that a worker can take up: what ready queues hold.
struct Work {
  enum class Kind : std::uint8_t {
    task,   // a graph::Slot with blocks left to hand out
    fiber,  // a suspended fiber that may go on
    call,   // a function of its own
    wake,   // never queued: a graph::Slot that stands for an orchestrator waiting for tasks
  };
  explicit Work(Kind work_kind) : kind(work_kind) {}
  Work* next = nullptr;  // in an intrusive list, by its holder
  Kind kind;
};

}  // namespace heddle::base
