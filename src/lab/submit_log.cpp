// SPDX-License-Identifier: Apache-2.0
#include "lab/submit_log.hpp"

#include <algorithm>
#include <string_view>

namespace heddle::lab {

namespace {

constexpr std::uint64_t prime = 0x100000001b3U;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) { return (hash ^ value) * prime; }

// Within an order that does not depend on which rank was faster: the ranks' hashes are summed up.
std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  for (const char letter : text) hash = mix(hash, static_cast<unsigned char>(letter));
  return hash;
}

bool inferred(const heddle::detail::ArgRecord& arg) {
  using heddle::detail::Tag;
  return arg.tag == Tag::in || arg.tag == Tag::out || arg.tag == Tag::inout;
}

}  // namespace

void SubmitLog::begin_round() {
  for (OfRank& rank : ranks_) {
    rank.tasks.clear();
    rank.args.clear();
    rank.producers.clear();
    if (infers_) rank.accesses = std::make_unique<graph::RegionMap>();
  }
}

LoggedTask& SubmitLog::add(int index, const heddle::detail::TaskRequest& request, bool manual,
                           const std::function<const heddle::detail::WindowTable*(const void*)>& window_of) {
  using heddle::detail::Tag;
  OfRank& rank = of(index);
  LoggedTask task;
  task.name = request.name.text;
  task.location = request.name.location;
  task.cores = request.cores;
  task.parts = static_cast<std::uint32_t>(request.blocks * request.cores.count());
  task.manual = manual;
  task.first_arg = static_cast<std::uint32_t>(rank.args.size());
  task.first_producer = static_cast<std::uint32_t>(rank.producers.size());
  for (const auto& arg : request.args) {
    LoggedArg logged;
    logged.tag = arg.tag;
    logged.piece = {index, arg.data, arg.element_bytes, arg.rank, {}, {}, window_of(arg.data)};
    std::uint64_t bytes = arg.element_bytes;
    for (int d = 0; d < arg.rank; ++d) {
      logged.piece.shape[d] = arg.shape[d];
      logged.piece.stride[d] = arg.stride[d] * static_cast<std::int64_t>(arg.element_bytes);
      bytes *= static_cast<std::uint64_t>(arg.shape[d]);
    }
    if (arg.tag == Tag::in || arg.tag == Tag::inout) task.in_bytes += bytes;
    if (arg.tag == Tag::out || arg.tag == Tag::inout || arg.tag == Tag::fresh) task.out_bytes += bytes;
    if (bytes != 0) rank.args.push_back(logged);
  }
  task.args = static_cast<std::uint32_t>(rank.args.size()) - task.first_arg;
  // The ranks submit in any order: each has a hash of its own.
  hash_ -= rank.hash;
  rank.hash = mix(mix(mix(rank.hash, static_cast<std::uint64_t>(index) + 1), task.name), task.parts);
  hash_ += rank.hash;
  ++count_;
  rank.tasks.push_back(task);
  if (infers_ && !manual) infer(rank, request, index);
  return rank.tasks.back();
}

void SubmitLog::infer(OfRank& rank, const heddle::detail::TaskRequest& request, int index) {
  const auto number = static_cast<std::uint32_t>(rank.tasks.size()) - 1;
  const auto live = [](graph::TaskRef) { return true; };
  const auto region = [](const heddle::detail::ArgRecord& arg) {
    return graph::Region::from_view(arg.data, arg.rank, arg.shape, arg.stride, arg.element_bytes);
  };
  const auto access = [](const heddle::detail::ArgRecord& arg) {
    return arg.tag == heddle::detail::Tag::in ? graph::Access::read : graph::Access::write;
  };
  for (const auto& arg : request.args)
    if (inferred(arg))
      rank.accesses->collect(region(arg), access(arg), live,
                             [&](graph::TaskRef ref) { add_producer(index, static_cast<std::uint32_t>(ref) - 1); });
  for (const auto& arg : request.args)
    if (inferred(arg)) (void)rank.accesses->record(region(arg), access(arg), number + 1, live);
}

SubmitLog SubmitLog::frozen() const {
  SubmitLog copy(ranks(), false);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    copy.ranks_[r].tasks = ranks_[r].tasks;
    copy.ranks_[r].producers = ranks_[r].producers;
  }
  return copy;
}

void SubmitLog::add_producer(int index, std::uint32_t number) {
  OfRank& rank = of(index);
  LoggedTask& task = rank.tasks.back();
  const auto known = producers(index, task);
  if (std::any_of(known.begin(), known.end(), [&](const TaskId& id) { return id.serial == number; })) return;
  rank.producers.push_back({index, number});
  ++task.producers;
}

}  // namespace heddle::lab
