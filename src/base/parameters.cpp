// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <heddle/program.hpp>
#include <limits>
#include <utility>

#include "base/text.hpp"

namespace heddle {
namespace {

using Parameter = ParameterList::Parameter;

constexpr double unlimited = 1e18;  // limits that say nothing

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

template <class T>
std::string number_text(T value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string whole_or_real(double value) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (value == std::floor(value) && std::abs(value) <= exact) return std::to_string(static_cast<std::int64_t>(value));
  return number_text(value);
}

std::string allowed_range(double least, double most) {
  if (least > -unlimited && most < unlimited) return "from " + whole_or_real(least) + " to " + whole_or_real(most);
  if (least > -unlimited) return "at least " + whole_or_real(least);
  if (most < unlimited) return "at most " + whole_or_real(most);
  return "from " + number_text(-unlimited) + " to " + number_text(unlimited);
}

[[noreturn]] void refuse(const Parameter& parameter, std::string_view value, const std::string& why) {
  detail::throw_invalid("parameter " + base::quoted(parameter.name) + ": " + base::quoted(value) + " " + why);
}

[[noreturn]] void refuse_range(const Parameter& parameter, std::string_view value, double least, double most) {
  refuse(parameter, value, "is out of range: allowed is " + allowed_range(least, most));
}

bool parse_bool(const Parameter& parameter, std::string_view value) {
  for (const std::string_view yes : {"true", "1", "yes", "on"})
    if (value == yes) return true;
  for (const std::string_view no : {"false", "0", "no", "off"})
    if (value == no) return false;
  refuse(parameter, value, "is neither true nor false");
}

template <class T>
T parse_whole(const Parameter& parameter, std::string_view value) {
  const double least = std::max(parameter.least, static_cast<double>(std::numeric_limits<T>::min()));
  const double most = std::min(parameter.most, static_cast<double>(std::numeric_limits<T>::max()));
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (end != value.data() + value.size() || problem == std::errc::invalid_argument)
    refuse(parameter, value, "is not a whole number");
  const auto real = static_cast<double>(number);
  if (problem == std::errc::result_out_of_range || real < least || real > most)
    refuse_range(parameter, value, least, most);
  return static_cast<T>(number);
}

template <class T>
T parse_real(const Parameter& parameter, std::string_view value) {
  const double least = std::max(parameter.least, static_cast<double>(std::numeric_limits<T>::lowest()));
  const double most = std::min(parameter.most, static_cast<double>(std::numeric_limits<T>::max()));
  double number = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (end != value.data() + value.size() || problem == std::errc::invalid_argument || !std::isfinite(number))
    refuse(parameter, value, "is not a number");
  if (problem == std::errc::result_out_of_range || number < least || number > most)
    refuse_range(parameter, value, least, most);
  return static_cast<T>(number);
}

std::string parse_text(const Parameter& parameter, std::string_view value) {
  if (!parameter.choices.empty() && std::ranges::find(parameter.choices, value) == parameter.choices.end()) {
    const std::vector<std::string_view> choices(parameter.choices.begin(), parameter.choices.end());
    refuse(parameter, value, "is not one of " + base::join(choices) + base::did_you_mean(value, choices));
  }
  return std::string(value);
}

}  // namespace

std::string ParameterList::Parameter::value() const {
  return std::visit(
      Overloaded{[](const bool* at) { return std::string(*at ? "true" : "false"); },
                 [](const std::string* at) { return *at; }, [](const auto* at) { return number_text(*at); }},
      field);
}

void ParameterList::set(std::string_view name, std::string_view value) {
  const auto found = std::ranges::find(parameters_, name, &Parameter::name);
  if (found == parameters_.end()) {
    std::vector<std::string_view> names;
    for (const Parameter& parameter : parameters_) names.push_back(parameter.name);
    detail::throw_invalid("there is no parameter " + base::quoted(name) + base::did_you_mean(name, names) +
                          (names.empty() ? ": this program has none" : ": this program has " + base::join(names)));
  }
  const Parameter& parameter = *found;
  std::visit(Overloaded{[&](bool* at) { *at = parse_bool(parameter, value); },
                        [&](int* at) { *at = parse_whole<int>(parameter, value); },
                        [&](std::int64_t* at) { *at = parse_whole<std::int64_t>(parameter, value); },
                        [&](double* at) { *at = parse_real<double>(parameter, value); },
                        [&](float* at) { *at = parse_real<float>(parameter, value); },
                        [&](std::string* at) { *at = parse_text(parameter, value); }},
             parameter.field);
}

void ParameterList::push(Parameter parameter) {
  if (parameter.name.empty()) detail::throw_invalid("a parameter needs a name");
  if (std::ranges::find(parameters_, parameter.name, &Parameter::name) != parameters_.end())
    detail::throw_invalid("parameter " + base::quoted(parameter.name) + ": the name is taken");
  parameters_.push_back(std::move(parameter));
}

}  // namespace heddle
