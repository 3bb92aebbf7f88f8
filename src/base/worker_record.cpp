// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <heddle/error.hpp>
#include <string>
#include <string_view>

#include "base/worker_report.hpp"

namespace heddle {

namespace {

std::string owner_of(const WorkerRecord& worker) {
  std::string text;
  const auto append = [&text](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
  if (worker.rank >= 0) append("rank " + std::to_string(worker.rank));
  if (!worker.task.empty()) append("task " + worker.task);
  if (worker.block >= 0) append("block " + std::to_string(worker.block));
  if (worker.submitted.file != nullptr) text += " (" + worker.submitted.text() + ")";
  return text;
}

std::string stand_of(const WorkerRecord& worker) {
  std::string text;
  if (!worker.function.empty()) text = " in " + worker.function;
  if (worker.at.file != nullptr) text += " at " + worker.at.text();
  if (!worker.instruction.empty())
    text += (text.empty() ? " at " : " (") + worker.instruction + (text.empty() ? "" : ")");
  return text.empty() ? "" : ": it stands" + text;
}

}  // namespace

std::string WorkerRecord::text() const {
  const std::string owner = owner_of(*this);
  std::string does;
  switch (state) {
    case State::kernel:
      does = (stuck ? " is stuck in " : " runs ") + (owner.empty() ? "a kernel" : owner);
      break;
    case State::program:
      does = std::string(stuck ? " is stuck in" : " runs") + " the program" +
             (owner.empty() ? " of a rank" : " of " + owner);
      break;
    case State::idle:
      return worker + " idles in the dispatcher";
    case State::unknown:
      does = " did not say where it stands" + (owner.empty() ? "" : " in " + owner);
      break;
  }
  std::string text = worker + does + stand_of(*this);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

namespace base {

namespace {

constexpr std::size_t lines_most = 64;
constexpr std::size_t names_most = 8;
constexpr std::size_t callers_most = 8;

std::string idle_ones(const std::vector<WorkerRecord>& workers) {
  std::string names;
  std::size_t count = 0;
  for (const WorkerRecord& worker : workers) {
    if (worker.state != WorkerRecord::State::idle) continue;
    if (++count <= names_most) names += (names.empty() ? "" : ", ") + worker.worker;
  }
  if (count == 0) return "";
  if (count > names_most) names += " and " + std::to_string(count - names_most) + " more";
  return names + (count == 1 ? " idles" : " idle") + " in the dispatcher";
}

}  // namespace

std::string report_workers(const std::vector<WorkerRecord>& workers) {
  std::string text = "  where the workers stood:\n";
  std::size_t lines = 0, left = 0;
  for (const WorkerRecord& worker : workers) {
    if (worker.state == WorkerRecord::State::idle) continue;
    if (++lines > lines_most) {
      ++left;
      continue;
    }
    text += "    " + worker.text() + "\n";
    for (std::size_t i = 1; i < std::min(worker.stack.size(), callers_most); ++i)
      text += "      called by " + worker.stack[i] + "\n";
  }
  if (left != 0) text += "    … and " + std::to_string(left) + " more\n";
  if (const std::string idle = idle_ones(workers); !idle.empty()) text += "    " + idle + "\n";
  return text;
}

}  // namespace base
}  // namespace heddle
