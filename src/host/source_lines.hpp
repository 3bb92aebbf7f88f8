// SPDX-License-Identifier: Apache-2.0
//
// From an address of this process to a function and a line of source, by the debug information of the module that it
// lies in; where there is none, to the nearest symbol.
#pragma once

#include <cstdint>
#include <heddle/error.hpp>
#include <memory>
#include <string>
#include <vector>

#include "host/thread_sample.hpp"

namespace heddle::host {

struct SourceFrame {
  std::string function;     // without its arguments; empty when it is not known
  std::string file;         // as the debug information names it; empty when there is none
  std::uint32_t line = 0;   // 0: not known
  std::string instruction;  // "spin+0x1f in stuck.so"; of a call that was inlined: its caller's
  bool runtime = false;     // in the library of the runtime, or of the system
};

class SourceLines {
 public:
  // Reads what is mapped into this process now.
  SourceLines();
  ~SourceLines();
  SourceLines(const SourceLines&) = delete;
  SourceLines& operator=(const SourceLines&) = delete;

  // From the innermost function outwards, calls that were inlined among them; at most frames_most.
  std::vector<SourceFrame> walk(const ThreadSample& sample);

  static constexpr std::size_t frames_most = 64;

 private:
  struct Session;
  std::unique_ptr<Session> session_;
};

}  // namespace heddle::host
