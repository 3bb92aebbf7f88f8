// SPDX-License-Identifier: Apache-2.0
//
// A trace as a viewer takes it apart.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace heddle::test {

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A trace as a viewer sees it: tracks with their slices, ns.
struct Slice {
  std::int64_t start, end;
  nlohmann::json event;
  std::string name() const { return event.at("name"); }
};
struct Arrow {
  std::string track;
  std::int64_t time;
  nlohmann::json event;
};
struct Tracks {
  explicit Tracks(const std::string& path) : json(nlohmann::json::parse(text_of(path))) {
    std::map<std::pair<int, int>, std::string> names;
    const auto ns = [](const nlohmann::json& us) {
      return static_cast<std::int64_t>(std::llround(us.get<double>() * 1000));
    };
    const auto track_of = [](const nlohmann::json& event) {
      return std::pair<int, int>(event.at("pid"), event.value("tid", 0));
    };
    for (const nlohmann::json& event : json.at("traceEvents"))
      if (event.at("name") == "thread_name") names[track_of(event)] = event.at("args").at("name");
    for (const nlohmann::json& event : json.at("traceEvents")) {
      const std::string phase = event.at("ph");
      if (phase == "M") continue;
      const std::string& name = names.at(track_of(event));
      const std::int64_t start = ns(event.at("ts"));
      if (phase == "X") slices[name].push_back({start, start + ns(event.at("dur")), event});
      if (phase == "i") moments[name].push_back({start, start, event});
      if (phase != "s" && phase != "f") continue;
      auto& arrows = phase == "s" ? begins : ends;
      EXPECT_TRUE(arrows.emplace(event.at("id"), Arrow{name, start, event}).second) << "an id is used twice";
    }
  }
  std::vector<Slice> all(const std::string& category) const {
    std::vector<Slice> found;
    for (const auto& [track, each] : slices)
      for (const Slice& slice : each)
        if (slice.event.at("cat") == category) found.push_back(slice);
    return found;
  }
  // Every slice lies within the one that it begins in, and every arrow leads from slice to slice, forward in time.
  void expect_sound() const {
    for (const auto& [track, each] : slices) {
      std::vector<Slice> open;
      std::int64_t before = 0;
      for (const Slice& slice : each) {
        EXPECT_GE(slice.start, before) << track;
        EXPECT_GE(slice.end, slice.start) << track;
        before = slice.start;
        while (!open.empty() && open.back().end <= slice.start && open.back().end < slice.end) open.pop_back();
        while (!open.empty() && open.back().end < slice.end) {
          EXPECT_LE(open.back().end, slice.start) << track << ": " << open.back().event << slice.event;
          open.pop_back();
        }
        if (slice.event.at("cat") == "block") {
          EXPECT_TRUE(open.empty() || open.back().end <= slice.start) << track << ": two blocks at once";
        }
        open.push_back(slice);
      }
    }
    EXPECT_EQ(begins.size(), ends.size());
    for (const auto& [id, begin] : begins) {
      const Arrow& end = ends.at(id);
      EXPECT_LE(begin.time, end.time);
      for (const Arrow& at : {begin, end}) {
        const auto& on = slices.at(at.track);
        EXPECT_TRUE(std::any_of(on.begin(), on.end(),
                                [&](const Slice& slice) {
                                  return slice.start <= at.time && at.time <= slice.end &&
                                         (slice.event.at("cat") != "block" || at.event.at("cat") == "chain");
                                }))
            << at.track << " " << at.time;
      }
    }
  }

  nlohmann::json json;
  std::map<std::string, std::vector<Slice>> slices, moments;  // by track, in the order of the file
  std::map<std::int64_t, Arrow> begins, ends;
};

}  // namespace heddle::test
