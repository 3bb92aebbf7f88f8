// SPDX-License-Identifier: Apache-2.0
//
// How a rank runs its program: part of engine.hpp.
#pragma once

#include <cstring>
#include <utility>

#include "base/cancelled.hpp"
#include "host/engine.hpp"

namespace heddle::host {

template <base::Environment E, class B>
Rank<E, B>::Rank(Engine<E, B>& engine, int index, int ranks, const SessionConfig& config)
    : engine_(engine), index_(index), checked_(config.checked), start_(*this), core_(*this, config) {
  core_.rank = index;
  core_.ranks = ranks;
  core_.width = static_cast<int>(engine.pool().width_for(vector_core));
  core_.rank_context = this;
  reserve_ = engine.pool().spare();
  if (reserve_ == nullptr)
    throw Error(Code::invalid_argument, "no memory for the stack of rank " + std::to_string(index));
}

template <base::Environment E, class B>
Rank<E, B>::~Rank() {
  if (reserve_ != nullptr) engine_.pool().give_back(*reserve_);
}

template <base::Environment E, class B>
void Rank<E, B>::adopt_tensors(std::vector<Plan::TensorSpec> specs) {
  specs_ = std::move(specs);
  for (const auto& spec : specs_) memory_.emplace_back(spec.bytes(), "a declared tensor");
  io_.specs = &specs_;
  for (const auto& memory : memory_) io_.data.push_back(memory.data());
}

template <base::Environment E, class B>
void Rank<E, B>::poison_outputs() {
  for (std::size_t i = 0; i < specs_.size(); ++i)
    if (specs_[i].direction == Direction::output) std::memset(memory_[i].data(), poison_byte, specs_[i].bytes());
}

template <base::Environment E, class B>
void Rank<E, B>::run() {
  if (checked_) poison_outputs();
  core_.begin_round(round_);
  on_worker(in_program_ = true);
  try {
    Orchestrator orchestrator(core_);
    engine_.program().rank(orchestrator, Io(io_));
  } catch (const base::Cancelled&) {
    E::mark("program_cancelled");  // the rank has its error already
  } catch (const Error& error) {
    fail(error);
  } catch (const std::exception& error) {
    fail(Error(Code::user_error, std::string("the program threw: ") + error.what()));
  } catch (...) {
    fail(Error(Code::user_error, "the program threw something that is not a std::exception"));
  }
  on_worker(in_program_ = false);
  core_.end_round();
  // release: partner is state(); the rank's tensors and counts are complete.
  state_.store(cancelled() ? RankState::failed : RankState::finished, std::memory_order_release);
  engine_.rank_done();
}

template <base::Environment E, class B>
void Rank<E, B>::ready(graph::Slot<E>& slot) {
  engine_.ready(slot);
}

template <base::Environment E, class B>
void Rank<E, B>::suspend() {
  auto* with = engine_.pool().spare();
  if (with == nullptr) with = std::exchange(reserve_, nullptr);
  const bool tensor = core_.waiting().what == graph::OrchestratorWait::What::tensor;
  if (tensor) begin_settling(core_.waiting());
  on_worker(false);
  {
    const graph::Outside<E> outside(core_.gate());
    engine_.pool().suspend(*with);
  }
  on_worker(in_program_);
  if (tensor) settling_since_.store(0, std::memory_order_relaxed);  // relaxed: a timer's matter
  if (reserve_ == nullptr) reserve_ = engine_.pool().spare();  // the fiber that resumed this one has just become one
}

template <base::Environment E, class B>
void Rank<E, B>::begin_settling(const graph::OrchestratorWait& wait) {
  const graph::Slot<E>* task = core_.find(wait.task);
  settling_task_.store(task == nullptr ? "" : task->name, std::memory_order_relaxed);  // relaxed: published by `since`
  settling_file_.store(wait.location.file, std::memory_order_relaxed);
  settling_line_.store(wait.location.line, std::memory_order_relaxed);
  settling_since_.store(E::now(), std::memory_order_release);  // release: partner is settling()
}

template <base::Environment E, class B>
void Rank<E, B>::fail(Error error) {
  const graph::Outside<E> outside(core_.gate());
  engine_.fail(*this, std::move(error));
}

}  // namespace heddle::host
