// SPDX-License-Identifier: Apache-2.0
//
// The mixed blocks that run now, and what their halves hand each other. The first half to begin makes a block's entry,
// the last one to end gives it back.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/lock.hpp"
#include "chip/handover.hpp"
#include "graph/slot.hpp"

namespace heddle::host {

template <base::Environment E>
class HostHalves {
 public:
  // References to tasks are not used twice in a session: what an aborted round has left is nobody's.
  struct Key {
    const void* rank = nullptr;
    graph::TaskRef task = 0;
    std::int64_t block = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Entry {
    Entry() : handover(mixed_cores.vectors, chip::Handovers{}.tiles) {}
    Key key;
    std::uint32_t ended = 0;
    bool used = false;  // some half has called for it
    Entry* next = nullptr;
    chip::Handover<E> handover;
  };

  // By each half that begins.
  Entry& enter(const Key& key) {
    Bucket& bucket = bucket_of(key);
    if (Entry* const found = locked_find(bucket, key); found != nullptr) return *found;
    Entry* const made = spare();  // allocates: outside of the lock
    made->key = key;
    made->ended = 0;
    made->used = false;
    const std::lock_guard guard(bucket.lock);
    Entry* found = find(bucket, key);
    if (found == nullptr) {
      made->next = bucket.first;
      bucket.first = made;
      return *made;
    }
    give_back(*made);
    return *found;
  }
  // By each half that ends, of so many. True for the last one, whose the entry then is, until release().
  bool leave(Entry& entry, std::uint32_t halves, bool used) {
    Bucket& bucket = bucket_of(entry.key);
    const std::lock_guard guard(bucket.lock);
    entry.used |= used;
    if (++entry.ended != halves) return false;
    Entry** place = &bucket.first;
    while (*place != &entry) place = &(*place)->next;
    *place = entry.next;
    return true;
  }
  void release(Entry& entry) {
    if (entry.used) entry.handover.clear();
    give_back(entry);
  }

  // When no block runs: forgets those whose other half a cancelled round has skipped.
  void clear() {
    for (Bucket& bucket : buckets_) {
      while (bucket.first != nullptr) {
        Entry& entry = *bucket.first;
        bucket.first = entry.next;
        entry.used = true;
        release(entry);
      }
    }
  }

 private:
  struct alignas(64) Bucket {
    base::SpinLock<E> lock;
    Entry* first = nullptr;
  };
  static constexpr std::size_t bucket_count = 64;

  Bucket& bucket_of(const Key& key) {
    return buckets_[(key.task + static_cast<std::uint64_t>(key.block)) % bucket_count];
  }
  static Entry* find(const Bucket& bucket, const Key& key) {
    Entry* entry = bucket.first;
    while (entry != nullptr && !(entry->key == key)) entry = entry->next;
    return entry;
  }
  static Entry* locked_find(Bucket& bucket, const Key& key) {
    const std::lock_guard guard(bucket.lock);
    return find(bucket, key);
  }

  Entry* spare() {
    {
      const std::lock_guard guard(spares_lock_);
      if (spares_ != nullptr) {
        Entry* const entry = spares_;
        spares_ = entry->next;
        return entry;
      }
    }
    auto made = std::make_unique<Entry>();
    Entry* const entry = made.get();
    const std::lock_guard guard(spares_lock_);
    all_.push_back(std::move(made));
    return entry;
  }
  void give_back(Entry& entry) {
    const std::lock_guard guard(spares_lock_);
    entry.next = spares_;
    spares_ = &entry;
  }

  Bucket buckets_[bucket_count];
  base::SpinLock<E> spares_lock_;
  Entry* spares_ = nullptr;
  std::vector<std::unique_ptr<Entry>> all_;
};

}  // namespace heddle::host
