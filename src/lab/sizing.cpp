// SPDX-License-Identifier: Apache-2.0
#include "lab/sizing.hpp"

#include <algorithm>
#include <utility>

namespace heddle::lab {

const char* name_of(RingResource resource) noexcept {
  switch (resource) {
    case RingResource::task_window:
      return "task_window";
    case RingResource::heap_bytes:
      return "heap_bytes";
    case RingResource::dep_pool:
      break;
  }
  return "dep_pool";
}

// Memory is handed out in pieces of 1,024 bytes.
std::uint64_t step_of(RingResource resource) noexcept { return resource == RingResource::heap_bytes ? 1024 : 1; }

std::uint64_t size_of(const RingConfig& ring, RingResource resource) noexcept {
  switch (resource) {
    case RingResource::task_window:
      return ring.task_window;
    case RingResource::heap_bytes:
      return ring.heap_bytes;
    case RingResource::dep_pool:
      break;
  }
  return ring.dep_pool;
}

void set_size(RingConfig& ring, RingResource resource, std::uint64_t size) noexcept {
  switch (resource) {
    case RingResource::task_window:
      ring.task_window = static_cast<std::uint32_t>(size);
      return;
    case RingResource::heap_bytes:
      ring.heap_bytes = size;
      return;
    case RingResource::dep_pool:
      ring.dep_pool = static_cast<std::uint32_t>(size);
      return;
  }
}

namespace {

// Runs that look for a size before it is explored: one of each strategy finds nearly all that is structural.
constexpr std::uint64_t probes = 4;

bool by_rings(const RunResult& result) {
  if (!result.error) return false;
  switch (result.error->code()) {
    case Code::scope_deadlock:
    case Code::heap_ring_deadlock:
    case Code::flow_control_deadlock:
    case Code::dep_pool_overflow:
      return true;
    default:
      return false;
  }
}

bool passes(const RunResult& result) { return result.verdict == Verdict::passed || result.verdict == Verdict::slow; }

// Which size a failure by rings asks for.
RingResource wanted(const RunResult& result) {
  if (result.error->code() == Code::heap_ring_deadlock) return RingResource::heap_bytes;
  if (result.error->code() == Code::dep_pool_overflow) return RingResource::dep_pool;
  return RingResource::task_window;
}

struct Interrupted {};
struct OtherFailure {
  SizedRun run;
};

class Search {
 public:
  Search(const SizeConfig& config, const Sizer& sizer) : config_(config), sizer_(sizer) {}

  SizeReport find() {
    SizeReport report;
    try {
      if (auto failed = first_failure(config_.spec.session.ring, probes)) throw OtherFailure{std::move(*failed)};
      RingConfig least = config_.spec.session.ring;
      for (const RingResource resource : ring_resources) set_size(least, resource, alone(resource));
      std::array<LeastSize, 3> sizes = explored(least);
      report.least = std::move(sizes);
      report.schedules = config_.schedules;
    } catch (const Interrupted&) {
      report.interrupted = true;
    } catch (OtherFailure& other) {
      report.failure = std::move(other.run);
    }
    report.runs = runs_;
    return report;
  }

 private:
  // The first of the schedules that fails by its rings. Throws OtherFailure for one that fails by something else.
  std::optional<SizedRun> first_failure(const RingConfig& ring, std::uint64_t schedules) {
    SizedRun run;
    run.spec = config_.spec;
    run.spec.session.ring = ring;
    for (std::uint64_t i = 0; i < schedules; ++i) {
      if (sizer_.interrupted()) throw Interrupted{};
      sizer_.progress(ring, runs_);
      run.schedule = {};
      run.schedule.strategy = config_.strategies[i % config_.strategies.size()];
      run.schedule.seed = config_.seed + i;
      run.result = run_schedule(sizer_.runner, sizer_.strategies, run.spec, run.schedule, false).result;
      ++runs_;
      if (by_rings(run.result)) return run;
      if (!passes(run.result)) throw OtherFailure{std::move(run)};
    }
    return std::nullopt;
  }

  // The least size of one resource while the others are as large as they may be.
  std::uint64_t alone(RingResource resource) {
    const std::uint64_t step = step_of(resource);
    RingConfig ring = config_.spec.session.ring;
    std::uint64_t fails = 0, passes_at = (size_of(ring, resource) + step - 1) / step;  // in steps
    while (passes_at - fails > 1) {
      const std::uint64_t middle = fails + (passes_at - fails) / 2;
      set_size(ring, resource, middle * step);
      (first_failure(ring, std::min(probes, config_.schedules)) ? fails : passes_at) = middle;
    }
    return std::min(passes_at * step, size_of(config_.spec.session.ring, resource));
  }

  // Sizes grow until every schedule passes, and shrink while one step less still does.
  std::array<LeastSize, 3> explored(RingConfig ring) {
    for (bool settled = false; !settled;) {
      settled = true;
      while (auto failed = first_failure(ring, config_.schedules)) grow(ring, *failed);
      std::array<LeastSize, 3> sizes;
      for (std::size_t i = 0; i < ring_resources.size(); ++i) {
        const RingResource resource = ring_resources[i];
        const std::uint64_t step = step_of(resource);
        sizes[i] = {resource, size_of(ring, resource), std::nullopt};
        if (sizes[i].size <= step) continue;
        RingConfig smaller = ring;
        set_size(smaller, resource, sizes[i].size - step);
        sizes[i].below = first_failure(smaller, config_.schedules);
        if (sizes[i].below) continue;
        ring = smaller;
        settled = false;
        break;
      }
      if (settled) return sizes;
    }
    return {};
  }

  void grow(RingConfig& ring, SizedRun& failed) {
    const RingResource resource = wanted(failed.result);
    const std::uint64_t largest = size_of(config_.spec.session.ring, resource);
    if (size_of(ring, resource) >= largest) throw OtherFailure{std::move(failed)};
    set_size(ring, resource, std::min(largest, size_of(ring, resource) + step_of(resource)));
  }

  const SizeConfig& config_;
  const Sizer& sizer_;
  std::uint64_t runs_ = 0;
};

}  // namespace

SizeReport find_sizes(const SizeConfig& config, const Sizer& sizer) {
  if (config.schedules < 1) detail::throw_invalid("schedules is 0; at least 1");
  if (config.strategies.empty()) detail::throw_invalid("there is no strategy");
  return Search(config, sizer).find();
}

}  // namespace heddle::lab
