// SPDX-License-Identifier: Apache-2.0
#include "lab/dispatch_file.hpp"

#include <fmt/format.h>

#include <heddle/error.hpp>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "host/json_file.hpp"
#include "lab/failure_text.hpp"

namespace heddle::lab {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t name_most = 256;  // bytes of a name: a line has a bound

// JSON of a text that need not be UTF-8.
std::string quoted_json(const std::string& text) {
  return OrderedJson(text).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string first_line(const DispatchHeader& header) {
  return fmt::format(
      R"({{"heddle_records":{},"program":{},"variant":{},"backend":{},"ranks":{},"rounds":{},"cores":{},"lanes":{},)"
      R"("strategy":{},"seed":{},"trace_hash":"{:016x}"}})"
      "\n",
      dispatch_version, quoted_json(header.program.substr(0, name_most)),
      quoted_json(header.variant.substr(0, name_most)), quoted_json(header.backend), header.ranks, header.rounds,
      header.cores, header.lanes, quoted_json(header.strategy), header.seed, header.trace_hash);
}

// `names` are JSON already.
void append(std::string& text, const DispatchRecord& record, std::uint32_t lanes,
            const std::vector<std::string>& names) {
  auto to = std::back_inserter(text);
  fmt::format_to(to, R"({{"what":"{}","time":{},"graph":{},"rank":{})", name_of(record.kind), record.time, record.graph,
                 record.rank);
  if (record.kind != DispatchRecord::Kind::freeze) {
    fmt::format_to(to,
                   R"(,"task":{},"name":{},"block":{},"blocks":{},"part":{},"parts":{},"cubes":{},"core":{},)"
                   R"("cluster":{},"token":{})",
                   record.task, names[record.name], record.block, record.blocks, record.part, record.parts,
                   record.cubes, record.core, record.core / lanes, record.token);
  }
  text += "}\n";
}

}  // namespace

std::string dispatch_end(std::uint64_t records, std::uint64_t dropped, bool passed) {
  return fmt::format(R"({{"records":{},"dropped":{},"passed":{})", records, dropped, passed);
}

void write_dispatch(const std::string& path, const DispatchHeader& header, const DispatchLog& log, bool passed) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < log.names().size(); ++i)
    names.push_back(quoted_json(log.names()[i].substr(0, name_most)));
  host::JsonFile file(path);
  std::uint64_t sum = checksum_of_nothing;
  std::string text = first_line(header);
  const auto flush = [&] {
    sum = checksum(text, sum);
    file.raw(text);
    text.clear();
  };
  for (const DispatchRecord& record : log.records()) {
    append(text, record, header.lanes, names);
    if (text.size() > (std::size_t{64} << 10U)) flush();
  }
  flush();
  const std::string end = dispatch_end(log.records().size(), log.dropped(), passed);
  file.raw(fmt::format("{},\"checksum\":\"{:016x}\"}}\n", end, checksum(end, sum)));
  file.close();
}

}  // namespace heddle::lab
