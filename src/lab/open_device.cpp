// SPDX-License-Identifier: Apache-2.0
//
// Which backends there are: here, where all of them can be seen.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "host/host_session.hpp"
#include "lab/lab_session.hpp"

namespace heddle {

namespace {

constexpr std::string_view lab_prefix = "lab:", stepped_host = "lab:host";

[[noreturn]] void refuse(std::string_view backend, const std::vector<std::string>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  detail::throw_invalid("there is no backend " + base::quoted(backend) + "; there are " + base::join(known) +
                        base::did_you_mean(backend, known));
}

}  // namespace

Device Device::open(std::string_view backend, const DeviceConfig& config) {
  if (backend == "host") return Device(std::make_shared<host::HostDevice>(config));
  if (backend == stepped_host) {
    detail::throw_invalid(
        "lab:host is no device: it takes the host's own workers apart step by step, one run at a time; use "
        "\"lab:a2a3\" for virtual time, or `heddle run NAME --on lab:host`");
  }
  std::vector<std::string> names{"host"};
  for (const lab::NamedHelp& chip : lab::chip_names())
    if (std::string name = std::string(lab_prefix) + chip.name; name != stepped_host) names.push_back(std::move(name));
  if (std::find(names.begin(), names.end(), backend) == names.end()) refuse(backend, names);
  return Device(std::make_shared<lab::LabDevice>(std::string(backend.substr(lab_prefix.size())), config));
}

}  // namespace heddle
