// SPDX-License-Identifier: Apache-2.0
#include "lab/event_queue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "lab/keys.hpp"

namespace heddle::lab {
namespace {

struct Number final : Queued {
  std::uint64_t time = 0;
};

TEST(EventQueue, gives_the_earliest_first_and_equal_times_in_the_order_put_in) {
  std::vector<Number> items(500);
  EventQueue queue;
  for (std::size_t index = 0; index < items.size(); ++index) {
    items[index].time = scramble(index) % 40;
    queue.put(items[index].time, items[index]);
  }
  for (std::size_t index = 0; index < items.size(); index += 3) queue.remove(items[index]);
  for (std::size_t index = 1; index < items.size(); index += 30) queue.put(items[index].time = 7, items[index]);
  std::vector<EventQueue::Entry> first;
  queue.earliest(10, false, first);
  std::vector<EventQueue::Entry> order;
  while (!queue.empty()) {
    const bool tie = queue.tie();
    const EventQueue::Entry entry = queue.top();
    queue.remove(*entry.item);
    EXPECT_EQ(tie, !queue.empty() && queue.top().time == entry.time);
    order.push_back(entry);
  }
  EXPECT_EQ(order.size(), items.size() - (items.size() + 2) / 3);
  for (std::size_t index = 1; index < order.size(); ++index) {
    EXPECT_LE(order[index - 1].time, order[index].time);
    if (order[index - 1].time == order[index].time) {
      EXPECT_LT(order[index - 1].sequence, order[index].sequence);
    }
  }
  for (std::size_t index = 0; index < 10; ++index) EXPECT_EQ(first[index].sequence, order[index].sequence);
}

TEST(EventQueue, a_copy_is_not_queued_and_another_queue_knows_nothing) {
  EventQueue queue;
  EventQueue other;
  Number item;
  queue.put(5, item);
  const Number copy(item);
  EXPECT_TRUE(queue.holds(item));
  EXPECT_FALSE(queue.holds(copy));
  EXPECT_FALSE(other.holds(item));
  EXPECT_EQ(queue.time_of(item), 5U);
}

// The same things in a set, which orders them by time and by when they were put in.
struct Beside {
  using Key = std::tuple<std::uint64_t, std::uint64_t, Number*>;  // no two have the same first two
  EventQueue queue;
  std::set<Key> set;
  std::vector<Number> items = std::vector<Number>(200);
  std::vector<Key> keys = std::vector<Key>(items.size());
  std::uint64_t sequence = 0;

  void put(std::size_t index, std::uint64_t time) {
    Number& item = items[index];
    set.erase(keys[index]);
    set.insert(keys[index] = {time, sequence++, &item});
    queue.put(time, item);
  }
  void remove(std::size_t index) {
    set.erase(keys[index]);
    queue.remove(items[index]);
  }
  void expect_equal(bool earliest_time_only) {
    ASSERT_EQ(queue.size(), set.size());
    ASSERT_EQ(queue.empty(), set.empty());
    std::vector<EventQueue::Entry> found;
    queue.earliest(16, earliest_time_only, found);
    std::vector<Key> got;
    for (const EventQueue::Entry& entry : found)
      got.emplace_back(entry.time, entry.sequence, static_cast<Number*>(entry.item));
    std::vector<Key> expected;
    for (const Key& key : set) {
      if (expected.size() == 16 || (earliest_time_only && std::get<0>(key) != std::get<0>(*set.begin()))) break;
      expected.push_back(key);
    }
    ASSERT_EQ(got, expected);
    if (set.empty()) return;
    ASSERT_EQ(queue.top().item, std::get<2>(*set.begin()));
    const auto second = std::next(set.begin());
    ASSERT_EQ(queue.tie(), second != set.end() && std::get<0>(*second) == std::get<0>(*set.begin()));
  }
};

// Short and long waits, times that come out of order, and a time that goes on or stands still.
TEST(EventQueue, keeps_the_order_of_a_sorted_set_whatever_is_put_and_taken) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Beside beside;
    const std::uint64_t span = std::uint64_t{1} << (random() % 20);
    const bool goes_back = seed % 3 == 0;
    const bool goes_on = seed % 2 == 0;
    std::uint64_t now = 0;
    for (int turn = 0; turn < 1500; ++turn) {
      const std::size_t index = random() % beside.items.size();
      switch (random() % 4) {
        case 0:
        case 1:
          beside.put(index, (goes_back ? 0 : now) + random() % span);
          break;
        case 2:
          beside.remove(index);
          break;
        default:
          if (goes_on) beside.queue.advance();
          ASSERT_NO_FATAL_FAILURE(beside.expect_equal(random() % 2 == 0));
          if (beside.set.empty()) break;
          now = std::get<0>(*beside.set.begin());
          beside.remove(static_cast<std::size_t>(std::get<2>(*beside.set.begin()) - beside.items.data()));
      }
      const bool held = beside.set.count(beside.keys[index]) != 0;
      ASSERT_EQ(beside.queue.holds(beside.items[index]), held);
    }
  }
}

}  // namespace
}  // namespace heddle::lab
