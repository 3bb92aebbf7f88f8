// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <heddle/error.hpp>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/worker_report.hpp"

namespace heddle {

namespace {

// The same place with a file name that stays: it comes from a module, which may be gone before the error is read.
Location kept(Location location) {
  static std::mutex mutex;
  static auto* const names = new std::set<std::string, std::less<>>();
  if (location.file == nullptr) return location;
  const std::lock_guard guard(mutex);
  auto found = names->find(std::string_view(location.file));
  if (found == names->end()) found = names->emplace(location.file).first;
  return {found->c_str(), location.line};
}

}  // namespace

struct Error::Body {
  Code code = Code::ok;
  std::string message;
  int rank = -1;
  std::string task;
  std::int64_t block = -1;
  Location location;
  std::string hint;
  std::int64_t round = -1;
  std::vector<WaitRecord> waits;
  std::vector<WorkerRecord> workers;
  std::vector<Error> attached;
  std::string what;

  // "rank 3, task push, block 4, programs/tp.cpp:41": what is known of it.
  std::string place() const;
  void rebuild();
};

namespace {

void append(std::string& list, const std::string& item) {
  if (!list.empty()) list += ", ";
  list += item;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::string Error::Body::place() const {
  std::string text;
  if (rank >= 0) append(text, "rank " + std::to_string(rank));
  if (!task.empty()) append(text, "task " + task);
  if (block >= 0) append(text, "block " + std::to_string(block));
  if (location.file != nullptr) append(text, location.text());
  return text;
}

void Error::Body::rebuild() {
  what = std::string(info(code).name) + " (" + std::to_string(static_cast<unsigned>(code)) + "): " + one_line(message);
  if (const std::string where = place(); !where.empty()) what += " [" + one_line(where) + "]";
}

Error::Error(Code code, std::string message) : body_(std::make_shared<Body>()) {
  body_->code = code;
  body_->message = std::move(message);
  body_->hint = info(code).hint;
  body_->rebuild();
}

// Copies of an error share its body; whoever changes one gets a body of its own first.
Error::Body& Error::own() {
  if (body_.use_count() != 1) body_ = std::make_shared<Body>(*body_);
  return *body_;
}

const char* Error::what() const noexcept { return body_->what.c_str(); }
Code Error::code() const noexcept { return body_->code; }
std::string_view Error::name() const noexcept { return info(body_->code).name; }
const std::string& Error::message() const noexcept { return body_->message; }
int Error::rank() const noexcept { return body_->rank; }
const std::string& Error::task() const noexcept { return body_->task; }
std::int64_t Error::block() const noexcept { return body_->block; }
Location Error::location() const noexcept { return body_->location; }
const std::string& Error::hint() const noexcept { return body_->hint; }
std::int64_t Error::round() const noexcept { return body_->round; }
const std::vector<WaitRecord>& Error::waits() const noexcept { return body_->waits; }
const std::vector<WorkerRecord>& Error::workers() const noexcept { return body_->workers; }
const std::vector<Error>& Error::attached() const noexcept { return body_->attached; }

Error& Error::at_rank(int rank) {
  Body& body = own();
  body.rank = rank;
  body.rebuild();
  return *this;
}

Error& Error::at_task(std::string_view task, std::int64_t block, Location location) {
  Body& body = own();
  body.task = task;
  body.block = block;
  body.location = kept(location);
  body.rebuild();
  return *this;
}

Error& Error::at_location(Location location) {
  Body& body = own();
  body.location = kept(location);
  body.rebuild();
  return *this;
}

Error& Error::in_round(std::int64_t round) {
  own().round = round;
  return *this;
}

Error& Error::with_hint(std::string hint) {
  own().hint = std::move(hint);
  return *this;
}

Error& Error::with_waits(std::vector<WaitRecord> waits) {
  for (WaitRecord& wait : waits) wait.location = kept(wait.location);
  own().waits = std::move(waits);
  return *this;
}

Error& Error::with_workers(std::vector<WorkerRecord> workers) {
  for (WorkerRecord& worker : workers) {
    worker.submitted = kept(worker.submitted);
    worker.at = kept(worker.at);
  }
  own().workers = std::move(workers);
  return *this;
}

Error& Error::attach(Error later) {
  own().attached.push_back(std::move(later));
  return *this;
}

std::string Location::text() const {
  if (file == nullptr) return "unknown";
  return line == 0 ? std::string(file) : std::string(file) + ":" + std::to_string(line);
}

namespace {

constexpr std::size_t report_lines_max = 64;  // of each list

std::string_view symbol_of(std::string_view compare) {
  constexpr std::pair<std::string_view, std::string_view> symbols[] = {{"eq", "=="}, {"ne", "!="}, {"gt", ">"},
                                                                       {"ge", ">="}, {"lt", "<"},  {"le", "<="}};
  for (const auto& [name, symbol] : symbols)
    if (compare == name) return symbol;
  return compare;
}

std::string awaited(const WaitRecord& wait) {
  if (!wait.window.empty())
    return wait.window + "[" + std::to_string(wait.cell) + "] " + std::string(symbol_of(wait.compare)) + " " +
           std::to_string(wait.needs) + "; it has " + std::to_string(wait.has);
  if (!wait.detail.empty()) return wait.detail;
  switch (wait.what) {
    case WaitRecord::What::signal:
      return "a signal";
    case WaitRecord::What::completion:
      return "the condition that completes it";
    case WaitRecord::What::ring:
      return "room in a ring";
    case WaitRecord::What::tensor:
      return "an element of a tensor";
    case WaitRecord::What::flag:
      return "a flag of its cluster";
  }
  return "something unknown";
}

// The blocks from wait.block to `last` wait for the same.
std::string sentence(const WaitRecord& wait, std::int64_t last) {
  std::string who;
  if (wait.rank >= 0) append(who, "rank " + std::to_string(wait.rank));
  if (wait.task == "orchestrator")
    append(who, wait.task);
  else if (!wait.task.empty())
    append(who, "task " + wait.task);
  const bool several = last != wait.block;
  if (several)
    append(who, "blocks " + std::to_string(wait.block) + " to " + std::to_string(last));
  else if (wait.block >= 0)
    append(who, "block " + std::to_string(wait.block));
  if (who.empty()) who = "an unnamed task";
  if (wait.location.file != nullptr) who += " (" + wait.location.text() + ")";
  return one_line(who + (several ? " wait for " : " waits for ") + awaited(wait));
}

// Whether `next` is the next block of the same task and waits for the same.
bool continues(const WaitRecord& wait, std::int64_t last, const WaitRecord& next) {
  return last >= 0 && next.block == last + 1 && next.rank == wait.rank && next.task == wait.task &&
         next.what == wait.what && next.location.line == wait.location.line && next.window == wait.window &&
         next.cell == wait.cell && next.has == wait.has && next.needs == wait.needs && next.compare == wait.compare &&
         next.detail == wait.detail;
}

std::string report_waits(const std::vector<WaitRecord>& waits) {
  std::string text = "  what waits:\n";
  std::size_t lines = 0;
  for (std::size_t i = 0; i < waits.size(); ++lines) {
    if (lines == report_lines_max) return text + "    … and " + std::to_string(waits.size() - i) + " more\n";
    std::int64_t last = waits[i].block;
    std::size_t next = i + 1;
    for (; next < waits.size() && continues(waits[i], last, waits[next]); ++next) last = waits[next].block;
    text += "    " + sentence(waits[i], last) + "\n";
    i = next;
  }
  return text;
}

std::string report_attached(const std::vector<Error>& attached) {
  std::string text = "  afterwards:\n";
  for (std::size_t i = 0; i < attached.size(); ++i) {
    if (i == report_lines_max) return text + "    … and " + std::to_string(attached.size() - i) + " more\n";
    text += std::string("    ") + attached[i].what() + "\n";
  }
  return text;
}

}  // namespace

std::string WaitRecord::text() const { return sentence(*this, block); }

std::string Error::report() const {
  const Body& body = *body_;
  std::string text =
      std::string(name()) + " (" + std::to_string(static_cast<unsigned>(body.code)) + "): " + body.message + "\n";
  std::string where = body.place();
  if (body.round >= 0) append(where, "round " + std::to_string(body.round));
  if (!where.empty()) text += "  at: " + where + "\n";
  if (!body.waits.empty()) text += report_waits(body.waits);
  if (!body.workers.empty()) text += base::report_workers(body.workers);
  if (!body.hint.empty()) text += "  hint: " + body.hint + "\n";
  if (!body.attached.empty()) text += report_attached(body.attached);
  return text;
}

namespace detail {

void throw_invalid(std::string message) { throw Error(Code::invalid_argument, std::move(message)); }

void throw_out_of_view(int dimension, std::int64_t index, std::int64_t extent) {
  throw Error(Code::kernel_failed, "index " + std::to_string(index) + " of dimension " + std::to_string(dimension) +
                                       " is outside its view, whose extent there is " + std::to_string(extent));
}

}  // namespace detail
}  // namespace heddle
