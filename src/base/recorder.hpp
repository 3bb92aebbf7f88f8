// SPDX-License-Identifier: Apache-2.0
//
// The flight recorder: what each worker did last, always on. A worker writes its own recorder and no other; anyone may
// copy all of them at any time. The first error freezes them, so that what led to it stays.
//
// A recorder is a ring of 32-byte records under two counts, of records begun and of records written. Writing record i
// goes: begun = i + 1, the four words of slot i mod capacity, written = i + 1. A reader copies the records below
// `written`, then reads `begun`: a copy is whole when no later record for its slot had begun, and dropped otherwise.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace heddle::base {

// `subject` and `value` of each kind. A name is a `const char*` that outlives the recorder.
enum class Event : std::uint8_t {
  block,         // a block ran on this worker without a break; task's name, block's index
  put,           // a copy to a peer; bytes, the peer's rank
  get,           // a copy from a peer; bytes, the peer's rank
  notify,        // from before the cell changed; address of the cell, low bits of the value
  wait,          // from the first look at the cell until it was satisfied; address of the cell, block's index
  submit,        // the orchestrator submitted a task; task's name, number of blocks
  scope,         // a scope, from its begin to its end; name of its source file or null, line
  ring_wait,     // the orchestrator waited for room; name of the task that needs it, ring
  round_begin,   // of one rank; 0, low bits of the round
  round_end,     // of one rank; 0, low bits of the round
  error,         // the first error; its name, its number
  orchestrator,  // the rank's own program ran on this worker without a break; program's name or null, 0
};
inline constexpr int event_kinds = 12;

// Flags of a block or orchestrator record.
inline constexpr std::uint8_t event_resumed = 1;  // it had run before: it had waited
inline constexpr std::uint8_t event_parked = 2;   // it did not end here: it waits
// Flags of a wait or notify record.
inline constexpr std::uint8_t event_wide = 4;      // the cell is 64 bit
inline constexpr std::uint8_t event_deferred = 8;  // the wait of a task that completes_when: holds no worker

// The rank of a record that belongs to none; what -1 becomes.
inline constexpr std::uint16_t no_rank = 0xffff;

struct Record {
  std::uint64_t end_ticks = 0;
  std::uint64_t subject = 0;
  std::uint32_t duration = 0;  // ticks before end_ticks, at most 2^32 - 1
  std::uint32_t value = 0;
  std::uint32_t task = 0;  // low bits of the task's id
  std::uint16_t rank = 0;
  Event kind = Event::block;
  std::uint8_t flags = 0;
};
static_assert(sizeof(Record) == 32 && std::is_trivially_copyable_v<Record> &&
              std::has_unique_object_representations_v<Record>);
static_assert(offsetof(Record, subject) == 8 && offsetof(Record, duration) == 16 && offsetof(Record, value) == 20 &&
              offsetof(Record, task) == 24 && offsetof(Record, rank) == 28 && offsetof(Record, kind) == 30 &&
              offsetof(Record, flags) == 31);

// A record as the words that are stored. Put together by shifts: narrow stores read back as a word would stall.
constexpr std::array<std::uint64_t, 4> words_of(const Record& record) noexcept {
  return {record.end_ticks, record.subject, record.duration | static_cast<std::uint64_t>(record.value) << 32U,
          record.task | static_cast<std::uint64_t>(record.rank) << 32U |
              static_cast<std::uint64_t>(record.kind) << 48U | static_cast<std::uint64_t>(record.flags) << 56U};
}
static_assert(std::endian::native == std::endian::little, "words_of and std::bit_cast agree");
static_assert(words_of({1, 2, 3, 4, 5, 6, Event::put, 7}) ==
              std::bit_cast<std::array<std::uint64_t, 4>>(Record{1, 2, 3, 4, 5, 6, Event::put, 7}));

inline std::uint64_t subject_of(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }
inline std::uint32_t duration_of(std::uint64_t start_ticks, std::uint64_t end_ticks) noexcept {
  const std::uint64_t ticks = end_ticks - start_ticks;
  return ticks > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(ticks);
}

class alignas(64) Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Its worker only. Does nothing once the set is frozen.
  void write(const Record& record) noexcept {
    if (frozen_->load(std::memory_order_relaxed))
      return;  // relaxed: one record more or less after the error is no harm
    const auto words = words_of(record);
    const std::uint64_t index = written_.load(std::memory_order_relaxed);  // relaxed: own value
    begun_.store(index + 1, std::memory_order_relaxed);                    // relaxed: published by the words' releases
    Slot& slot = slots_[index & mask_];
    // release: partner is the acquire in copy(); whoever reads one of these words reads a `begun` that counts it.
    for (std::size_t i = 0; i < words.size(); ++i) slot.word[i].store(words[i], std::memory_order_release);
    written_.store(index + 1, std::memory_order_release);  // release: partner is the acquire in copy()
  }

  // The same, from the start, the end and the rest.
  void write(Event kind, std::uint64_t start_ticks, std::uint64_t end_ticks, std::uint64_t subject, std::uint32_t value,
             std::uint32_t task, int rank, std::uint8_t flags = 0) noexcept {
    write(Record{end_ticks, subject, duration_of(start_ticks, end_ticks), value, task, static_cast<std::uint16_t>(rank),
                 kind, flags});
  }
  // False when writing does nothing: lets a worker leave out reading the clock. One relaxed load.
  bool on() const noexcept { return !frozen_->load(std::memory_order_relaxed); }  // relaxed: as in write()

  // Any thread, at any time: what the ring holds, oldest first. Complete when the worker does not write meanwhile.
  std::vector<Record> copy() const;
  std::uint64_t written() const noexcept { return written_.load(std::memory_order_relaxed); }  // relaxed: a count

 private:
  friend class RecorderSet;
  struct alignas(32) Slot {
    std::array<std::atomic<std::uint64_t>, 4> word;
  };
  std::unique_ptr<Slot[]> slots_;
  std::uint64_t mask_ = 0;
  const std::atomic<bool>* frozen_ = nullptr;
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> written_{0};
};

// One recorder for each writer: the workers, and whoever else records (the host thread).
class RecorderSet {
 public:
  // `capacity` records each, a power of two up to 2^26; throws invalid_argument otherwise. Not enabled, it stays frozen
  // for good and holds no memory for records.
  RecorderSet(int writers, std::uint32_t capacity, bool enabled = true);

  Recorder& operator[](int writer) noexcept { return recorders_[static_cast<std::size_t>(writer)]; }
  const Recorder& operator[](int writer) const noexcept { return recorders_[static_cast<std::size_t>(writer)]; }
  int size() const noexcept { return static_cast<int>(writers_); }
  std::uint32_t capacity() const noexcept { return capacity_; }
  bool enabled() const noexcept { return enabled_; }

  // Any thread. True for the call that froze them: a writer's record that had begun is still written.
  bool freeze() noexcept { return !frozen_.exchange(true, std::memory_order_relaxed); }  // relaxed: as in write()
  bool frozen() const noexcept { return frozen_.load(std::memory_order_relaxed); }       // relaxed: as in write()
  // After recovery; the records stay.
  void thaw() noexcept { frozen_.store(!enabled_, std::memory_order_relaxed); }  // relaxed: as in write()

  // Over all writers since the set was made. written == kept + dropped, also while they write.
  struct Counts {
    std::uint64_t written = 0;
    std::uint64_t kept = 0;
    std::uint64_t dropped = 0;  // overwritten by later ones
  };
  Counts counts() const noexcept;
  std::uint64_t written() const noexcept { return counts().written; }
  std::uint64_t kept() const noexcept { return counts().kept; }
  std::uint64_t dropped() const noexcept { return counts().dropped; }

  // Each writer's records, oldest first. Any thread, at any time.
  std::vector<std::vector<Record>> snapshot() const;

 private:
  std::unique_ptr<Recorder[]> recorders_;
  std::size_t writers_;
  std::uint32_t capacity_;
  bool enabled_;
  alignas(64) std::atomic<bool> frozen_;  // read at each write: on a line that nothing else dirties
};

}  // namespace heddle::base
