// SPDX-License-Identifier: Apache-2.0
#include "base/recorder.hpp"

#include <gtest/gtest.h>

#include <heddle/error.hpp>
#include <thread>

#include "base/ticks.hpp"

namespace heddle::base {
namespace {

// All fields follow from one number, so that a record made of two shows.
Record made_of(std::uint64_t n) {
  return {n * 3,
          n * 5,
          static_cast<std::uint32_t>(n * 7),
          static_cast<std::uint32_t>(n * 11),
          static_cast<std::uint32_t>(n),
          static_cast<std::uint16_t>(n * 13),
          static_cast<Event>(n % event_kinds),
          static_cast<std::uint8_t>(n * 17)};
}
bool is_whole(const Record& r) {
  const Record expected = made_of(r.end_ticks / 3);
  return std::bit_cast<std::array<std::uint64_t, 4>>(r) == std::bit_cast<std::array<std::uint64_t, 4>>(expected);
}

TEST(Recorder, keeps_what_was_written_in_order) {
  RecorderSet set(2, 8);
  set[1].write(Event::block, 100, 150, 7, 3, 9, 5, event_parked);
  set[1].write(Event::notify, 160, 160, 8, 1, 9, -1);
  const auto all = set.snapshot();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].empty());
  ASSERT_EQ(all[1].size(), 2U);
  EXPECT_EQ(all[1][0].end_ticks, 150U);
  EXPECT_EQ(all[1][0].duration, 50U);
  EXPECT_EQ(all[1][0].subject, 7U);
  EXPECT_EQ(all[1][0].value, 3U);
  EXPECT_EQ(all[1][0].task, 9U);
  EXPECT_EQ(all[1][0].rank, 5);
  EXPECT_EQ(all[1][0].kind, Event::block);
  EXPECT_EQ(all[1][0].flags, event_parked);
  EXPECT_EQ(all[1][1].kind, Event::notify);
  EXPECT_EQ(all[1][1].rank, no_rank);
}

TEST(Recorder, a_full_ring_keeps_the_latest_and_counts_the_rest_as_dropped) {
  RecorderSet set(1, 8);
  for (std::uint64_t written = 1; written <= 100; ++written) {
    set[0].write(made_of(written));
    const auto counts = set.counts();
    const std::uint64_t kept = std::min<std::uint64_t>(written, 8);
    ASSERT_EQ(counts.written, written);
    ASSERT_EQ(counts.kept, kept);
    ASSERT_EQ(counts.dropped, written - kept);
    const auto records = set.snapshot()[0];
    ASSERT_EQ(records.size(), kept);
    for (std::size_t i = 0; i < records.size(); ++i) ASSERT_EQ(records[i].task, written - kept + 1 + i);
  }
}

TEST(Recorder, a_duration_beyond_its_field_saturates) {
  EXPECT_EQ(duration_of(10, 10), 0U);
  EXPECT_EQ(duration_of(10, 10 + std::uint64_t{UINT32_MAX}), UINT32_MAX);
  EXPECT_EQ(duration_of(10, 11 + std::uint64_t{UINT32_MAX}), UINT32_MAX);
}

TEST(Recorder, the_first_error_freezes_all_until_the_set_is_thawed) {
  RecorderSet set(2, 4);
  set[0].write(made_of(1));
  EXPECT_TRUE(set[0].on());
  EXPECT_TRUE(set.freeze());
  EXPECT_FALSE(set.freeze());
  EXPECT_TRUE(set.frozen());
  EXPECT_FALSE(set[1].on());
  set[0].write(made_of(2));
  set[1].write(made_of(3));
  EXPECT_EQ(set.written(), 1U);
  set.thaw();
  set[1].write(made_of(4));
  EXPECT_EQ(set.written(), 2U);
  EXPECT_EQ(set.kept(), 2U);
  EXPECT_EQ(set.dropped(), 0U);
}

TEST(Recorder, a_set_that_is_not_enabled_writes_nothing) {
  RecorderSet set(1, 1U << 20U, false);
  set[0].write(made_of(1));
  set.thaw();
  set[0].write(made_of(2));
  EXPECT_FALSE(set[0].on());
  EXPECT_EQ(set.written(), 0U);
  EXPECT_TRUE(set.snapshot()[0].empty());
}

TEST(Recorder, a_capacity_that_is_no_power_of_two_is_refused) {
  for (const std::uint32_t capacity : {0U, 3U, 1000U, 1U << 27U}) {
    try {
      RecorderSet set(1, capacity);
      ADD_FAILURE() << capacity;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      EXPECT_EQ(error.message(), "flight recorder: " + std::to_string(capacity) +
                                     " entries, but it must be a power of two from 1 to 67108864");
    }
  }
}

TEST(Recorder, a_copy_taken_while_the_worker_writes_holds_whole_records_in_a_row) {
  constexpr std::size_t capacity = 1024;
  constexpr int wanted = 50;  // copies that the writer overtook in part: those that it may tear
  RecorderSet set(1, capacity);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t n = 1; !stop.load(std::memory_order_relaxed); ++n) {
      set[0].write(made_of(n));
      for (int i = 0; i < 64; ++i)
        static_cast<void>(stop.load(std::memory_order_relaxed));  // no faster than the copies
    }
  });
  for (int overtaken = 0; overtaken < wanted && !testing::Test::HasFailure();) {
    const bool full = set.dropped() > 0;
    const auto records = set.snapshot()[0];
    const auto counts = set.counts();
    EXPECT_EQ(counts.written, counts.kept + counts.dropped);
    for (std::size_t i = 0; i < records.size(); ++i) {
      EXPECT_TRUE(is_whole(records[i])) << "record " << i << " of " << records.size();
      EXPECT_EQ(records[i].end_ticks, records[0].end_ticks + 3 * i);
    }
    if (full && !records.empty() && records.size() < capacity) ++overtaken;
  }
  stop.store(true, std::memory_order_relaxed);
  writer.join();
  EXPECT_EQ(set.snapshot()[0].size(), capacity);
}

TEST(TickClock, is_the_line_through_its_samples) {
  const TickClock clock({1000, 500}, {3000, 1500});
  EXPECT_EQ(clock.ns(1000), 500);
  EXPECT_EQ(clock.ns(3000), 1500);
  EXPECT_EQ(clock.ns(5000), 2500);
  EXPECT_EQ(clock.ns(0), 0);
  EXPECT_DOUBLE_EQ(clock.ns_per_tick(), 0.5);
}

TEST(TickClock, takes_a_tick_for_a_nanosecond_when_its_samples_give_no_rate) {
  const TickClock same({1000, 500}, {1000, 500});
  EXPECT_EQ(same.ns(1100), 600);
}

TEST(TickClock, agrees_with_the_steady_clock) {
  const auto first = TickClock::sample();
  TickClock::Sample second;
  do second = TickClock::sample();
  while (second.ns - first.ns < 2'000'000);
  const TickClock clock(first, second);
  const auto between = TickClock::sample();
  EXPECT_GE(clock.ns(between.ticks), clock.ns(second.ticks));
  EXPECT_GT(clock.ns_per_tick(), 0.0);
}

}  // namespace
}  // namespace heddle::base
