// SPDX-License-Identifier: Apache-2.0
#include "lab/failure_session.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <system_error>

#include "lab/failure_text.hpp"

namespace heddle::lab {
namespace {

constexpr std::int64_t milliseconds_most = 1'000'000'000;

template <class T>
bool read(std::string_view text, T& value, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number < least || number > most) return false;
  value = static_cast<T>(number);
  return true;
}

bool read(std::string_view text, bool& value) {
  if (text != "on" && text != "off") return false;
  value = text == "on";
  return true;
}

bool read(std::string_view text, Timeouts::Duration& value) {
  std::int64_t number = 0;
  if (text != "off" && !read(text, number, 1, milliseconds_most)) return false;
  value = text == "off" ? Timeouts::Duration() : std::chrono::milliseconds(number);
  return true;
}

std::string text_of(bool value) { return value ? "on" : "off"; }
std::string text_of(const Timeouts::Duration& value) { return value ? std::to_string(value->count()) : "off"; }

constexpr SessionField fields[] = {
    {"task-window", [](const SessionConfig& config) { return std::to_string(config.ring.task_window); },
     [](SessionConfig& config, std::string_view text) { return read(text, config.ring.task_window, 1, 1U << 20U); }},
    {"heap-bytes", [](const SessionConfig& config) { return std::to_string(config.ring.heap_bytes); },
     [](SessionConfig& config, std::string_view text) {
       return read(text, config.ring.heap_bytes, 1024, std::uint64_t{1} << 40U);
     }},
    {"dep-pool", [](const SessionConfig& config) { return std::to_string(config.ring.dep_pool); },
     [](SessionConfig& config, std::string_view text) { return read(text, config.ring.dep_pool, 1, word_most); }},
    {"region-entries", [](const SessionConfig& config) { return std::to_string(config.region_entries); },
     [](SessionConfig& config, std::string_view text) { return read(text, config.region_entries, 1, word_most); }},
    {"waiting-blocks", [](const SessionConfig& config) { return std::to_string(config.waiting_blocks); },
     [](SessionConfig& config, std::string_view text) { return read(text, config.waiting_blocks, 1, word_most); }},
    {"scheduler-timeout", [](const SessionConfig& config) { return text_of(config.timeouts.scheduler); },
     [](SessionConfig& config, std::string_view text) { return read(text, config.timeouts.scheduler); }},
    {"operation-timeout", [](const SessionConfig& config) { return text_of(config.timeouts.operation); },
     [](SessionConfig& config, std::string_view text) { return read(text, config.timeouts.operation); }},
    {"fence-timeout", [](const SessionConfig& config) { return text_of(config.timeouts.host_fence); },
     [](SessionConfig& config, std::string_view text) { return read(text, config.timeouts.host_fence); }},
    {"tensor-timeout", [](const SessionConfig& config) { return text_of(config.timeouts.tensor_access); },
     [](SessionConfig& config, std::string_view text) { return read(text, config.timeouts.tensor_access); }},
    {"grace", [](const SessionConfig& config) { return std::to_string(config.timeouts.grace.count()); },
     [](SessionConfig& config, std::string_view text) {
       std::int64_t number = 0;
       if (!read(text, number, 0, milliseconds_most)) return false;
       config.timeouts.grace = std::chrono::milliseconds(number);
       return true;
     }},
    {"poison-outputs", [](const SessionConfig& config) { return text_of(config.checked); },
     [](SessionConfig& config, std::string_view text) { return read(text, config.checked); }},
    {"reset-windows", [](const SessionConfig& config) { return text_of(config.reset_windows); },
     [](SessionConfig& config, std::string_view text) { return read(text, config.reset_windows); }},
};

}  // namespace

std::span<const SessionField> session_fields() noexcept { return fields; }

}  // namespace heddle::lab
