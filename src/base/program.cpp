// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <heddle/program.hpp>
#include <utility>

#include "base/text.hpp"

namespace heddle {
namespace {

constexpr std::uint64_t bytes_max = 1ULL << 40U;  // of one tensor or window: more is a slip

std::string_view name_of(Direction direction) {
  switch (direction) {
    case Direction::input:
      return "input";
    case Direction::output:
      return "output";
    case Direction::inout:
      return "inout";
  }
  return "tensor";
}

std::string element_text(DType type, std::size_t element_bytes) {
  if (type != DType::other) return std::string(name_of(type));
  return base::counted(static_cast<std::int64_t>(element_bytes), "byte") + " each";
}

// "input f32 [4, 8]".
std::string declared(const Plan::TensorSpec& spec) {
  return std::string(name_of(spec.direction)) + " " + element_text(spec.type, spec.element_bytes) + " " +
         base::shape_text(spec.shape.data(), static_cast<int>(spec.shape.size()));
}

template <class Named>
std::vector<std::string_view> names_of(const std::vector<Named>& all) {
  std::vector<std::string_view> names;
  for (const auto& one : all) names.push_back(one.name);
  return names;
}

template <class Named>
void refuse_taken(const std::string& where, const std::vector<Named>& all, const std::string& name) {
  if (name.empty()) detail::throw_invalid(where + "the name is empty");
  if (std::ranges::find(all, name, &Named::name) != all.end()) detail::throw_invalid(where + "the name is taken");
}

}  // namespace

std::uint64_t Plan::TensorSpec::bytes() const {
  std::uint64_t product = element_bytes;
  for (const std::int64_t extent : shape) product *= static_cast<std::uint64_t>(extent);
  return product;
}

void Plan::add(std::string name, Direction direction, DType type, std::size_t element_bytes,
               std::vector<std::int64_t> shape) {
  const std::string where = "plan: " + std::string(name_of(direction)) + " " + base::quoted(name) + ": ";
  refuse_taken(where, tensors_, name);
  if (shape.empty() || shape.size() > static_cast<std::size_t>(max_tensor_rank))
    detail::throw_invalid(where + base::counted(static_cast<std::int64_t>(shape.size()), "dimension") +
                          ", but a tensor has 1 to " + std::to_string(max_tensor_rank));
  std::uint64_t bytes = element_bytes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 1)
      detail::throw_invalid(where + "dimension " + std::to_string(d) + " has extent " + std::to_string(shape[d]) +
                            ", but an extent is at least 1");
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(shape[d]), &bytes) || bytes > bytes_max)
      detail::throw_invalid(where + "shape " + base::shape_text(shape.data(), static_cast<int>(shape.size())) +
                            " with elements of " + base::counted(static_cast<std::int64_t>(element_bytes), "byte") +
                            " takes more than 1 TiB");
  }
  tensors_.push_back({std::move(name), direction, type, element_bytes, std::move(shape)});
}

void Plan::window(std::string name, std::uint64_t bytes) {
  const std::string where = "plan: window " + base::quoted(name) + ": ";
  refuse_taken(where, windows_, name);
  if (bytes < 1 || bytes > bytes_max)
    detail::throw_invalid(where + std::to_string(bytes) + " bytes, but a window has 1 byte to 1 TiB a rank");
  windows_.push_back({std::move(name), bytes});
}

std::size_t detail::IoTable::find(std::string_view name, bool writable, DType type, std::size_t element_bytes,
                                  int rank) const {
  const auto found = std::ranges::find(*specs, name, &Plan::TensorSpec::name);
  if (found == specs->end()) {
    const auto names = names_of(*specs);
    throw_invalid("there is no tensor " + base::quoted(name) + base::did_you_mean(name, names) +
                  (names.empty() ? ": the plan declares none" : ": the plan declares " + base::join(names)));
  }
  const std::string what = "tensor " + base::quoted(name) + " is declared as " + declared(*found);
  if (writable && found->direction == Direction::input) throw_invalid(what + ", which tasks do not write");
  if (type != found->type || element_bytes != found->element_bytes)
    throw_invalid(what + ", not with elements of " + element_text(type, element_bytes));
  if (rank >= 0 && static_cast<std::size_t>(rank) != found->shape.size())
    throw_invalid(what + ", not with " + base::counted(rank, "dimension"));
  return static_cast<std::size_t>(found - specs->begin());
}

void HostIo::expect(bool condition, std::string_view message) const {
  if (condition) return;
  throw Error(Code::user_error, std::string(message)).at_rank(rank_).in_round(round_);
}

}  // namespace heddle
