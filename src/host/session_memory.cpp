// SPDX-License-Identifier: Apache-2.0
#include "host/session_memory.hpp"

#include <cstring>
#include <string>

#include "host/session_checks.hpp"

namespace heddle::host {

void SessionMemory::check_rank(int rank) const {
  require(rank >= 0 && rank < ranks(),
          "there is no rank " + std::to_string(rank) + "; the session has " + std::to_string(ranks()));
}

std::span<std::byte> SessionMemory::find(int rank, std::string_view name, DType type, std::size_t element_bytes) const {
  check_rank(rank);
  const heddle::detail::IoTable& io = of(rank);
  const std::size_t i = io.find(name, false, type, element_bytes, -1);
  return {io.data[i], (*io.specs)[i].bytes()};
}

std::size_t SessionMemory::find(const Binding& binding) const {
  check_rank(binding.rank);
  const heddle::detail::IoTable& io = of(binding.rank);
  for (std::size_t i = 0; i < io.specs->size(); ++i) {
    const Plan::TensorSpec& spec = (*io.specs)[i];
    if (spec.name != binding.name) continue;
    const std::string which = "binding of \"" + binding.name + "\" on rank " + std::to_string(binding.rank) + ": ";
    require(spec.type == binding.type, which + "elements are " + std::string(name_of(binding.type)) +
                                           ", declared are " + std::string(name_of(spec.type)));
    require(spec.bytes() == binding.bytes,
            which + "it has " + std::to_string(binding.bytes) + " bytes, declared are " + std::to_string(spec.bytes()));
    require(binding.data != nullptr, which + "the memory is null");
    require(spec.direction == Direction::input || binding.writable, which + "an output is bound to constant memory");
    return i;
  }
  heddle::detail::throw_invalid("binding of \"" + binding.name + "\": rank " + std::to_string(binding.rank) +
                                " declares no such tensor");
}

void SessionMemory::copy_in(std::span<const Binding> bindings) const {
  for (const Binding& binding : bindings) find(binding);
  for (const Binding& binding : bindings) {
    const std::size_t i = find(binding);
    const heddle::detail::IoTable& io = of(binding.rank);
    if ((*io.specs)[i].direction != Direction::output) std::memcpy(io.data[i], binding.data, binding.bytes);
  }
}

void SessionMemory::copy_back(std::span<const Binding> bindings, const std::function<bool(int)>& finished) const {
  for (const Binding& binding : bindings) {
    if (!finished(binding.rank)) continue;
    const std::size_t i = find(binding);
    const heddle::detail::IoTable& io = of(binding.rank);
    if ((*io.specs)[i].direction != Direction::input) std::memcpy(binding.data, io.data[i], binding.bytes);
  }
}

}  // namespace heddle::host
