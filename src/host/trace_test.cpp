// SPDX-License-Identifier: Apache-2.0
#include "host/trace.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <heddle/error.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "host/json_file.hpp"

namespace heddle::host {
namespace {

using base::Event;
using base::Record;
using base::subject_of;
using Json = nlohmann::json;
using Records = std::vector<std::vector<Record>>;

struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "heddle_trace_XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

// A tick is a nanosecond in all of these.
const base::TickClock clock_of_ns({0, 0}, {1, 1});

Record made(Event kind, std::uint64_t start, std::uint64_t end, std::uint64_t subject, std::uint32_t value,
            std::uint32_t task, std::uint16_t rank, std::uint8_t flags = 0) {
  return {end, subject, base::duration_of(start, end), value, task, rank, kind, flags};
}

Json written(const Records& workers, std::span<const TraceWindow> windows = {}, std::uint64_t dropped = 0) {
  const Folder folder;
  const std::string path = (folder.path / "trace.json").string();
  write_trace(path, {workers, clock_of_ns, windows, dropped});
  std::ifstream file(path);
  return Json::parse(file);
}

// In whole nanoseconds.
std::int64_t ns(const Json& event, const char* key) { return std::llround(event.at(key).get<double>() * 1000); }

std::string track_of(const Json& trace, const Json& event) {
  for (const Json& other : trace.at("traceEvents"))
    if (other.at("ph") == "M" && other.at("name") == "thread_name" && other.at("tid") == event.at("tid"))
      return other.at("args").at("name");
  return "a track without a name";
}

std::vector<Json> events(const Json& trace, const std::string& phase, const std::string& name = "") {
  std::vector<Json> found;
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("ph") == phase && (name.empty() || event.at("name") == name)) found.push_back(event);
  return found;
}

Json only(const Json& trace, const std::string& phase, const std::string& name) {
  auto found = events(trace, phase, name);
  EXPECT_EQ(found.size(), 1U) << phase << " " << name;
  return found.empty() ? Json() : found.front();
}

bool encloses(const Json& slice, const Json& event) {
  return slice.at("tid") == event.at("tid") && ns(slice, "ts") <= ns(event, "ts") &&
         ns(event, "ts") < ns(slice, "ts") + ns(slice, "dur");
}

// Slices of one track nest, in the order of the file; each arrow begins in a notify and ends in a wait, not before.
void expect_well_formed(const Json& trace) {
  std::map<int, std::vector<std::int64_t>> open;  // ends of the slices around, by track
  std::map<int, std::int64_t> latest;
  for (const Json& slice : events(trace, "X")) {
    const int tid = slice.at("tid");
    const std::int64_t start = ns(slice, "ts"), end = start + ns(slice, "dur");
    EXPECT_GE(start, latest[tid]) << slice;
    EXPECT_GE(end, start) << slice;
    latest[tid] = start;
    auto& ends = open[tid];
    while (!ends.empty() && ends.back() <= start) ends.pop_back();
    if (!ends.empty()) {
      EXPECT_LE(end, ends.back()) << slice;
    }
    ends.push_back(end);
  }
  std::map<int, Json> starts, ends;
  for (const Json& flow : events(trace, "s")) EXPECT_TRUE(starts.emplace(flow.at("id"), flow).second) << flow;
  for (const Json& flow : events(trace, "f")) EXPECT_TRUE(ends.emplace(flow.at("id"), flow).second) << flow;
  EXPECT_EQ(starts.size(), ends.size());
  for (const auto& [id, start] : starts) {
    ASSERT_TRUE(ends.contains(id)) << start;
    EXPECT_LE(ns(start, "ts"), ns(ends[id], "ts"));
    EXPECT_EQ(ends[id].at("bp"), "e");
  }
}

TEST(Trace, shows_blocks_on_their_workers_with_their_puts_inside) {
  const Json trace = written(
      {{made(Event::put, 1100, 1200, 4096, 2, 7, 3), made(Event::block, 1000, 2500, subject_of("push"), 4, 7, 3)},
       {made(Event::get, 1500, 1501, 64, 1, 8, 0), made(Event::block, 1500, 1600, subject_of("pull"), 0, 8, 0)}});
  expect_well_formed(trace);
  const Json push = only(trace, "X", "push");
  EXPECT_EQ(track_of(trace, push), "worker 0");
  EXPECT_EQ(push.at("ts").dump(), "0.0");  // since the first record
  EXPECT_EQ(push.at("dur").dump(), "1.5");
  EXPECT_EQ(push.at("args"), Json({{"rank", 3}, {"block", 4}, {"task", 7}}));
  const Json put = only(trace, "X", "put");
  EXPECT_TRUE(encloses(push, put));
  EXPECT_EQ(put.at("args"), Json({{"rank", 3}, {"task", 7}, {"bytes", 4096}, {"peer", 2}}));
  EXPECT_EQ(track_of(trace, only(trace, "X", "pull")), "worker 1");
  EXPECT_TRUE(encloses(only(trace, "X", "pull"), only(trace, "X", "get")));
}

TEST(Trace, draws_an_arrow_from_the_latest_notify_to_the_wait_that_it_ended) {
  int cells[4] = {};
  const auto cell = subject_of(&cells[2]);
  const TraceWindow window{"hidden_done", 1, subject_of(cells), sizeof cells};
  const Json trace = written(
      {{made(Event::notify, 110, 120, cell, 1, 7, 0), made(Event::notify, 150, 160, subject_of(&cells[1]), 1, 7, 0),
        made(Event::notify, 180, 210, cell, static_cast<std::uint32_t>(-5), 7, 0),
        made(Event::notify, 300, 310, cell, 1, 7, 0), made(Event::block, 100, 400, subject_of("push"), 0, 7, 0)},
       {made(Event::block, 50, 90, subject_of("hidden_wait"), 0, 9, 1, base::event_parked),
        made(Event::wait, 60, 200, cell, 0, 9, 1)}},
      std::span(&window, 1));
  expect_well_formed(trace);
  const Json wait = only(trace, "X", "hidden_wait waits");
  EXPECT_EQ(track_of(trace, wait), "rank 1 waits");
  EXPECT_EQ(wait.at("args"), Json({{"rank", 1}, {"block", 0}, {"task", 9}, {"cell", "hidden_done[2] of rank 1"}}));
  // The notify at 180 ended after the wait, as its worker read the clock later; it began before it.
  const Json start = only(trace, "s", "notify"), end = only(trace, "f", "notify");
  EXPECT_EQ(ns(start, "ts"), 180 - 50);
  EXPECT_EQ(ns(end, "ts"), 200 - 50);
  EXPECT_TRUE(encloses(wait, end));
  const auto notifies = events(trace, "X", "notify");
  ASSERT_EQ(notifies.size(), 4U);
  EXPECT_TRUE(encloses(notifies[2], start));
  EXPECT_EQ(notifies[2].at("args").at("value"), -5);
}

TEST(Trace, a_wait_that_no_kept_notify_ended_has_no_arrow) {
  const Json trace = written({{made(Event::wait, 10, 20, 64, 0, 1, 0), made(Event::notify, 30, 31, 64, 1, 2, 1),
                               made(Event::notify, 5, 6, 63, 1, 2, 1)}});
  expect_well_formed(trace);
  EXPECT_TRUE(events(trace, "s").empty());
  EXPECT_EQ(only(trace, "X", "a task waits").at("args").at("cell"), "0x40");
}

TEST(Trace, waits_of_a_rank_that_overlap_are_on_tracks_beside_each_other) {
  const Json trace = written({{made(Event::wait, 0, 100, 4, 0, 1, 2), made(Event::wait, 50, 150, 4, 1, 1, 2),
                               made(Event::wait, 101, 160, 4, 2, 1, 2), made(Event::wait, 0, 10, 4, 0, 1, 3)}});
  expect_well_formed(trace);
  std::map<std::string, int> tracks;
  for (const Json& wait : events(trace, "X")) ++tracks[track_of(trace, wait)];
  EXPECT_EQ(tracks, (std::map<std::string, int>{{"rank 2 waits", 2}, {"rank 2 waits (2)", 1}, {"rank 3 waits", 1}}));
}

TEST(Trace, shows_each_ranks_rounds_scopes_and_waits_for_room) {
  const Json trace = written(
      {{made(Event::round_begin, 100, 100, 0, 5, 0, 2), made(Event::ring_wait, 300, 400, subject_of("push"), 1, 0, 2),
        made(Event::submit, 410, 420, subject_of("push"), 8, 7, 2), made(Event::orchestrator, 150, 600, 0, 0, 0, 2),
        made(Event::scope, 200, 500, subject_of("tp.cpp"), 41, 0, 2)},
       {made(Event::round_end, 900, 900, 0, 5, 0, 2), made(Event::round_begin, 950, 950, 0, 6, 0, 2),
        made(Event::round_end, 950, 960, 0, 4, 0, 1),
        made(Event::error, 970, 970, subject_of("kernel_failed"), 30, 7, 2)}});
  expect_well_formed(trace);
  const Json round = only(trace, "X", "round 5");
  EXPECT_EQ(track_of(trace, round), "rank 2");
  EXPECT_EQ(ns(round, "ts"), 0);
  EXPECT_EQ(ns(round, "dur"), 800);
  EXPECT_EQ(ns(only(trace, "X", "round 6"), "dur"), 970 - 950);  // still open at the end
  EXPECT_EQ(ns(only(trace, "X", "round 4"), "ts"), 0);           // began before what is kept
  EXPECT_EQ(ns(only(trace, "X", "round 4"), "dur"), 860);
  const Json scope = only(trace, "X", "scope");
  EXPECT_TRUE(encloses(round, scope));
  EXPECT_EQ(scope.at("args"), Json({{"rank", 2}, {"file", "tp.cpp"}, {"line", 41}}));
  EXPECT_TRUE(encloses(scope, only(trace, "X", "room for push")));
  EXPECT_TRUE(encloses(only(trace, "X", "orchestrator"), only(trace, "X", "submit push")));
  EXPECT_EQ(only(trace, "i", "error: kernel_failed").at("s"), "g");
}

TEST(Trace, escapes_names) {
  const Json trace =
      written({{made(Event::block, 1, 2,
                     subject_of("a \"b\" \\ \n\t\x01 caf\xc3\xa9 \xe9 \xed\xa0\x80 \xf0\x9f\xa7\xb5 \xc3"), 0, 1, 0)}});
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(events(trace, "X").at(0).at("name"), "a \"b\" \\ \n\t\x01 caf\xc3\xa9 " + replaced + " " + replaced +
                                                     replaced + replaced + " \xf0\x9f\xa7\xb5 " + replaced);
}

TEST(Trace, of_nothing_is_valid_and_says_how_much_is_missing) {
  EXPECT_TRUE(events(written({}), "X").empty());
  EXPECT_EQ(written({{}, {}}, {}, 17).at("otherData").at("records_dropped"), "17");
}

TEST(Trace, of_random_records_is_well_formed) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Records workers(3);
  for (auto& records : workers)
    for (int i = 0; i < 2000; ++i) {
      const auto kind = static_cast<Event>(random() % base::event_kinds);
      const bool takes_cell_or_bytes =
          kind == Event::put || kind == Event::get || kind == Event::notify || kind == Event::wait;
      const std::uint64_t start = 1000 + random() % 20000;
      records.push_back(made(kind, start, start + random() % 300,
                             takes_cell_or_bytes ? 4096 + random() % 8 * 4 : subject_of("name"),
                             static_cast<std::uint32_t>(random() % 50), static_cast<std::uint32_t>(random() % 9),
                             static_cast<std::uint16_t>(random() % 4), static_cast<std::uint8_t>(random())));
    }
  const Json trace = written(workers);
  expect_well_formed(trace);
  EXPECT_GT(events(trace, "s").size(), 100U);
}

std::string refusal(const std::string& path, Code code) {
  const Records workers{{made(Event::block, 1, 2, subject_of("name"), 0, 1, 0)}};
  try {
    write_trace(path, {workers, clock_of_ns});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.message();
  }
  return "nothing was refused";
}

TEST(Trace, says_why_a_file_cannot_be_opened) {
  const Folder folder;
  EXPECT_EQ(refusal("/no/such/folder/trace.json", Code::invalid_argument),
            "cannot open \"/no/such/folder/trace.json\" for writing: No such file or directory");
  EXPECT_EQ(refusal(folder.path.string(), Code::invalid_argument),
            "cannot open \"" + folder.path.string() + "\" for writing: Is a directory");
}

TEST(Trace, says_that_the_disk_is_full_and_leaves_the_device_alone) {
  EXPECT_EQ(refusal("/dev/full", Code::user_error), "cannot write \"/dev/full\": No space left on device");
  struct stat status{};
  ASSERT_EQ(::stat("/dev/full", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(JsonFile, that_is_not_closed_is_removed) {
  const Folder folder;
  const auto path = folder.path / "partial.json";
  {
    JsonFile file(path.string());
    file.raw("[");
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace heddle::host
