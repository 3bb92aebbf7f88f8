// SPDX-License-Identifier: Apache-2.0
// StarPU with CPU workers only, quiet, without calibration, its files in a folder that is removed at the end.
#pragma once

#include <starpu.h>

#include <filesystem>
#include <system_error>

#include "common/harness.hpp"

namespace heddle::bench {

class StarpuSession {
 public:
  /// The submitting thread runs no tasks. With empty tasks one worker beside it is the fastest, and makes two threads;
  /// with real kernels two workers are needed to keep two CPUs busy.
  explicit StarpuSession(const char* workers) {
    setenv("STARPU_NCPU", workers, 0);
    char folder[] = "/tmp/heddle_bench_starpu_XXXXXX";
    require(mkdtemp(folder) != nullptr, "cannot make a folder for StarPU under /tmp");
    home_ = folder;
    setenv("STARPU_HOME", folder, 1);
    for (const auto& [name, value] : settings) setenv(name, value, 0);
    starpu_conf conf;
    starpu_conf_init(&conf);
    require(starpu_init(&conf) == 0, "StarPU does not start");
  }
  ~StarpuSession() {
    starpu_shutdown();
    std::error_code ignored;
    std::filesystem::remove_all(home_, ignored);
  }
  StarpuSession(const StarpuSession&) = delete;
  StarpuSession& operator=(const StarpuSession&) = delete;

 private:
  // The fastest of those tried here; the environment of the caller goes first.
  static constexpr std::pair<const char*, const char*> settings[] = {
      {"STARPU_NCUDA", "0"},     {"STARPU_NOPENCL", "0"},   {"STARPU_SILENT", "1"},
      {"STARPU_CALIBRATE", "0"}, {"STARPU_SCHED", "eager"},
  };
  std::filesystem::path home_;
};

/// A piece of main memory that StarPU tracks.
class StarpuHandle {
 public:
  StarpuHandle() = default;
  StarpuHandle(void* data, std::size_t bytes) {
    starpu_variable_data_register(&handle_, STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(data), bytes);
  }
  ~StarpuHandle() {
    if (handle_ != nullptr) starpu_data_unregister(handle_);
  }
  StarpuHandle(const StarpuHandle&) = delete;
  StarpuHandle& operator=(const StarpuHandle&) = delete;
  StarpuHandle(StarpuHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  StarpuHandle& operator=(StarpuHandle&&) = delete;

  starpu_data_handle_t get() const { return handle_; }

 private:
  starpu_data_handle_t handle_ = nullptr;
};

/// The `index`-th buffer that StarPU hands to a kernel.
template <class T>
T* starpu_buffer(void** buffers, int index) {
  const auto* const variable = static_cast<const starpu_variable_interface*>(buffers[index]);
  return reinterpret_cast<T*>(variable->ptr);
}

/// A kernel with one CPU implementation whose buffers have these modes.
inline starpu_codelet make_codelet(starpu_cpu_func_t kernel, std::initializer_list<starpu_data_access_mode> modes) {
  starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.where = STARPU_CPU;
  codelet.cpu_funcs[0] = kernel;
  codelet.nbuffers = static_cast<int>(modes.size());
  int index = 0;
  for (const starpu_data_access_mode mode : modes) codelet.modes[index++] = mode;
  return codelet;
}

inline void require_inserted(int result) { require(result == 0, "StarPU refused a task"); }

inline std::vector<StarpuHandle> register_cells(void* first, std::size_t count, std::size_t bytes) {
  std::vector<StarpuHandle> handles;
  handles.reserve(count);
  for (std::size_t i = 0; i < count; ++i) handles.emplace_back(static_cast<char*>(first) + i * bytes, bytes);
  return handles;
}

}  // namespace heddle::bench
