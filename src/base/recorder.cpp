// SPDX-License-Identifier: Apache-2.0
#include "base/recorder.hpp"

#include <algorithm>
#include <bit>
#include <heddle/error.hpp>
#include <string>

namespace heddle::base {

std::vector<Record> Recorder::copy() const {
  std::vector<Record> records;
  if (slots_ == nullptr) return records;
  const std::uint64_t capacity = mask_ + 1;
  // acquire: partner is the last release in write(); the records below it are whole.
  const std::uint64_t end = written_.load(std::memory_order_acquire);
  const std::uint64_t first = end > capacity ? end - capacity : 0;
  records.resize(static_cast<std::size_t>(end - first));
  for (std::uint64_t index = first; index < end; ++index) {
    const Slot& slot = slots_[index & mask_];
    std::array<std::uint64_t, 4> words;
    // acquire: partner is the words' release in write(); also keeps the load of begun_ below after these.
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = slot.word[i].load(std::memory_order_acquire);
    records[static_cast<std::size_t>(index - first)] = std::bit_cast<Record>(words);
  }
  // relaxed: ordered after the words by their acquires. Records before begun - capacity may have been overwritten while
  // they were copied.
  const std::uint64_t begun = begun_.load(std::memory_order_relaxed);
  const std::uint64_t oldest = begun > capacity ? begun - capacity : 0;
  if (oldest > first) {
    const auto lost = static_cast<std::ptrdiff_t>(std::min(oldest, end) - first);
    records.erase(records.begin(), records.begin() + lost);
  }
  return records;
}

RecorderSet::RecorderSet(int writers, std::uint32_t capacity, bool enabled)
    : writers_(static_cast<std::size_t>(std::max(writers, 0))),
      capacity_(capacity),
      enabled_(enabled),
      frozen_(!enabled) {
  constexpr std::uint32_t capacity_max = 1U << 26U;
  if (!std::has_single_bit(capacity) || capacity > capacity_max)
    detail::throw_invalid("flight recorder: " + std::to_string(capacity) +
                          " entries, but it must be a power of two from 1 to " + std::to_string(capacity_max));
  recorders_ = std::make_unique<Recorder[]>(writers_);
  for (std::size_t i = 0; i < writers_; ++i) {
    Recorder& recorder = recorders_[i];
    recorder.frozen_ = &frozen_;
    recorder.mask_ = capacity - 1;
    if (enabled) recorder.slots_ = std::make_unique<Recorder::Slot[]>(capacity);
  }
}

RecorderSet::Counts RecorderSet::counts() const noexcept {
  Counts counts;
  for (std::size_t i = 0; i < writers_; ++i) {
    const std::uint64_t written = recorders_[i].written();
    const std::uint64_t kept = std::min<std::uint64_t>(written, capacity_);
    counts.written += written;
    counts.kept += kept;
    counts.dropped += written - kept;
  }
  return counts;
}

std::vector<std::vector<Record>> RecorderSet::snapshot() const {
  std::vector<std::vector<Record>> all;
  all.reserve(writers_);
  for (std::size_t i = 0; i < writers_; ++i) all.push_back(recorders_[i].copy());
  return all;
}

}  // namespace heddle::base
