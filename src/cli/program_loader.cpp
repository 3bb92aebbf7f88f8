// SPDX-License-Identifier: Apache-2.0
#include "cli/program_loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "cli/failure.hpp"
#include "cli/names.hpp"
#include "cli/output.hpp"

namespace heddle::cli {
namespace fs = std::filesystem;
namespace {

std::optional<FoundProgram> find_in(const std::shared_ptr<const Module>& module, std::string_view name) {
  for (const ModuleEntry& entry : module->entries()) {
    if (entry.name == name) return FoundProgram(module, entry);
  }
  return std::nullopt;
}

/// What dlerror says, without the path that it begins with.
std::string loader_message(const std::string& path) {
  const char* text = ::dlerror();
  std::string message = text != nullptr ? text : "unknown error";
  if (message.starts_with(path + ": ")) message.erase(0, path.size() + 2);
  return message;
}

FoundProgram find_in_file(const std::string& path, const std::string& name) {
  const auto module = Module::load(path);
  const auto names = module->names();
  if (name.empty()) {
    if (names.size() == 1) return FoundProgram(module, module->entries().front());
    throw UsageError(fmt::format("{} holds {} programs; name one of them, as {}:{} (there are: {})", base::quoted(path),
                                 names.size(), path, names.front(), fmt::join(names, ", ")));
  }
  if (auto found = find_in(module, name)) return *found;
  throw UsageError(fmt::format("{} holds no program {}; {}", base::quoted(path), base::quoted(name),
                               advise(name, names, "it is empty")));
}

void add_folders(std::vector<std::string>& folders, std::string_view list, bool must_exist) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(':'), list.size());
    const std::string folder(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    if (folder.empty()) continue;
    std::error_code error;
    const fs::path canonical = fs::canonical(folder, error);
    if (error || !fs::is_directory(canonical, error)) {
      if (must_exist)
        throw UsageError(
            fmt::format("--program-path: {} is not a folder; name one that holds modules", base::quoted(folder)));
      continue;
    }
    if (std::find(folders.begin(), folders.end(), canonical.string()) == folders.end())
      folders.push_back(canonical.string());
  }
}

std::vector<std::string> modules_of(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".so") paths.push_back(at->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

Module::Module(std::shared_ptr<void> handle, std::string path, const ModuleInfo& info)
    : handle_(std::move(handle)), path_(std::move(path)), info_(&info) {}

std::shared_ptr<const Module> Module::load(const std::string& path) {
  // With a slash the loader takes the path as it is; without, it would search the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  std::error_code error;
  if (!fs::exists(file, error))
    throw UsageError(fmt::format("there is no file {}; build the module, or name another", base::quoted(path)));
  if (!fs::is_regular_file(file, error))
    throw UsageError(fmt::format("{} is not a file; name a module (.so)", base::quoted(path)));

  ::dlerror();
  void* opened = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    throw UsageError(fmt::format("{} does not load: {}; a module is a shared library built against this heddle",
                                 base::quoted(path), loader_message(file)));
  }
  std::shared_ptr<void> handle(opened, [](void* library) { ::dlclose(library); });
  const auto* info = static_cast<const ModuleInfo*>(::dlsym(opened, "heddle_module"));
  if (info == nullptr) {
    throw UsageError(
        fmt::format("{} is a shared library but no module: it has no symbol heddle_module; add HEDDLE_MODULE(...)",
                    base::quoted(path)));
  }
  if (info->abi != module_abi) {
    throw UsageError(
        fmt::format("{} was built for module ABI {}, this heddle has {}; build it again against this heddle",
                    base::quoted(path), info->abi, module_abi));
  }
  const std::span<const ModuleEntry> entries(info->entries, info->entries != nullptr ? info->count : 0);
  const bool is_whole = std::all_of(entries.begin(), entries.end(), [](const ModuleEntry& entry) {
    return entry.name != nullptr && entry.create != nullptr;
  });
  if (entries.empty() || !is_whole) {
    throw UsageError(fmt::format("{} names no programs; give HEDDLE_MODULE at least one entry", base::quoted(path)));
  }
  return std::make_shared<const Module>(std::move(handle), path, *info);
}

std::vector<std::string> Module::names() const {
  std::vector<std::string> result;
  for (const ModuleEntry& entry : entries()) result.emplace_back(entry.name);
  return result;
}

std::shared_ptr<ProgramBase> FoundProgram::create() const {
  // The deleter holds the module: the object's code goes only after the object.
  std::shared_ptr<ProgramBase> program(entry_->create(), [module = module_](ProgramBase* object) { delete object; });
  if (program == nullptr)
    throw UsageError(
        fmt::format("the module {} gave no program {}", base::quoted(module_path()), base::quoted(name())));
  return program;
}

std::vector<std::string> Catalogue::names() const {
  std::vector<std::string> result;
  for (const FoundProgram& program : programs) result.push_back(program.name());
  return result;
}

std::vector<std::string> program_folders(const std::vector<std::string>& given) {
  std::vector<std::string> folders;
  for (const std::string& list : given) add_folders(folders, list, true);
  if (const char* list = std::getenv("HEDDLE_PROGRAM_PATH")) add_folders(folders, list, false);
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (error) return folders;
  const fs::path here = executable.parent_path();
  for (const fs::path& folder :
       {here / "programs", here / "cases", here / ".." / HEDDLE_PROGRAM_SUBDIR, here / "../lib/heddle/programs"}) {
    const fs::path canonical = fs::canonical(folder, error);
    if (error || !fs::is_directory(canonical, error)) continue;
    if (std::find(folders.begin(), folders.end(), canonical.string()) == folders.end())
      folders.push_back(canonical.string());
  }
  return folders;
}

Catalogue find_programs(const std::vector<std::string>& folders) {
  Catalogue catalogue;
  for (const std::string& folder : folders) {
    for (const std::string& path : modules_of(folder)) {
      try {
        const auto module = Module::load(path);
        for (const ModuleEntry& entry : module->entries()) {
          const auto known = catalogue.names();
          if (std::find(known.begin(), known.end(), entry.name) == known.end())
            catalogue.programs.emplace_back(module, entry);
        }
      } catch (const UsageError& error) {
        catalogue.problems.emplace_back(error.what());
      }
    }
  }
  std::sort(catalogue.programs.begin(), catalogue.programs.end(),
            [](const FoundProgram& left, const FoundProgram& right) { return left.name() < right.name(); });
  return catalogue;
}

FoundProgram find_program(const std::string& wanted, const std::vector<std::string>& folders) {
  if (wanted.empty()) throw UsageError("the program's name is empty; 'heddle list' shows the programs");
  const std::size_t suffix = wanted.rfind(".so:");
  if (suffix != std::string::npos && suffix > 0)
    return find_in_file(wanted.substr(0, suffix + 3), wanted.substr(suffix + 4));
  if (wanted.find('/') != std::string::npos || wanted.ends_with(".so")) return find_in_file(wanted, "");

  // Most modules bear the name of their program: no need to load them all.
  std::string problem;
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + wanted + ".so";
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    try {
      if (auto found = find_in(Module::load(path), wanted)) return *found;
    } catch (const UsageError& failure) {
      if (problem.empty()) problem = failure.what();
    }
  }
  const Catalogue catalogue = find_programs(folders);
  for (const FoundProgram& program : catalogue.programs) {
    if (program.name() == wanted) return program;
  }
  if (!problem.empty()) throw UsageError(problem);
  throw UsageError(
      fmt::format("there is no program {}; {}", base::quoted(wanted),
                  advise(wanted, catalogue.names(), "no programs were found: set --program-path to their folder")));
}

}  // namespace heddle::cli
