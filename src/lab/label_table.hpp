// SPDX-License-Identifier: Apache-2.0
//
// Numbers for the labels of choices. A label is found by its address first, as it is nearly always the same literal;
// equal texts at different addresses are one label. Lives for one run: literals of modules come and go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lab/keys.hpp"

namespace heddle::lab {

class LabelTable {
 public:
  struct Label {
    std::uint32_t number;  // dense, in the order of first use
    std::uint64_t key;
  };

  Label find(const char* text) {
    for (std::size_t at = slot_of(text);; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.text == text) return slot.label;
      if (slot.text == nullptr) return add(text);
    }
  }

 private:
  struct Slot {
    const char* text = nullptr;
    Label label{};
  };

  // By the address: decides where a label is kept, and nothing that a run could see.
  std::size_t slot_of(const char* text) const noexcept {
    return static_cast<std::size_t>(scramble(reinterpret_cast<std::uintptr_t>(text))) & (slots_.size() - 1);
  }

  Label add(const char* text) {
    if (2 * (used_ + 1) > slots_.size()) {
      std::vector<Slot> old(2 * slots_.size());
      old.swap(slots_);
      for (const Slot& slot : old) {
        if (slot.text != nullptr) insert(slot);
      }
    }
    const std::uint64_t key = key_of(text);
    std::uint32_t number = 0;
    while (number < keys_.size() && keys_[number] != key) ++number;
    if (number == keys_.size()) keys_.push_back(key);
    const Slot slot{text, Label{number, key}};
    insert(slot);
    ++used_;
    return slot.label;
  }

  void insert(const Slot& slot) {
    std::size_t at = slot_of(slot.text);
    while (slots_[at].text != nullptr) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of two, at most half full
  std::size_t used_ = 0;
  std::vector<std::uint64_t> keys_;  // of the numbers
};

}  // namespace heddle::lab
