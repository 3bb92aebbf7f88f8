// SPDX-License-Identifier: Apache-2.0
//
// What the checkers cost a round of tp_isolation with payload: 16 ranks, about 1,100 blocks, 1,536 notifies, 512 puts
// of 128 KiB each to four peers, as the lab tells it. Without any checker the same feed is told to an empty set.
#include <benchmark/benchmark.h>

#include "lab/checkers/feed.hpp"

namespace heddle::lab::checkers {
namespace {

class Isolation {
 public:
  static constexpr int ranks = 16, group = 4;
  static constexpr std::int64_t rows_bytes = std::int64_t{128} * 4096 * 2, push_bytes = rows_bytes / 8;

  Isolation(std::vector<std::string> names, bool single_writer)
      : feed_(ranks, std::move(names)), single_writer_(single_writer), slots_(single_writer ? 24 : 1) {
    const std::size_t cells = static_cast<std::size_t>(group * slots_) * 128;
    inbox_ = feed_.window("inbox", static_cast<std::size_t>(group * rows_bytes));
    hidden_ = feed_.window("hidden_done", cells);
    logits_ = feed_.window("logits_done", cells);
    for (int r = 0; r < ranks; ++r) {
      input_.push_back(Feed::piece(r, feed_.memory(static_cast<std::size_t>(rows_bytes)), rows_bytes));
      output_.push_back(Feed::piece(r, feed_.memory(static_cast<std::size_t>(group * rows_bytes)), group * rows_bytes));
      counts_.push_back(Feed::piece(r, feed_.memory(2048), group * slots_ * 4));
    }
  }

  void round(std::int64_t number) {
    feed_.round(number);
    for (int r = 0; r < ranks; ++r) submit(r);
    for (int r = 0; r < ranks; ++r) push(r);
    for (const std::uint64_t id : arriving_) feed_.set.arrived(id);
    for (const std::uint64_t id : notices_) feed_.set.notify_arrived(id);
    arriving_.clear();
    notices_.clear();
    for (int r = 0; r < ranks; ++r) gather(r);
    for (int r = 0; r < ranks; ++r) tell(r);
    for (const std::uint64_t id : notices_) feed_.set.notify_arrived(id);
    notices_.clear();
    for (int r = 0; r < ranks; ++r) finish(r);
    feed_.set.round_ends();
  }
  std::string found() const { return feed_.found(); }

 private:
  using Tag = heddle::detail::Tag;
  struct Tasks {
    TaskId skew, push, wait, gather, notify, finish, clear;
  };
  Piece cells(const heddle::detail::WindowTable* window, int r) const {
    return Feed::part(window, r, 0, static_cast<std::int64_t>(window->bytes));
  }
  Feed::SignalRef cell(const heddle::detail::WindowTable* window, int r, int source, std::int64_t slot) const {
    return Feed::cell(window, r, (source * slots_ + slot) * 32);
  }

  void submit(int r) {
    const auto rank = static_cast<std::size_t>(r);
    Tasks& t = tasks_[rank];
    t.skew = feed_.submit(r, "rank_skew");
    t.push = feed_.submit(r, "hidden_push", {Feed::arg(Tag::in, input_[rank])}, {t.skew}, {8});
    t.wait = feed_.submit(r, "hidden_wait", {Feed::arg(Tag::in, cells(hidden_, r)), Feed::arg(Tag::out, counts_[rank])},
                          {t.push});
    t.gather = feed_.submit(
        r, "hidden_gather",
        {Feed::arg(Tag::in, Feed::part(inbox_, r, 0, group * rows_bytes)), Feed::arg(Tag::out, output_[rank])},
        {t.wait, t.push}, {32});
    t.notify = feed_.submit(r, "logits_notify", {}, {t.gather}, {24});
    t.finish = feed_.submit(r, "logits_wait", {Feed::arg(Tag::in, cells(logits_, r))}, {t.notify});
    t.clear = feed_.submit(r, "signal_clear",
                           {Feed::arg(Tag::out, cells(hidden_, r)), Feed::arg(Tag::out, cells(logits_, r))},
                           {t.finish, t.wait});
  }
  void notify(const BlockId& block, int r, const heddle::detail::WindowTable* window) {
    for (int peer = r / group * group; peer < r / group * group + group; ++peer) {
      if (peer == r) continue;
      const auto how = single_writer_ ? Notify::set : Notify::add;
      notices_.push_back(feed_.notify(block, cell(window, peer, r % group, single_writer_ ? block.block : 0), 1, how));
    }
  }
  void push(int r) {
    const Tasks& t = tasks_[static_cast<std::size_t>(r)];
    feed_.run(t.skew);
    for (std::uint32_t b = 0; b < 8; ++b) {
      const BlockId block = feed_.begin(t.push, b);
      Piece from = input_[static_cast<std::size_t>(r)];
      from.data += b * push_bytes;
      from.shape[0] = push_bytes;
      for (int peer = r / group * group; peer < r / group * group + group; ++peer)
        arriving_.push_back(
            feed_.put(block, Feed::part(inbox_, peer, r % group * rows_bytes + b * push_bytes, push_bytes), from));
      notify(block, r, hidden_);
      feed_.end(block);
    }
    feed_.set.completed(t.push);
  }
  void wait(const BlockId& block, int r, const heddle::detail::WindowTable* window, std::int64_t blocks) {
    for (int source = 0; source < group; ++source) {
      if (source == r % group) continue;
      for (std::int64_t slot = 0; slot < (single_writer_ ? blocks : 1); ++slot)
        feed_.wait(block, cell(window, r, source, slot), single_writer_ ? 1 : blocks);
    }
    for (int source = 0; source < group; ++source)
      for (std::int64_t slot = 0; slot < slots_; ++slot) {
        feed_.set.scalar_read(block, Feed::piece_of(cell(window, r, source, slot)), false);
        Piece count = counts_[static_cast<std::size_t>(r)];
        count.data += (source * slots_ + slot) * 4;
        count.shape[0] = 4;
        if (window == hidden_) feed_.store(block, count);
      }
  }
  void gather(int r) {
    const Tasks& t = tasks_[static_cast<std::size_t>(r)];
    const BlockId block = feed_.begin(t.wait);
    wait(block, r, hidden_, 8);
    for (std::int64_t offset = 0; offset < group * slots_ * 4; offset += 64) {
      Piece line = counts_[static_cast<std::size_t>(r)];
      line.data += offset;
      line.shape[0] = std::min<std::int64_t>(64, group * slots_ * 4 - offset);
      feed_.clean(block, line);
    }
    feed_.finish(block);
    feed_.run(t.gather, 32);
  }
  void tell(int r) {
    const Tasks& t = tasks_[static_cast<std::size_t>(r)];
    for (std::uint32_t b = 0; b < 24; ++b) {
      const BlockId block = feed_.begin(t.notify, b);
      notify(block, r, logits_);
      feed_.end(block);
    }
    feed_.set.completed(t.notify);
  }
  void finish(int r) {
    const Tasks& t = tasks_[static_cast<std::size_t>(r)];
    const BlockId last = feed_.begin(t.finish);
    wait(last, r, logits_, 24);
    feed_.finish(last);
    const BlockId clear = feed_.begin(t.clear);
    for (const auto* window : {hidden_, logits_})
      for (int source = 0; source < group; ++source)
        for (std::int64_t slot = 0; slot < slots_; ++slot)
          feed_.store_now(clear, Feed::piece_of(cell(window, r, source, slot)));
    feed_.finish(clear);
  }

  Feed feed_;
  bool single_writer_;
  std::int64_t slots_;
  const heddle::detail::WindowTable *inbox_, *hidden_, *logits_;
  std::vector<Piece> input_, output_, counts_;
  Tasks tasks_[ranks];
  std::vector<std::uint64_t> arriving_, notices_;
};

void isolation_round(benchmark::State& state, std::vector<std::string> names, bool single_writer) {
  Isolation isolation(std::move(names), single_writer);
  std::int64_t round = 0;
  for (auto step : state) {
    (void)step;
    isolation.round(round++);
  }
  if (!isolation.found().empty()) state.SkipWithError(isolation.found().c_str());
  state.SetItemsProcessed(state.iterations() * 1088);
}
BENCHMARK_CAPTURE(isolation_round, nothing_adds, {}, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(isolation_round, nothing_set, {}, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(isolation_round, all_adds, all_checkers(), false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(isolation_round, all_set, all_checkers(), true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(isolation_round, races_set, {"races"}, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(isolation_round, visibility_set, {"visibility"}, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(isolation_round, credit_set, {"credit"}, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(isolation_round, once_set, {"once"}, true)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace heddle::lab::checkers
