// SPDX-License-Identifier: Apache-2.0
#include "host/trap.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace heddle::host {

namespace {

using State = WorkerRecord::State;

constexpr std::size_t callers_most = 16;
constexpr std::chrono::milliseconds submit_patience{100};  // with an orchestrator that submits

WorkerRecord idle_record(std::uint32_t worker) {
  WorkerRecord record;
  record.worker = "worker " + std::to_string(worker);
  record.state = State::idle;
  return record;
}

bool is_header_of_others(std::string_view file) {
  return file.starts_with("/usr/") || file.find("/include/heddle/") != std::string_view::npos;
}
// The dispatcher's own functions are templates: a copy of one may lie in a user's module.
bool is_dispatchers(std::string_view function) {
  return function.starts_with("heddle::host::Pool<") || function.starts_with("heddle::host::Engine<");
}
bool is_users(const SourceFrame& frame) {
  return !frame.runtime && !is_header_of_others(frame.file) && !is_dispatchers(frame.function);
}

// The innermost frame that the user can do something about: code of a kernel or program rather than what it calls.
const SourceFrame* choose(const std::vector<SourceFrame>& frames) {
  for (const SourceFrame& frame : frames)
    if (is_users(frame) && !frame.file.empty()) return &frame;
  for (const SourceFrame& frame : frames)
    if (!frame.runtime) return &frame;
  return frames.empty() ? nullptr : &frames.front();
}

// The same file as the compiler named it where the task was submitted, when it is that.
std::string_view as_submitted(std::string_view file, const Location& submitted) {
  if (submitted.file == nullptr) return file;
  const std::string_view there = submitted.file;
  const bool same = file.size() > there.size() && file.ends_with(there) && file[file.size() - there.size() - 1] == '/';
  return same ? there : file;
}

}  // namespace

Trap::Running Trap::running_on(std::uint32_t worker) const {
  return {running_block(engine_, worker), engine_.traces().program_on(worker), pool_.pool().worker(worker).busy.get()};
}

// Whose block it is. False when it has ended since: its slot may then be another task's.
bool Trap::identify(const Running& running, std::uint32_t worker, WorkerRecord& record) const {
  if (running.block.slot == nullptr) return false;
  const auto* rank = static_cast<const Rank<base::HostEnvironment>*>(running.block.slot->rank);
  const char* name = running.block.slot->name;
  const Location submitted = running.block.slot->location;
  const std::uint32_t parts = running.block.slot->parts();
  base::HostEnvironment::fence(std::memory_order_acquire);  // the reads above, before the look whether they were good
  if (running_on(worker) != running) return false;
  record.rank = rank->index();
  record.task = name;
  record.block = running.block.part / parts;
  record.submitted = submitted;
  return true;
}

// While no orchestrator gives a slot to another task.
std::vector<bool> Trap::identify(const std::vector<std::uint32_t>& workers, const std::vector<Running>& running,
                                 std::vector<WorkerRecord>& records) const {
  std::vector<graph::Gate<base::HostEnvironment>*> gates;
  for (int r = 0; r < engine_.ranks(); ++r) gates.push_back(&engine_.rank(r).core().gate());
  const graph::Look look(std::move(gates), submit_patience);
  std::vector<bool> in_block;
  for (std::size_t i = 0; i < workers.size(); ++i)
    in_block.push_back(identify(running[i], workers[i], records[workers[i]]));
  return in_block;
}

Location Trap::place(const SourceFrame& frame, const Location& submitted) {
  if (frame.file.empty()) return {};
  return {files_.emplace(as_submitted(frame.file, submitted)).first->c_str(), frame.line};
}

void Trap::locate(const std::vector<SourceFrame>& frames, WorkerRecord& record) {
  const SourceFrame* const chosen = choose(frames);
  if (chosen == nullptr) return;
  record.function = chosen->function;
  record.at = place(*chosen, record.submitted);
  record.instruction = chosen->instruction;
  const auto first = frames.begin() + (chosen - frames.data());
  const auto last = std::find_if(frames.rbegin(), std::make_reverse_iterator(first), is_users).base();
  for (auto frame = first; frame < last && record.stack.size() < callers_most; ++frame) {
    const Location at = place(*frame, record.submitted);
    record.stack.push_back((frame->function.empty() ? "?" : frame->function) + " (" +
                           (at.file == nullptr ? frame->instruction : at.text()) + ")");
  }
}

std::vector<WorkerRecord> Trap::look() {
  std::vector<WorkerRecord> records(engine_.pool().size());
  std::vector<std::uint32_t> awake;
  std::vector<Running> before;
  for (std::uint32_t w = 0; w < records.size(); ++w) {
    records[w] = idle_record(w);
    // relaxed: it may wake up now; then it has not been standing anywhere.
    if (engine_.pool().worker(w).sleeping.load(std::memory_order_relaxed) != 0) continue;
    awake.push_back(w);
    before.push_back(running_on(w));
  }
  if (awake.empty()) return records;
  const std::vector<bool> identified = identify(awake, before, records);
  const auto samples = pool_.sample(awake);
  SourceLines lines;
  for (std::size_t i = 0; i < awake.size(); ++i) {
    WorkerRecord& record = records[awake[i]];
    const bool in_block = identified[i] && running_on(awake[i]) == before[i];
    if (!in_block) record = idle_record(awake[i]);
    const bool in_program = !in_block && before[i].program >= 0 && running_on(awake[i]) == before[i];
    if (in_block) record.state = State::kernel;
    if (in_program) {
      record.state = State::program;
      record.rank = before[i].program;
    }
    if (!samples[i]) {
      if (!in_block && !in_program) record.state = State::unknown;
      continue;
    }
    const std::vector<SourceFrame> frames = lines.walk(*samples[i]);
    if (!in_block && !in_program) {
      const bool is_anywhere = before[i].busy && std::any_of(frames.begin(), frames.end(), is_users);
      // Busy, and with none of this session's the whole time: a kernel of another session. One that came or went
      // meanwhile has not been standing there.
      if (!is_anywhere || running_on(awake[i]) != before[i]) continue;
      record.state = State::kernel;
    }
    locate(frames, record);
  }
  return records;
}

std::string stands_text(const WorkerRecord& record) {
  std::string text;
  if (!record.function.empty()) text += " in " + record.function;
  if (record.at.file != nullptr)
    text += " at " + record.at.text();
  else if (!record.instruction.empty())
    text += " at " + record.instruction;
  return text.empty() ? "" : ", and stands" + text;
}

}  // namespace heddle::host
