// SPDX-License-Identifier: Apache-2.0
//
// Changes a snapshot and leaves it JSON: bytes that are changed at random mostly make a file that is refused at once.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Json = nlohmann::ordered_json;  // "format" has to stand first

class Mutation {
 public:
  Mutation(Json& root, unsigned seed) : root_(root), random_(seed) {}

  void run() {
    for (std::size_t left = 1 + below(4); left > 0; --left) {
      all_.clear();
      collect(root_);
      if (!all_.empty()) change(*all_[below(all_.size())]);
    }
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  void collect(Json& at) {
    for (Json& each : at) {
      all_.push_back(&each);
      if (each.is_structured()) collect(each);
    }
  }
  // Some value of the file, of the same kind most of the time.
  Json other(const Json& like) {
    for (int tries = 0; tries < 16; ++tries) {
      const Json& found = *all_[below(all_.size())];
      if (found.type() == like.type()) return found;
    }
    return *all_[below(all_.size())];
  }

  void change(Json& at) {
    if (below(32) == 0) {
      at = below(2) == 0 ? Json() : Json(*all_[below(all_.size())]);
    } else if (at.is_number()) {
      change_number(at);
    } else if (at.is_string()) {
      change_string(at);
    } else if (at.is_boolean()) {
      at = !at.get<bool>();
    } else if (at.is_array()) {
      change_array(at);
    } else if (at.is_object()) {
      change_object(at);
    } else {
      at = other(at);
    }
  }
  void change_number(Json& at) {
    constexpr std::int64_t special[] = {-1, 0, 1, 2, 3, 8, 1024, INT32_MAX, INT64_MAX, INT64_MIN};
    switch (at.is_number_float() ? 0 : below(4)) {
      case 0:
        at = special[below(std::size(special))];
        break;
      case 1:
        at = static_cast<std::int64_t>(at.get<std::uint64_t>() + 1);
        break;
      case 2:
        at = static_cast<std::int64_t>(at.get<std::uint64_t>() - 1);
        break;
      default:
        at = other(at);
    }
  }
  void change_string(Json& at) {
    if (below(3) != 0) {
      at = other(at);
      return;
    }
    std::string text = at.get<std::string>();
    const std::size_t size = text.size();
    text.resize(size + 64);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
    at = text;
  }
  void change_array(Json& at) {
    if (at.empty()) return;
    const std::size_t from = below(at.size()), to = below(at.size());
    switch (below(4)) {
      case 0:
        at.erase(from);
        break;
      case 1:
        std::swap(at[from], at[to]);
        break;
      default:
        Json more = at[from];
        change_inside(more);
        at.push_back(std::move(more));
    }
  }
  void change_inside(Json& record) {
    if (record.is_structured() && !record.empty())
      change(*std::next(record.begin(), static_cast<long>(below(record.size()))));
  }
  void change_object(Json& at) {
    if (at.empty()) return;
    if (below(2) == 0) {
      at.erase(std::next(at.begin(), static_cast<long>(below(at.size()))));
      return;
    }
    const Json from = other(at);
    if (!from.is_object() || from.empty()) return;
    const auto taken = std::next(from.begin(), static_cast<long>(below(from.size())));
    at[taken.key()] = taken.value();
  }

  Json& root_;
  std::mt19937 random_;
  std::vector<Json*> all_;
};

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  Json json = Json::parse(std::string_view(reinterpret_cast<const char*>(data), size), nullptr, false);
  if (json.is_discarded() || !json.is_object() || seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  Mutation(json, seed).run();
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
