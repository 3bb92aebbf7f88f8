// SPDX-License-Identifier: Apache-2.0
//
// Test support: functions that do not return, in a module of their own, and what a report has to say of them.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <heddle/heddle.hpp>
#include <string>
#include <vector>

#include "host/test_program.hpp"

namespace heddle::host {

// Functions that do not return, in a module with debug information; or a copy of it without any.
class StuckModule {
 public:
  explicit StuckModule(const std::string& path) : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) ADD_FAILURE() << ::dlerror();
  }
  template <class F>
  F* find(const char* name) const {
    return reinterpret_cast<F*>(::dlsym(handle_, name));
  }
  void loop(const bool* go_on) const { find<void(const bool*)>("stuck_in_loop")(go_on); }
  void calls(Block& block) const { find<void(Block*)>("stuck_in_calls")(&block); }
  void program(Orchestrator& graph) const { find<void(Orchestrator*)>("stuck_in_program")(&graph); }
  std::uint32_t line_of(const char* function) const {
    return static_cast<std::uint32_t>(find<int()>((std::string(function) + "_line").c_str())());
  }

 private:
  void* handle_;  // for good: a thread that is never given back may still be in it
};

inline std::string module_path() { return std::string(HEDDLE_TEST_MODULE_DIR) + "/stuck.so"; }
inline const StuckModule& module() {
  static const StuckModule loaded(module_path());
  return loaded;
}

inline void expect_stands_in(const WorkerRecord& worker, const char* function) {
  EXPECT_EQ(worker.function, function) << worker.text();
  ASSERT_NE(worker.at.file, nullptr) << worker.text();
  EXPECT_EQ(std::filesystem::path(worker.at.file).filename(), "stuck.cpp");
  EXPECT_EQ(worker.at.line, module().line_of(function)) << worker.text();
  EXPECT_TRUE(contains(worker.instruction, std::string(function) + "+0x")) << worker.instruction;
  EXPECT_TRUE(contains(worker.instruction, "in stuck.so")) << worker.instruction;
  ASSERT_FALSE(worker.stack.empty());
  EXPECT_TRUE(contains(worker.stack.front(), function)) << worker.stack.front();
}

inline std::vector<WorkerRecord> in_state(const Error& error, WorkerRecord::State state) {
  std::vector<WorkerRecord> found;
  for (const WorkerRecord& worker : error.workers())
    if (worker.state == state) found.push_back(worker);
  return found;
}

}  // namespace heddle::host
