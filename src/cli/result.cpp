// SPDX-License-Identifier: Apache-2.0
#include "cli/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"
#include "cli/room_table.hpp"

namespace heddle::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr double bytes_per_gib = 1024.0 * 1024.0 * 1024.0;

OrderedJson optional_number(std::int64_t value) { return value >= 0 ? OrderedJson(value) : OrderedJson(nullptr); }
OrderedJson optional_text(const std::string& text) { return text.empty() ? OrderedJson(nullptr) : OrderedJson(text); }
OrderedJson optional_place(const Location& location) {
  return location.file != nullptr ? OrderedJson(location.text()) : OrderedJson(nullptr);
}

std::string_view kind_of(WaitRecord::What what) {
  switch (what) {
    case WaitRecord::What::signal:
      return "signal";
    case WaitRecord::What::completion:
      return "completion";
    case WaitRecord::What::ring:
      return "ring";
    case WaitRecord::What::tensor:
      return "tensor";
    case WaitRecord::What::flag:
      return "flag";
  }
  return "unknown";
}

OrderedJson to_json(const WaitRecord& wait) {
  OrderedJson json{{"what", kind_of(wait.what)},
                   {"rank", optional_number(wait.rank)},
                   {"task", optional_text(wait.task)},
                   {"block", optional_number(wait.block)},
                   {"location", optional_place(wait.location)}};
  if (wait.what == WaitRecord::What::signal) {
    json.update({{"window", wait.window},
                 {"cell", wait.cell},
                 {"has", wait.has},
                 {"needs", wait.needs},
                 {"compare", wait.compare}});
  }
  if (!wait.detail.empty()) json["detail"] = wait.detail;
  json["text"] = wait.text();
  return json;
}

std::string_view name_of(WorkerRecord::State state) {
  switch (state) {
    case WorkerRecord::State::kernel:
      return "kernel";
    case WorkerRecord::State::program:
      return "program";
    case WorkerRecord::State::idle:
      return "idle";
    case WorkerRecord::State::unknown:
      return "unknown";
  }
  return "unknown";
}

OrderedJson to_json(const WorkerRecord& worker) {
  return {{"worker", worker.worker},
          {"state", name_of(worker.state)},
          {"stuck", worker.stuck},
          {"rank", optional_number(worker.rank)},
          {"task", optional_text(worker.task)},
          {"block", optional_number(worker.block)},
          {"submitted", optional_place(worker.submitted)},
          {"function", optional_text(worker.function)},
          {"at", optional_place(worker.at)},
          {"instruction", optional_text(worker.instruction)},
          {"stack", worker.stack},
          {"text", worker.text()}};
}

void add_error(OrderedJson& json, const Error& error) {
  json.update({{"code", static_cast<int>(error.code())},
               {"name", std::string(error.name())},
               {"message", error.message()},
               {"hint", optional_text(error.hint())},
               {"rank", optional_number(error.rank())},
               {"task", optional_text(error.task())},
               {"block", optional_number(error.block())},
               {"location", optional_place(error.location())},
               {"round", optional_number(error.round())}});
  if (!error.waits().empty()) {
    OrderedJson waits = OrderedJson::array();
    for (const WaitRecord& wait : error.waits()) waits.push_back(to_json(wait));
    json["waits"] = std::move(waits);
  }
  if (!error.workers().empty()) {
    OrderedJson workers = OrderedJson::array();
    for (const WorkerRecord& worker : error.workers()) workers.push_back(to_json(worker));
    json["workers"] = std::move(workers);
  }
}

void add_outcome(OrderedJson& json, const RunResult& result) {
  json["passed"] = result.passed();
  json["verdict"] = verdict_of(result);
  // The same keys whether it passed or not.
  add_error(json, result.error ? *result.error : Error(Code::ok, "").with_hint(""));
  OrderedJson attached = OrderedJson::array();
  if (result.error) {
    for (const Error& later : result.error->attached()) {
      OrderedJson entry = OrderedJson::object();
      add_error(entry, later);
      attached.push_back(std::move(entry));
    }
  }
  json["attached"] = std::move(attached);
}

std::string painted_verdict(const std::string& verdict, bool colour) {
  return verdict == "PASSED"                                       ? green(verdict, colour)
         : verdict == "NOT CHECKED" || verdict.starts_with("SLOW") ? bold(verdict, colour)
                                                                   : red(verdict, colour);
}

}  // namespace

std::string_view verdict_of(const RunResult& result) {
  if (result.interrupted) return "INTERRUPTED";
  if (result.lab && (result.error || result.checked)) return result.lab->verdict;
  if (!result.error) return result.checked ? "PASSED" : "NOT CHECKED";
  switch (result.error->code()) {
    case Code::scope_deadlock:
    case Code::heap_ring_deadlock:
    case Code::flow_control_deadlock:
    case Code::signal_deadlock:
    case Code::core_deadlock:
      return "DEADLOCK";
    case Code::no_progress:
      return "NO PROGRESS";
    case Code::core_stalled:
      return "CORE STALLED";
    default:
      return "FAILED";
  }
}

void add(RoundStatistics& total, const RoundStatistics& run) {
  total.round = run.round;
  total.tasks += run.tasks;
  total.blocks += run.blocks;
  total.puts += run.puts;
  total.put_bytes += run.put_bytes;
  total.notifies += run.notifies;
  total.waits_parked += run.waits_parked;
  total.edges += run.edges;
  total.conservative_overlaps += run.conservative_overlaps;
  total.records = run.records;  // of these two each run gives the session's own sum
  total.records_dropped = run.records_dropped;
  total.elapsed += run.elapsed;
}

std::string result_table(const std::vector<RunResult>& results, bool colour) {
  Table table;
  for (const char* title : {"program", "variant"}) table.column(title, Table::Align::left);
  for (const char* title :
       {"ranks", "rounds", "tasks", "blocks", "puts", "GiB", "notifies", "time", "rounds/s", "with checks"}) {
    table.column(title, Table::Align::right);
  }
  for (const char* title : {"seed", "events", "trace hash"}) table.column(title, Table::Align::right);
  table.column("result", Table::Align::left);
  for (const RunResult& result : results) {
    const double seconds = std::chrono::duration<double>(result.total.elapsed).count();
    const bool is_whole = result.rounds_done == result.rounds;
    table.row({result.program, result.variant, std::to_string(result.ranks),
               is_whole ? grouped(static_cast<std::uint64_t>(result.rounds))
                        : fmt::format("{} of {}", result.rounds_done, result.rounds),
               grouped(result.total.tasks), grouped(result.total.blocks), grouped(result.total.puts),
               fmt::format("{:.3f}", static_cast<double>(result.total.put_bytes) / bytes_per_gib),
               grouped(result.total.notifies), duration_text(result.total.elapsed),
               seconds > 0 ? rate_text(static_cast<double>(result.rounds_done) / seconds) : "-",
               duration_text(result.wall), result.lab ? std::to_string(result.lab->seed) : "",
               result.lab ? grouped(result.lab->events) : "", result.lab ? hash_text(result.lab->trace_hash) : "",
               std::string(verdict_of(result))});
  }
  return table.text(painted_verdict, colour);
}

nlohmann::ordered_json to_json(const RunResult& result) {
  OrderedJson json = OrderedJson::object();
  add_outcome(json, result);
  json.update({{"program", result.program},
               {"variant", optional_text(result.variant)},
               {"backend", result.backend},
               {"ranks", result.ranks},
               {"threads", result.threads},
               {"rounds", result.rounds},
               {"rounds_done", result.rounds_done},
               {"checked", result.checked},
               {"elapsed_ns", result.total.elapsed.count()},
               {"wall_ns", result.wall.count()},
               {"tasks", result.total.tasks},
               {"blocks", result.total.blocks},
               {"puts", result.total.puts},
               {"put_bytes", result.total.put_bytes},
               {"notifies", result.total.notifies},
               {"waits_parked", result.total.waits_parked},
               {"edges", result.total.edges},
               {"trace", optional_text(result.trace)},
               {"records", optional_text(result.records)},
               {"snapshot", optional_text(result.snapshot)},
               {"html", optional_text(result.html)},
               {"stats", result.rooms ? rooms_json(*result.rooms, result.ring) : OrderedJson(nullptr)}});
  if (result.lab) add_lab(json, *result.lab);
  return json;
}

void add_lab(OrderedJson& json, const LabOutcome& outcome) {
  json.update({{"sentence", optional_text(outcome.sentence)},
               {"chain", outcome.chain},
               {"faults", outcome.faults},
               {"strategy", outcome.strategy},
               {"seed", outcome.seed},
               {"trace_hash", hash_text(outcome.trace_hash)},
               {"program_hash", hash_text(outcome.program_hash)},
               {"virtual_ns", outcome.virtual_ns},
               {"events", outcome.events},
               {"choices", outcome.choices}});
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::string explanation(const std::vector<std::string>& chain) {
  std::string text;
  if (!chain.empty()) text += "the chain of waits\n";
  for (const std::string& step : chain) text += fmt::format("  {}\n", step);
  return text;
}

std::string explanation(const LabOutcome& outcome) {
  std::string text = explanation(outcome.chain);
  if (!outcome.faults.empty()) text += "faults that struck\n";
  for (const std::string& fault : outcome.faults) text += fmt::format("  {}\n", fault);
  return text;
}

nlohmann::ordered_json all_to_json(const std::vector<RunResult>& results) {
  const auto failed =
      std::find_if(results.begin(), results.end(), [](const RunResult& result) { return !result.passed(); });
  RunResult whole = failed != results.end() ? *failed : results.back();
  if (failed == results.end()) whole.variant.clear();
  whole.rounds = whole.rounds_done = 0;
  whole.total = {};
  whole.wall = {};
  whole.trace.clear();
  whole.records.clear();
  whole.snapshot.clear();
  whole.html.clear();
  whole.rooms.reset();
  OrderedJson runs = OrderedJson::array();
  for (const RunResult& result : results) {
    add(whole.total, result.total);
    whole.rounds += result.rounds;
    whole.rounds_done += result.rounds_done;
    whole.wall += result.wall;
    if (whole.trace.empty()) whole.trace = result.trace;
    if (whole.records.empty()) whole.records = result.records;
    if (whole.snapshot.empty()) whole.snapshot = result.snapshot;
    if (whole.html.empty()) whole.html = result.html;
    runs.push_back(to_json(result));
  }
  OrderedJson json = to_json(whole);
  json["runs"] = std::move(runs);
  return json;
}

}  // namespace heddle::cli
