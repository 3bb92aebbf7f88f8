// SPDX-License-Identifier: Apache-2.0
//
// Programs live in modules: shared libraries that define `heddle_module` (HEDDLE_MODULE in <heddle/program.hpp>). The
// loader finds them in folders, or loads one by its path.
#pragma once

#include <heddle/program.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::cli {

/// One loaded module. Its code and constants are mapped for as long as the object lives.
class Module {
 public:
  /// Throws UsageError with one line that says why it is no module of this library.
  static std::shared_ptr<const Module> load(const std::string& path);
  Module(std::shared_ptr<void> handle, std::string path, const ModuleInfo& info);

  const std::string& path() const { return path_; }
  std::span<const ModuleEntry> entries() const { return {info_->entries, info_->count}; }
  std::vector<std::string> names() const;

 private:
  std::shared_ptr<void> handle_;
  std::string path_;
  const ModuleInfo* info_;
};

/// A program of a loaded module.
class FoundProgram {
 public:
  FoundProgram(std::shared_ptr<const Module> module, const ModuleEntry& entry)
      : module_(std::move(module)), entry_(&entry) {}
  std::string name() const { return entry_->name; }
  std::string summary() const { return entry_->summary != nullptr ? entry_->summary : ""; }
  const std::string& module_path() const { return module_->path(); }
  /// A new object with its defaults, which keeps the module loaded. Throws UsageError when the module gives none.
  std::shared_ptr<ProgramBase> create() const;

 private:
  std::shared_ptr<const Module> module_;
  const ModuleEntry* entry_;
};

/// What a search found; a module that did not load is a line of `problems`.
struct Catalogue {
  std::vector<FoundProgram> programs;
  std::vector<std::string> problems;
  std::vector<std::string> names() const;
};

/// Folders in the order of their precedence: `given` (each may hold several, separated by colons), HEDDLE_PROGRAM_PATH,
/// and those beside the executable, in a build and once installed. Throws UsageError for a given one that is no folder.
std::vector<std::string> program_folders(const std::vector<std::string>& given);

/// Loads every module of the folders. Of two programs with one name the first counts.
Catalogue find_programs(const std::vector<std::string>& folders);

/// A name, "./module.so" or "./module.so:name". Throws UsageError that names the likeliest ones when there is none.
FoundProgram find_program(const std::string& wanted, const std::vector<std::string>& folders);

}  // namespace heddle::cli
