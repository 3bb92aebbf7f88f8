// SPDX-License-Identifier: Apache-2.0
#include "lab/lab_session.hpp"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/recorder.hpp"
#include "host/session_checks.hpp"
#include "lab/chips/chips.hpp"
#include "lab/running_now.hpp"
#include "lab/strategies/strategies.hpp"

namespace heddle::lab {

LabDevice::LabDevice(const std::string& chip, DeviceConfig config) : config_(std::move(config)), chip_(chip) {
  host::check(config_);
  (void)chip_config(chip_, config_.chip_set);
  (void)make_strategy(config_.strategy);
}

std::unique_ptr<heddle::detail::SessionImpl> LabDevice::prepare(std::shared_ptr<ProgramBase> program,
                                                                const SessionConfig& config) {
  return std::make_unique<LabSession>(std::static_pointer_cast<LabDevice>(shared_from_this()), std::move(program),
                                      config);
}

LabSession::LabSession(std::shared_ptr<LabDevice> device, std::shared_ptr<ProgramBase> program,
                       const SessionConfig& config)
    : device_(std::move(device)), program_(std::move(program)), trace_(config.recorder_entries) {
  host::require(program_ != nullptr, "prepare: there is no program");
  host::check(config);
  (void)base::RecorderSet(1, config.recorder_entries, false);  // throws for a number that is none of a recorder's
  host::check_memory(host::plan_ranks(*program_, device_->ranks()));
  spec_.chip = device_->chip();
  spec_.chip_set = device_->config().chip_set;
  spec_.ranks = device_->ranks();
  spec_.session = config;
  spec_.check = config.checked;
  thread_.call([this] { start(); });
}

LabSession::~LabSession() {
  thread_.call([this] { stop(); });
}

// On the session's thread.
void LabSession::start() {
  chip_ = chip_config(spec_.chip, spec_.chip_set);
  links_ = surroundings_of(spec_.chip_set).links;
  strategy_ = make_strategy(device_->config().strategy);
  strategy_->begin(device_->config().seed, 0);
  Simulator::Options options;
  options.stack_bytes = device_->config().stack_bytes;
  options.interrupt = &cancel_requested_;
  try {
    simulator_ = std::make_unique<Simulator>(*strategy_, options);
    trace_.begin(*simulator_, chip_.geometry, spec_.ranks);
    Observer* const observer = spec_.session.recorder ? &trace_ : nullptr;
    chips_ = std::make_unique<Chips>(ChipRunSetup{program_, spec_, chip_, links_, *simulator_, observer});
  } catch (...) {
    stop();
    throw;
  }
  std::vector<heddle::detail::IoTable*> tables;
  for (int r = 0; r < spec_.ranks; ++r) tables.push_back(&chips_->engine().rank(r).io());
  memory_ = host::SessionMemory(std::move(tables));
}

// The same.
void LabSession::stop() noexcept {
  chips_.reset();
  trace_.end();
  simulator_.reset();
}

void LabSession::check_usable(const char* what) const {
  host::require(!thread_.is_here(), std::string(what) + ": a session cannot be used by its own kernels");
  host::require(!poisoned_, std::string(what) + ": this session stands still for good; prepare a new session");
}

RoundStatistics LabSession::run(std::span<const Binding> bindings) {
  check_usable("run");
  if (failed_)
    throw Error(Code::invalid_argument, "run: the session has failed")
        .with_hint("call recover(), or prepare a new session");
  memory_.copy_in(bindings);
  const RoundStatistics before = chips_->statistics();
  const std::uint64_t started = simulator_->now();
  ++round_;
  failed_ = true;
  try {
    thread_.call([this] {
      const RunningNow::Run running;
      failed_ = !chips_->graphs(round_);
    });
  } catch (const std::logic_error& error) {
    poisoned_ = true;
    throw Error(Code::no_progress, std::string("the laboratory failed: ") + error.what())
        .with_hint("this is a fault of the runtime: please report it");
  }
  poisoned_ = !chips_->engine().finished();
  memory_.copy_back(bindings, [this](int rank) { return finished(rank); });
  if (const std::optional<Error>& error = chips_->error()) throw Error(*error);
  return statistics(before, started);
}

snapshot::Snapshot LabSession::snapshot() {
  throw Error(Code::invalid_argument, "write_snapshot: a session in the laboratory has none")
      .with_hint("'heddle run --snapshot FILE' writes the snapshot of a run on simulated chips");
}

RoundStatistics LabSession::statistics(const RoundStatistics& before, std::uint64_t started) const {
  RoundStatistics sum = chips_->statistics();
  sum.round = round_;
  sum.tasks -= before.tasks;
  sum.blocks -= before.blocks;
  sum.puts -= before.puts;
  sum.put_bytes -= before.put_bytes;
  sum.notifies -= before.notifies;
  sum.waits_parked -= before.waits_parked;
  sum.edges -= before.edges;
  for (int r = 0; r < spec_.ranks; ++r)
    sum.conservative_overlaps += chips_->engine().rank(r).core().conservative_overlaps();
  sum.records = trace_.written();
  sum.records_dropped = trace_.dropped();
  sum.elapsed = std::chrono::nanoseconds(simulator_->now() - started);
  sum.trace_hash = simulator_->hash();
  return sum;
}

void LabSession::for_each_rank(const std::function<void(HostIo&)>& body, std::int64_t round, int phase) {
  check_usable("fill, check");
  std::exception_ptr first;
  int rank_of_first = 0;
  thread_.call([&] {
    const RunningNow::Run running;
    for (int r = 0; r < spec_.ranks; ++r) {
      try {
        HostIo io(memory_.of(r), r, spec_.ranks, round, phase);
        body(io);
      } catch (...) {
        if (first != nullptr) continue;
        first = std::current_exception();
        rank_of_first = r;
      }
    }
  });
  if (first == nullptr) return;
  try {
    std::rethrow_exception(first);
  } catch (Error& error) {
    throw error.at_rank(rank_of_first).in_round(round);
  }
}

void LabSession::recover() {
  check_usable("recover");
  thread_.call([this] { chips_->engine().make_usable(); });
  failed_ = false;
}

bool LabSession::finished(int rank) const {
  memory_.check_rank(rank);
  return round_ >= 0 && chips_->engine().rank(rank).state() == host::RankState::finished;
}

std::span<std::byte> LabSession::memory(int rank, std::string_view name, DType type, std::size_t element_bytes) {
  return memory_.find(rank, name, type, element_bytes);
}

std::span<std::byte> LabSession::window(int rank, std::string_view name) {
  memory_.check_rank(rank);
  const heddle::detail::WindowTable* table = chips_->engine().windows().list().find(name);
  return {table->part[static_cast<std::size_t>(rank)], table->bytes};
}

void LabSession::write_trace(const std::string& path) const { trace_.write(path); }

}  // namespace heddle::lab
