// SPDX-License-Identifier: Apache-2.0
#include "base/fiber.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sanitizer.hpp"

namespace heddle::base {
namespace {

constexpr std::size_t stack_bytes = std::size_t{64} << 10U;

// A fiber around a function, with the handle of whoever continued it last.
class Routine {
 public:
  explicit Routine(std::function<void(Routine&)> body, std::size_t bytes = stack_bytes)
      : body_(std::move(body)), fiber_(bytes, &Routine::enter, this) {}

  void resume() { Fiber::switch_to(caller_, fiber_); }
  void suspend() { Fiber::switch_to(fiber_, caller_); }
  bool done() const { return done_; }

 private:
  static void enter(void* argument) {
    auto& self = *static_cast<Routine*>(argument);
    self.body_(self);
    self.body_ = nullptr;
    self.done_ = true;
    Fiber::exit_to(self.caller_);
  }

  std::function<void(Routine&)> body_;
  Fiber caller_ = Fiber::adopt();
  Fiber fiber_;
  bool done_ = false;
};

TEST(Fiber, alternates_with_its_caller) {
  std::string trace;
  Routine routine([&](Routine& self) {
    for (const char step : {'a', 'b', 'c'}) {
      trace += step;
      self.suspend();
    }
  });
  for (const char step : {'1', '2', '3'}) {
    routine.resume();
    trace += step;
  }
  EXPECT_FALSE(routine.done());
  routine.resume();
  EXPECT_TRUE(routine.done());
  EXPECT_EQ(trace, "a1b2c3");
}

TEST(Fiber, switches_between_two_fibers_without_their_caller) {
  struct Ring {
    Fiber home = Fiber::adopt();
    std::array<Fiber*, 2> member{};
    int rounds = 0;
  } ring;
  Fiber first(
      stack_bytes,
      [](void* argument) {
        auto& shared = *static_cast<Ring*>(argument);
        for (int round = 0; round < 1000; ++round) {
          ++shared.rounds;
          Fiber::switch_to(*shared.member[0], *shared.member[1]);
        }
        Fiber::exit_to(shared.home);
      },
      &ring);
  Fiber second(
      stack_bytes,
      [](void* argument) {
        auto& shared = *static_cast<Ring*>(argument);
        for (;;) {
          ++shared.rounds;
          Fiber::switch_to(*shared.member[1], *shared.member[0]);
        }
      },
      &ring);
  ring.member = {&first, &second};
  Fiber::switch_to(ring.home, first);
  EXPECT_EQ(ring.rounds, 2000);
}

TEST(Fiber, throws_and_catches_on_its_own_stack) {
  std::string caught;
  Routine routine([&](Routine& self) {
    try {
      self.suspend();
      throw std::runtime_error("inside");
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
  });
  routine.resume();
  try {
    throw std::logic_error("outside");
  } catch (const std::logic_error&) {
    routine.resume();
  }
  EXPECT_TRUE(routine.done());
  EXPECT_EQ(caught, "inside");
}

TEST(Fiber, switch_inside_a_catch_block_keeps_each_exception_with_its_context) {
  std::string trace;
  const auto body = [&trace](const std::string& name) {
    return [&trace, name](Routine& self) {
      try {
        throw std::runtime_error(name);
      } catch (const std::runtime_error&) {
        self.suspend();
        try {
          throw;  // the exception of this context, whatever the others have caught meanwhile
        } catch (const std::runtime_error& again) {
          trace += again.what();
        }
      }
      trace += std::current_exception() == nullptr ? '.' : '!';
    };
  };
  Routine first(body("first"));
  Routine second(body("second"));
  first.resume();
  EXPECT_EQ(std::current_exception(), nullptr);
  second.resume();
  EXPECT_EQ(std::current_exception(), nullptr);
  first.resume();
  second.resume();
  EXPECT_EQ(trace, "first.second.");
}

TEST(Fiber, switch_during_unwinding_keeps_the_count_of_uncaught_exceptions) {
  struct Suspender {
    Routine& routine;
    int& count;
    ~Suspender() {
      routine.suspend();
      count = std::uncaught_exceptions();
    }
  };
  int inside = -1;
  Routine routine([&](Routine& self) {
    try {
      const Suspender suspender{self, inside};
      throw std::runtime_error("unwinding");
    } catch (const std::runtime_error&) {
    }
  });
  routine.resume();
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  routine.resume();
  EXPECT_EQ(inside, 1);
  EXPECT_TRUE(routine.done());
}

TEST(Fiber, continues_on_other_threads_even_inside_a_catch_block) {
  std::vector<std::thread::id> ids;
  std::string caught;
  Routine routine([&](Routine& self) {
    ids.push_back(std::this_thread::get_id());
    self.suspend();
    ids.push_back(std::this_thread::get_id());
    try {
      throw std::runtime_error("migrates");
    } catch (const std::runtime_error&) {
      self.suspend();
      ids.push_back(std::this_thread::get_id());
      try {
        throw;
      } catch (const std::runtime_error& error) {
        caught = error.what();
      }
    }
  });
  std::vector<std::thread::id> expected;
  for (int turn = 0; turn < 3; ++turn) {
    std::thread thread([&] {
      expected.push_back(std::this_thread::get_id());
      try {
        throw std::logic_error("of the thread");
      } catch (const std::logic_error& error) {
        routine.resume();
        EXPECT_STREQ(error.what(), "of the thread");
      }
      EXPECT_EQ(std::current_exception(), nullptr);
    });
    thread.join();
  }
  EXPECT_TRUE(routine.done());
  EXPECT_EQ(ids, expected);
  EXPECT_EQ(caught, "migrates");
}

// The suspended context is kept in a handle that is not the one its stack belongs to.
TEST(Fiber, any_handle_can_keep_the_running_context) {
  struct Shared {
    Fiber home = Fiber::adopt();
    Fiber slot = Fiber::adopt();
    int turns = 0;
  } shared;
  const auto enter = [](void* argument) {
    auto& state = *static_cast<Shared*>(argument);
    for (;;) {
      std::array<char, 256> local{};
      std::snprintf(local.data(), local.size(), "%d", ++state.turns);
      Fiber::switch_to(state.slot, state.home);
      EXPECT_EQ(std::stoi(local.data()), state.turns);
    }
  };
  Fiber fiber(stack_bytes, enter, &shared);
  Fiber::switch_to(shared.home, fiber);
  EXPECT_FALSE(fiber.holds_context());
  for (int turn = 0; turn < 10; ++turn) Fiber::switch_to(shared.home, shared.slot);
  EXPECT_EQ(shared.turns, 11);
}

[[gnu::noinline]] int use_stack(int depth) {
  std::array<volatile char, 512> frame{};
  frame[static_cast<std::size_t>(depth) % frame.size()] = 1;
  return depth == 0 ? 0 : 1 + use_stack(depth - 1) + frame[0] - frame[0];
}

TEST(Fiber, deep_use_of_a_large_stack) {
  int depth = 0;
  Routine routine([&](Routine&) { depth = use_stack(5000); }, std::size_t{8} << 20U);
  routine.resume();
  EXPECT_EQ(depth, 5000);
}

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%zu %zu", &total, &resident) != 2) resident = 0;
  std::fclose(file);
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Fiber, ten_thousand_at_once_hold_only_the_pages_they_touch) {
  // Contexts are dear to the thread sanitizer, and it has a table of 8128 for them.
  const std::size_t count = HEDDLE_TSAN ? 200 : 10'000;
  const std::size_t before = resident_bytes();
  std::size_t finished = 0;
  std::vector<std::unique_ptr<Routine>> routines;
  for (std::size_t index = 0; index < count; ++index) {
    routines.push_back(std::make_unique<Routine>(
        [&finished](Routine& self) {
          self.suspend();
          ++finished;
        },
        std::size_t{256} << 10U));
  }
  for (const auto& routine : routines) routine->resume();
  if (!HEDDLE_TSAN && !HEDDLE_ASAN) {
    EXPECT_LT(resident_bytes() - before, count * (std::size_t{32} << 10U));
  }
  for (const auto& routine : routines) routine->resume();
  EXPECT_EQ(finished, count);
}

TEST(Fiber, a_stack_that_cannot_be_had_is_a_clear_error) {
  try {
    const Fiber fiber(std::size_t{1} << 47U, [](void*) {}, nullptr);
    FAIL() << "a stack of 128 TiB was granted";
  } catch (const std::bad_alloc& error) {
    EXPECT_NE(std::string(error.what()).find("fiber stack"), std::string::npos);
  }
}

#if !HEDDLE_TSAN  // death tests fork
TEST(FiberDeathTest, misuse_is_named) {
  EXPECT_DEATH(
      {
        Fiber home = Fiber::adopt();
        Fiber fiber(stack_bytes, [](void*) {}, nullptr);
        Fiber::switch_to(home, fiber);
      },
      "the entry of a fiber returned");
  EXPECT_DEATH(
      {
        Fiber home = Fiber::adopt();
        Fiber nobody = Fiber::adopt();
        Fiber::switch_to(home, nobody);
      },
      "holds no suspended context");
}

TEST(FiberDeathTest, overflow_meets_the_guard_page) {
  EXPECT_DEATH(
      {
        Routine routine([](Routine&) { use_stack(5000); });
        routine.resume();
      },
      "");
}
#endif

}  // namespace
}  // namespace heddle::base
