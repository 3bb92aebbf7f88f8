// SPDX-License-Identifier: Apache-2.0
#include "cli/verify.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/output.hpp"
#include "lab/dispatch_file.hpp"

namespace heddle::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;
using lab::DispatchReading;

lab::DispatchRule rule(int number) { return static_cast<lab::DispatchRule>(number); }

bool is_proved(const DispatchReading& reading) { return reading.proof.holds() && reading.dropped == 0; }

std::string verdict_text(const std::string& verdict, bool colour) {
  return verdict == "holds" ? green(verdict, colour) : red(verdict, colour);
}

std::string text_of(const DispatchReading& reading) {
  const lab::DispatchHeader& header = reading.header;
  const lab::DispatchProof& proof = reading.proof;
  std::string text = one_line(fmt::format("{}{}{} on {}, {}, {}, strategy {}, seed {}", header.program,
                                          header.variant.empty() ? "" : " ", header.variant, header.backend,
                                          base::counted(header.ranks, "rank"), base::counted(header.rounds, "round"),
                                          header.strategy, header.seed)) +
                     "\n";
  Table table;
  for (const char* title : {"rule", "what has to hold", "result"}) table.column(title, Table::Align::left);
  for (int i = 0; i < lab::dispatch_rules; ++i)
    table.row({lab::name_of(rule(i)), lab::help_of(rule(i)), proof.holds(rule(i)) ? "holds" : "broken"});
  text += table.text(verdict_text, wants_colour(STDOUT_FILENO));
  text += fmt::format("{} hand-overs to {} cores, {} kernels begun and {} ended, {} ranks stopped\n",
                      grouped(proof.hand_overs), grouped(proof.cores), grouped(proof.begins), grouped(proof.finishes),
                      grouped(proof.freezes));
  return text;
}

OrderedJson json_of(const VerifyOptions& options, const DispatchReading& reading) {
  const lab::DispatchHeader& header = reading.header;
  const lab::DispatchProof& proof = reading.proof;
  OrderedJson rules = OrderedJson::object();
  for (int i = 0; i < lab::dispatch_rules; ++i) rules[lab::name_of(rule(i))] = proof.holds(rule(i));
  OrderedJson faults = OrderedJson::array();
  for (const lab::DispatchFault& fault : proof.faults)
    faults.push_back(
        {{"line", DispatchReading::line_of(fault)}, {"rule", lab::name_of(fault.rule)}, {"what", fault.what}});
  return OrderedJson{{"passed", is_proved(reading)},
                     {"file", options.file},
                     {"program", header.program},
                     {"variant", header.variant.empty() ? OrderedJson(nullptr) : OrderedJson(header.variant)},
                     {"backend", header.backend},
                     {"ranks", header.ranks},
                     {"rounds", header.rounds},
                     {"strategy", header.strategy},
                     {"seed", header.seed},
                     {"trace_hash", fmt::format("{:016x}", header.trace_hash)},
                     {"hand_overs", proof.hand_overs},
                     {"begins", proof.begins},
                     {"finishes", proof.finishes},
                     {"freezes", proof.freezes},
                     {"cores", proof.cores},
                     {"dropped", reading.dropped},
                     {"edited", reading.edited},
                     {"rules", std::move(rules)},
                     {"broken", std::move(faults)},
                     {"more_broken", proof.more_faults}};
}

void report_faults(const VerifyOptions& options, const DispatchReading& reading) {
  const lab::DispatchProof& proof = reading.proof;
  const std::string file = base::quoted(options.file);
  for (const lab::DispatchFault& fault : proof.faults)
    fmt::print(stderr, "heddle: {}: line {}: {}: {}\n", file, DispatchReading::line_of(fault), lab::name_of(fault.rule),
               one_line(fault.what));
  if (proof.more_faults > 0) fmt::print(stderr, "heddle: {}: and {} more\n", file, grouped(proof.more_faults));
  if (reading.edited) fmt::print(stderr, "heddle: {}: the file was edited after it was written\n", file);
  if (reading.dropped > 0) {
    fmt::print(stderr,
               "heddle: {}: only the first {} records of {} were kept, so that nothing is known of the end; give fewer "
               "--rounds\n",
               file, grouped(proof.records), grouped(proof.records + reading.dropped));
  }
}

}  // namespace

int verify(const VerifyOptions& options) {
  DispatchReading reading;
  try {
    reading = lab::verify_dispatch(options.file);
  } catch (const Error& error) {
    throw UsageError(one_line(error.message()));
  } catch (const std::bad_alloc&) {
    throw UsageError(fmt::format("{}: there is not enough memory for its records", base::quoted(options.file)));
  }
  // What holds of lines that nobody wrote proves nothing of the run.
  if (reading.edited && reading.proof.holds())
    throw UsageError(
        fmt::format("{}: the file was edited after it was written: its checksum does not fit; write it "
                    "again with heddle run --records",
                    base::quoted(options.file)));
  if (options.json) {
    write_json(json_of(options, reading));
  } else {
    fmt::print("{}", text_of(reading));
  }
  std::fflush(stdout);
  report_faults(options, reading);
  return is_proved(reading) ? exit_passed : exit_failed;
}

}  // namespace heddle::cli
