// SPDX-License-Identifier: Apache-2.0
//
// The file of --trace, --records, --snapshot or --html. It appears whole or not at all: it is written under another
// name beside its own.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/file_names.hpp"
#include "cli/interrupt.hpp"
#include "cli/result.hpp"

namespace heddle::cli {

class TraceFile {
 public:
  /// Throws UsageError, which names the option, when the file could not be written. Leaves what is there as it is.
  TraceFile(std::string path, Interrupts& interrupts, std::string option = "--trace");
  /// `writer` writes the trace to the path that it is given. Throws heddle::Error, and removes what it had written,
  /// when the trace does not fit or cannot be written.
  using Writer = std::function<void(const std::string&)>;
  void write(const Writer& writer);
  const std::string& path() const { return path_; }
  bool is_written() const { return is_written_; }

 private:
  std::string path_;
  std::string option_;
  std::string unfinished_;  ///< empty for what is no regular file, as a pipe: it is written in place
  Interrupts& interrupts_;
  bool is_written_ = false;
};

/// Those that were asked for.
struct RunFiles {
  /// Throws as TraceFile does.
  RunFiles(const FileNames& names, Interrupts& interrupts);

  std::optional<TraceFile> trace, records, snapshot, html;
};

/// Writes a file. False when it could not be written, which is told; `path` then stays as it is.
bool write_file(TraceFile& file, const TraceFile::Writer& writer, std::string& path);

/// Writes the trace of a run, of which only the last or the first that failed has one. What keeps it from being written
/// is a failure of the run, though the first one stays the first. `path`: where the result names the file.
void save(TraceFile& trace, const TraceFile::Writer& writer, RunResult& result, bool is_last,
          std::string RunResult::* path = &RunResult::trace);

/// Where the dispatch records are and what is done with them.
std::string records_note(const RunResult& result);

/// Where the trace is and how it is looked at; one that is not whole says so, with what keeps more of it.
std::string trace_note(const RunResult& result, const std::string& more);

}  // namespace heddle::cli
