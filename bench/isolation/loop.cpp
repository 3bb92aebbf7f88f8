// SPDX-License-Identifier: Apache-2.0
// The floor of the isolation program's payload variant, 16 ranks: the same input generation, poison fills, copies,
// counter updates and checks in plain loops. Each thread has two of the four groups, which share nothing, so that the
// threads meet only between rounds. No skew loop, no task, no signal: what is left is the work itself.
#include <atomic>
#include <cstring>

#include "common/harness.hpp"
#include "common/huge_buffer.hpp"
#include "common/team.hpp"

namespace {
using namespace heddle::bench;

constexpr int rank_count = 16;
constexpr int group_size = 4;
constexpr std::size_t input_elements = 128 * 4'096;  ///< bf16 elements of one rank's input: 1 MiB
constexpr std::size_t output_elements = input_elements * group_size;
constexpr int push_blocks = 8;
constexpr int notify_blocks = 24;
constexpr int pattern_period = 97;                              ///< elements after which the input repeats
constexpr std::size_t compared_elements = pattern_period * 64;  ///< 12 KiB of whole periods
constexpr int poison_byte = 0xff;                               ///< a NaN in bf16, which no input holds

struct Rank {
  HugeBuffer<std::uint16_t> input = HugeBuffer<std::uint16_t>(input_elements);
  HugeBuffer<std::uint16_t> window = HugeBuffer<std::uint16_t>(output_elements);
  HugeBuffer<std::uint16_t> output = HugeBuffer<std::uint16_t>(output_elements);
  std::atomic<std::int32_t> hidden_done[group_size] = {};
  std::atomic<std::int32_t> logits_done[group_size] = {};
};

/// Exact for the whole numbers of the pattern: the upper half of a float.
std::uint16_t to_bf16(int value) {
  const auto wide = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &wide, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);
}

/// Element i is (i % 97 + rank * 7 + round * 13) % 127. One period is computed, the rest are copies of it.
void generate(HugeBuffer<std::uint16_t>& input, int rank, int round) {
  for (std::size_t i = 0; i < pattern_period; ++i)
    input[i] = to_bf16((static_cast<int>(i) + rank * 7 + round * 13) % 127);
  for (std::size_t done = pattern_period; done < input.size();) {
    const std::size_t count = std::min(done, input.size() - done);
    std::memcpy(input.data() + done, input.data(), count * sizeof(std::uint16_t));
    done += count;
  }
}

class Ranks {
 public:
  /// One round of the ranks [first, last), which are whole groups.
  void round(int first, int last, int number) {
    for (int rank = first; rank < last; ++rank) generate(at(rank).input, rank, number);
    for (int rank = first; rank < last; ++rank) std::memset(at(rank).output.data(), poison_byte, output_bytes);
    for (int rank = first; rank < last; ++rank) push(rank);
    for (int rank = first; rank < last; ++rank)
      std::memcpy(at(rank).output.data(), at(rank).window.data(), output_bytes);
    for (int rank = first; rank < last; ++rank) notify(rank);
    for (int rank = first; rank < last; ++rank) check(rank);
  }

  /// Shows that `check` can fail: a wrong element, then a wrong counter, each have to be seen.
  void verify() {
    round(0, rank_count, 1);
    for (int rank = 0; rank < rank_count; ++rank) add_all(rank, push_blocks, notify_blocks);
    at(5).output[output_elements - 1] ^= 1;
    require(has_fault(5), "a wrong element passed the check");
    at(5).output[output_elements - 1] ^= 1;
    at(5).hidden_done[2].fetch_add(1, std::memory_order_relaxed);
    require(has_fault(5), "a wrong counter passed the check");
    at(5).hidden_done[2].fetch_sub(1, std::memory_order_relaxed);
    for (int rank = 0; rank < rank_count; ++rank) check(rank);
  }

 private:
  static constexpr std::size_t output_bytes = output_elements * sizeof(std::uint16_t);

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  static int base(int rank) { return rank / group_size * group_size; }

  /// As the blocks do: 128 KiB from each block to each rank of the group, then one count to each peer.
  void push(int rank) {
    const std::size_t slice = input_elements / push_blocks;
    for (std::size_t block = 0; block < push_blocks; ++block) {
      const std::uint16_t* const source = at(rank).input.data() + block * slice;
      const std::size_t target = static_cast<std::size_t>(rank - base(rank)) * input_elements + block * slice;
      for (int peer = base(rank); peer < base(rank) + group_size; ++peer)
        std::memcpy(at(peer).window.data() + target, source, slice * sizeof(std::uint16_t));
      add(rank, &Rank::hidden_done);
    }
  }

  void notify(int rank) {
    for (int block = 0; block < notify_blocks; ++block) add(rank, &Rank::logits_done);
  }

  // Sequentially consistent read-modify-writes, as the signals of the program are at the least on this machine.
  void add(int rank, std::atomic<std::int32_t> (Rank::*cells)[group_size]) {
    for (int peer = base(rank); peer < base(rank) + group_size; ++peer)
      if (peer != rank) (at(peer).*cells)[rank - base(rank)].fetch_add(1, std::memory_order_seq_cst);
  }

  void add_all(int rank, int pushes, int notifies) {
    for (int i = 0; i < pushes; ++i) add(rank, &Rank::hidden_done);
    for (int i = 0; i < notifies; ++i) add(rank, &Rank::logits_done);
  }

  /// Every element of the output and every counter; clears the counters.
  void check(int rank) {
    require(!has_fault(rank), "an output or a counter is wrong");
    for (int peer = 0; peer < group_size; ++peer) {
      at(rank).hidden_done[peer].store(0, std::memory_order_relaxed);  // the threads meet before the next round
      at(rank).logits_done[peer].store(0, std::memory_order_relaxed);
    }
  }

  /// Compares with the first periods of the source's input, which stay in the nearest cache: all others repeat them.
  static bool matches(const std::uint16_t* part, const std::uint16_t* periods) {
    for (std::size_t done = 0; done < input_elements; done += compared_elements) {
      const std::size_t count = std::min(compared_elements, input_elements - done);
      if (std::memcmp(part + done, periods, count * sizeof(std::uint16_t)) != 0) return false;
    }
    return true;
  }

  bool has_fault(int rank) {
    for (int peer = 0; peer < group_size; ++peer) {
      const std::uint16_t* const part = at(rank).output.data() + static_cast<std::size_t>(peer) * input_elements;
      if (!matches(part, at(base(rank) + peer).input.data())) return true;
      const bool is_self = base(rank) + peer == rank;
      if (at(rank).hidden_done[peer].load(std::memory_order_relaxed) != (is_self ? 0 : push_blocks)) return true;
      if (at(rank).logits_done[peer].load(std::memory_order_relaxed) != (is_self ? 0 : notify_blocks)) return true;
    }
    return false;
  }

  std::vector<Rank> ranks_ = std::vector<Rank>(rank_count);
};
}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [](const Options& options) {
    Team team;
    Ranks ranks;
    const int rounds = options.is_quick ? 2 : 10;
    int number = 0;
    Contender contender{"isolation", "loop", rounds, {}, {}};
    contender.verify = [&] { ranks.verify(); };
    contender.sample = [&] {
      return time_ns([&] {
        for (int i = 0; i < rounds; ++i, ++number)
          team.run([&](int thread) {
            // Group by group: what a group has written is checked while it is still in the caches.
            for (int base = thread * group_size; base < rank_count; base += thread_count * group_size)
              ranks.round(base, base + group_size, number);
          });
      });
    };
    measure(contender, options);
  });
}
