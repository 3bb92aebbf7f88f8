// SPDX-License-Identifier: Apache-2.0
// What every contender shares: its command line, its clock, and the one JSON object that it prints.
//
// A contender is a program of its own, so that the spinning threads of one runtime never disturb another. It proves
// once that it does the work (`verify`), runs one sample unmeasured, then measures. `bench_driver` runs the contenders
// of a work in turn and puts their samples together.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace heddle::bench {

/// Threads that every contender may use for the work, the submitting one included.
inline constexpr int thread_count = 2;

struct Options {
  int repeats = 7;         ///< samples to measure
  bool is_quick = false;   ///< a smaller sample, to see that everything runs
  std::int64_t bytes = 0;  ///< size of one operation, for the works that have one
};

/// What one executable reports: `samples_ns[i] / operations` is the time of one operation in sample i.
struct Report {
  std::string work;
  std::string contender;
  std::int64_t operations = 1;
  std::vector<std::int64_t> samples_ns;
};

inline std::int64_t now_ns() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count();
}

/// Runs `body` and returns its wall time, ns.
template <class Body>
std::int64_t time_ns(Body&& body) {
  const std::int64_t begin = now_ns();
  body();
  return now_ns() - begin;
}

/// Throws when a contender did not do the work that it is timed for.
inline void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

/// Keeps the compiler from dropping stores to what `pointer` points to.
inline void keep(const void* pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

/// The CPUs that this process may run on.
inline std::vector<int> allowed_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<unsigned>(cpu), &mask)) cpus.push_back(cpu);
  return cpus;
}

/// Binds the calling thread to the `index`-th allowed CPU; with fewer CPUs than threads it leaves the thread free.
inline void bind_thread(int index) {
  const std::vector<int> cpus = allowed_cpus();
  if (index >= static_cast<int>(cpus.size())) return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(static_cast<unsigned>(cpus[static_cast<std::size_t>(index)]), &mask);
  sched_setaffinity(0, sizeof mask, &mask);
}

/// Some runtimes read their environment before `main`. Sets what is unset, and starts this program again if anything
/// was.
inline void ensure_environment(std::initializer_list<std::pair<const char*, const char*>> wanted, char** argv) {
  bool has_changed = false;
  for (const auto& [name, value] : wanted) {
    if (std::getenv(name) != nullptr) continue;
    setenv(name, value, 0);
    has_changed = true;
  }
  if (has_changed) execv("/proc/self/exe", argv);
}

inline std::int64_t parse_count(const char* option, const char* text) {
  char* end = nullptr;
  const long long value = text == nullptr ? 0 : std::strtoll(text, &end, 10);
  if (text == nullptr || *end != '\0' || value < 1 || value > (1LL << 40))
    throw std::invalid_argument(std::string(option) + " needs a positive number");
  return value;
}

inline Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--quick") {
      options.is_quick = true;
    } else if (name == "--repeats") {
      options.repeats = static_cast<int>(std::min<std::int64_t>(parse_count("--repeats", argv[++i]), 1'000'000));
    } else if (name == "--bytes") {
      options.bytes = parse_count("--bytes", argv[++i]);
    } else {
      throw std::invalid_argument("unknown option " + name + ": use --repeats N, --quick, --bytes N");
    }
  }
  return options;
}

inline void print(const Report& report) {
  std::printf("{\"work\":\"%s\",\"contender\":\"%s\",\"samples_ns\":[", report.work.c_str(), report.contender.c_str());
  for (std::size_t i = 0; i < report.samples_ns.size(); ++i)
    std::printf("%s%lld", i == 0 ? "" : ",", static_cast<long long>(report.samples_ns[i]));
  std::printf("],\"tasks\":%lld}\n", static_cast<long long>(report.operations));
}

/// One measured sample: the wall time in ns of `Contender::operations` operations.
struct Contender {
  std::string work;
  std::string name;
  std::int64_t operations = 1;
  std::function<void()> verify;          ///< proves the work once, unmeasured; throws when it is not done
  std::function<std::int64_t()> sample;  ///< one sample, ns
};

inline void measure(const Contender& contender, const Options& options) {
  Report report{contender.work, contender.name, contender.operations, {}};
  if (contender.verify) contender.verify();
  contender.sample();  // the warm-up: threads started, memory touched
  for (int i = 0; i < options.repeats; ++i) report.samples_ns.push_back(contender.sample());
  print(report);
}

/// The `main` of a contender: bad usage is exit code 2, a contender that fails is 1, each with one line.
template <class Body>
int run_main(int argc, char** argv, Body&& body) {
  try {
    const Options options = parse(argc, argv);
    body(options);
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

}  // namespace heddle::bench
