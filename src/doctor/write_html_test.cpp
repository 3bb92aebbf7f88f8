// SPDX-License-Identifier: Apache-2.0
//
// The HTML page: what stands where, that nothing a snapshot says gets out of its text, and that it stays small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "doctor/page.hpp"
#include "doctor/page_reader.hpp"
#include "doctor/write.hpp"
#include "heddle/error.hpp"
#include "snapshot/json.hpp"

namespace heddle::doctor {
namespace {

using Json = nlohmann::ordered_json;  // "format" has to stand first
using testing::HasSubstr;
using testing::Not;

struct Words {
  std::string name = "open";  // of all that has a name
  std::string text = "words";
};

// Each rank's task waits for the other rank's, which waits itself; one more of each rank comes after it.
Json handshake(int ranks, const Words& words = {}) {
  const Json source{{"file", words.name + ".cpp"}, {"line", 41}};
  Json json{{"format", "heddle-snapshot"},
            {"version", 1},
            {"program", words.name},
            {"variant", words.name},
            {"backend", "lab:" + words.name},
            {"strategy", words.name},
            {"fidelity", words.name},
            {"seed", 7},
            {"replay", words.text},
            {"taken", "standstill"},
            {"time", 9000},
            {"settings", {{{"name", words.name}, {"value", words.text}}}},
            {"notes", {words.text}},
            {"outcome",
             {{"verdict", "DEADLOCK (proved)"},
              {"code", 20},
              {"message", words.text},
              {"rank", 0},
              {"task", words.name},
              {"block", 0},
              {"source", source},
              {"hint", words.text},
              {"chain", {words.text}}}},
            {"windows", {{{"name", words.name}, {"bytes", 64}}}},
            {"faults", {{{"name", words.name}, {"rank", 0}, {"where", words.text}}}},
            {"flags", {{{"rank", 0}, {"cluster", 0}, {"flag", 0}, {"side", words.name}, {"count", 3}}}}};
  for (int rank = 0; rank < ranks; ++rank) {
    const int next = (rank + 1) % ranks;
    const Json wait{{"window", words.name}, {"cell", 0}, {"compare", ">="},
                    {"needs", 1},           {"has", 0},  {"source", source}};
    json["ranks"].push_back({{"rank", rank},
                             {"state", "running"},
                             {"round", 0},
                             {"waits_for", "ring"},
                             {"ring", 0},
                             {"resource", "heap"},
                             {"for_task", words.name},
                             {"source", source}});
    json["tasks"].push_back({{"rank", rank},
                             {"task", 0},
                             {"name", words.name},
                             {"kernel", words.name},
                             {"source", source},
                             {"state", "running"},
                             {"blocks", 1},
                             {"begun", 1},
                             {"ended", 0},
                             {"cubes", 0},
                             {"vectors", 1},
                             {"producers", Json::array()}});
    json["tasks"].push_back({{"rank", rank},
                             {"task", 1},
                             {"name", words.name},
                             {"source", source},
                             {"state", "submitted"},
                             {"blocks", 1},
                             {"begun", 0},
                             {"ended", 0},
                             {"producers", {{{"rank", rank}, {"task", 0}}}}});
    json["blocks"].push_back(
        {{"rank", rank}, {"task", 0}, {"block", 0}, {"state", "waiting"}, {"core", 1}, {"wait", wait}});
    for (int core = 0; core < 3; ++core)
      json["cores"].push_back({{"rank", rank},
                               {"core", core},
                               {"name", words.name},
                               {"cluster", 0},
                               {"lane", core},
                               {"kind", core == 0 ? "cube" : "vector"},
                               {"state", "idle"}});
    Json& busy = json["cores"].back();
    busy["core"] = 1;
    json["cores"][json["cores"].size() - 2]["core"] = 2;
    busy["state"] = "running";
    busy["running"] = {{"task", 0}, {"block", 0}, {"token", 5}};
    json["queues"].push_back(
        {{"rank", rank}, {"name", words.name}, {"entries", {{{"task", 1}, {"next_block", 0}, {"blocks", 1}}}}});
    json["rings"].push_back({{"rank", rank},
                             {"ring", 0},
                             {"tasks", {{"size", 16}, {"held", 2}}},
                             {"heap_bytes", {{"size", 1024}, {"held", 1024}}},
                             {"edges", {{"size", 16}, {"held", 1}}},
                             {"oldest", 0},
                             {"holder", source}});
    json["cells"].push_back({{"rank", rank},
                             {"window", words.name},
                             {"cell", 0},
                             {"value", 0},
                             {"older", 0},
                             {"notifiers", {{{"rank", next}, {"task", 0}}}},
                             {"history",
                              {{{"kind", "notify"},
                                {"rank", next},
                                {"task", 0},
                                {"block", 0},
                                {"name", words.name},
                                {"round", 0},
                                {"value", 1},
                                {"op", words.name},
                                {"issued", 1000},
                                {"lost", true}}}}});
    json["events"].push_back({{"start", 500},
                              {"end", 9000},
                              {"kind", "block"},
                              {"rank", rank},
                              {"task", 0},
                              {"block", 0},
                              {"name", words.name},
                              {"core", 1},
                              {"unfinished", true}});
    json["events"].push_back({{"start", 700},
                              {"end", 9000},
                              {"kind", "wait"},
                              {"rank", rank},
                              {"task", 0},
                              {"block", 0},
                              {"name", words.name},
                              {"core", 1},
                              {"window", words.name},
                              {"cell", 0},
                              {"value", 1},
                              {"unfinished", true}});
    json["events"].push_back({{"start", 800},
                              {"end", 800},
                              {"kind", words.name},
                              {"rank", rank},
                              {"task", 0},
                              {"name", words.text},
                              {"window", words.name},
                              {"cell", 0}});
  }
  return json;
}

std::string page_of(const snapshot::Snapshot& snapshot) { return to_html(diagnose(snapshot), snapshot); }
std::string page_of(const Json& json) {
  return page_of(snapshot::parse(json.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

// Well formed, closed in itself.
ReadPage sound(const std::string& page) {
  ReadPage read = PageReader(page).read();
  EXPECT_EQ(read.wrong(), "");
  return read;
}

TEST(Page, VerdictFirstThenWhomToBlameAndWhatToDo) {
  const std::string page = page_of(handshake(2));
  const ReadPage read = sound(page);
  EXPECT_THAT(read.text, HasSubstr("DEADLOCK (proved)"));
  std::size_t last = 0;
  for (const char* id : {"verdict", "culprit", "advice", "chain", "waits", "causes", "ranks", "cores", "rings",
                         "timeline", "tasks", "cells", "run"}) {
    const std::size_t at = page.find("id=\"" + std::string(id) + "\"");
    ASSERT_NE(at, std::string::npos) << id;
    EXPECT_GT(at, last) << id;
    last = at;
  }
}

TEST(Page, ReadableOnAPhoneAndInTheDark) {
  const std::string page = page_of(handshake(2));
  EXPECT_THAT(page, HasSubstr("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
}

TEST(Page, NeedsNothingElse) {
  const std::string page = page_of(handshake(2));
  for (const char* outside : {"http:", "https:", "//cdn", "@import", "url(h", "src="})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Page, TheChainIsLinkedWithTheStateAndTheTimeline) {
  const ReadPage read = sound(page_of(handshake(3)));
  for (const char* id :
       {"r0.t0", "r0.t0.b0", "r0.c1", "r0.w.open.0", "r1.w.open.0", "r0.g0", "r2", "e.r0.t0", "step-1"})
    EXPECT_TRUE(read.ids.contains(id)) << id;
  for (const char* to : {"r0.t0.b0", "r0.c1", "r0.w.open.0", "r1.t0.b0", "e.r0.t0"})
    EXPECT_NE(std::find(read.links.begin(), read.links.end(), to), read.links.end()) << to;
}

// Fails where the chain is told with gaps: each node but the first and the last is led to and left.
TEST(Page, TheChainIsDrawnAsOneWay) {
  const std::string page = page_of(handshake(4));
  const std::size_t begin = page.find("<svg class=\"graph\""), end = page.find("</svg>", begin);
  const std::string graph = page.substr(begin, end - begin);
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = graph.find(what); at != std::string::npos; at = graph.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<g class=\"node"), 8U) << "a block and a cell of each rank";
  EXPECT_EQ(count("<path class=\"edge\""), 8U) << "and back to the first";
  EXPECT_EQ(count("class=\"mark\""), 1U) << "one is the culprit";
}

TEST(Page, WhatASnapshotSaysStaysText) {
  const ReadPage plain = sound(page_of(handshake(2, {"openly", "it says openly"})));
  for (const std::string& hostile :
       {std::string("\"><script>alert(1)</script>"), std::string("' onmouseover='alert(1)' x='"),
        std::string("</style></title></svg><img src=x onerror=alert(1)>"),
        std::string("<!-- ]]> --!> &amp; &#x3c;b&#x3e;"), std::string("javascript:alert(1)//%0a\\u003cscript"),
        std::string("\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"), std::string("a\x01\x1b[31m\x7f\r\n\tb"),
        std::string("\xe2\x80\xae desrever \xe2\x81\xa6"), std::string("{}{0}%s%n{:x}"),
        std::string("öffnen 开 🧵 \xcc\x81\xcc\x81")}) {
    const std::string page = page_of(handshake(2, {hostile, "it says " + hostile}));
    const ReadPage read = sound(page);
    const auto [here, there] = std::mismatch(read.tags.begin(), read.tags.end(), plain.tags.begin(), plain.tags.end());
    EXPECT_TRUE(here == read.tags.end() && there == plain.tags.end())
        << "tag " << here - read.tags.begin() << " of the page with " << hostile;
    EXPECT_EQ(page.find("<script>alert"), std::string::npos);
    EXPECT_EQ(page.find('\x1b'), std::string::npos);
    EXPECT_EQ(page.find("\xe2\x80\xae"), std::string::npos) << "the direction of writing";
  }
}

TEST(Page, TextIsCutAtCharactersAndStaysUtf8) {
  EXPECT_EQ(escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escaped("öäü", 2), "öä…");
  EXPECT_EQ(escaped("\xc3"), "\xef\xbf\xbd");
  EXPECT_EQ(escaped("a\nb"), "a b");
  EXPECT_EQ(anchor_of("r0.w.a b\".3"), "r0.w.a:20b:22.3");
  EXPECT_NE(anchor_of(std::string(5000, 'a') + "1"), anchor_of(std::string(5000, 'a') + "2"));
  EXPECT_LT(anchor_of(std::string(5000, '"')).size(), 200U);
}

TEST(Page, TheSameSnapshotGivesTheSameBytes) {
  const Json json = handshake(5);
  const std::string page = page_of(json);
  EXPECT_EQ(page, page_of(json));
  EXPECT_EQ(page, page_of(snapshot::parse(snapshot::to_json(snapshot::parse(json.dump())))));
}

TEST(Page, ALargeSnapshotGivesASmallPageThatSaysWhatIsLeftOut) {
  snapshot::Snapshot snapshot = snapshot::parse(handshake(1000).dump());
  for (int task = 2; task < 30; ++task)
    for (int rank = 0; rank < 1000; ++rank) {
      snapshot::Task more;
      more.rank = rank;
      more.task = task;
      more.name = std::string(400, 'n');
      more.state = snapshot::TaskState::running;
      snapshot.tasks.push_back(more);
    }
  std::sort(snapshot.tasks.begin(), snapshot.tasks.end(),
            [](const auto& a, const auto& b) { return std::tie(a.rank, a.task) < std::tie(b.rank, b.task); });
  snapshot::Event event;
  event.kind = "block";
  event.rank = 0;
  event.task = 0;
  event.core = 1;
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    event.start = i;
    event.end = i + 1;
    snapshot.events.push_back(event);
  }
  const std::string page = page_of(snapshot);
  const ReadPage read = sound(page);
  EXPECT_LT(page.size(), std::size_t{2} << 20U);
  EXPECT_THAT(read.text, HasSubstr("… and 29,880 more tasks, not on this page"));
  EXPECT_THAT(read.text, HasSubstr("… and 880 more ranks, not on this page"));
  EXPECT_THAT(read.text, HasSubstr("more blocks, not on this page"));
  EXPECT_THAT(read.text, HasSubstr("more waits, not on this page"));
}

TEST(Page, WithoutAnswerWhatWasNotRecordedComesBeforeTheWaits) {
  const Json json = Json::parse(R"({"format": "heddle-snapshot", "version": 1,
    "ranks": [{"rank": 0, "state": "running"}],
    "tasks": [{"rank": 0, "task": 0, "name": "look"}],
    "blocks": [{"rank": 0, "task": 0, "block": 0, "state": "waiting", "wait": {"window": "done", "cell": 0}}]})");
  const std::string page = page_of(json);
  sound(page);
  EXPECT_THAT(page, HasSubstr("UNDECIDED"));
  EXPECT_LT(page.find("id=\"missing\""), page.find("id=\"waits\""));
  EXPECT_THAT(page, HasSubstr("The last events were not recorded"));
}

TEST(Page, AnEmptySnapshot) {
  const std::string page = page_of(Json{{"format", "heddle-snapshot"}, {"version", 1}});
  EXPECT_THAT(sound(page).text, HasSubstr("No tasks were recorded"));
}

// Whatever is left out of a snapshot, the page is whole.
TEST(Page, AnythingMayBeMissing) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int read = 0;
  for (int round = 0; round < 300; ++round) {
    Json json = handshake(3);
    const unsigned one_in = 12U << (static_cast<unsigned>(round) % 5);  // of little missing, most can be read
    const std::function<void(Json&)> thin = [&](Json& at) {
      if (at.is_array())
        for (std::size_t i = at.size(); i-- > 0;) random() % one_in == 0 ? at.erase(i) : thin(at[i]);
      if (!at.is_object()) return;
      for (auto each = at.begin(); each != at.end();) {
        const bool stays = each.key() == "format" || each.key() == "version" || random() % one_in != 0;
        if (stays) thin(each.value());
        each = stays ? std::next(each) : at.erase(each);
      }
    };
    thin(json);
    try {
      const ReadPage page = sound(page_of(json));
      ++read;
      if (testing::Test::HasFailure()) FAIL() << json.dump();
    } catch (const Error&) {
      continue;  // a reference to what is gone is refused when it is read
    }
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace heddle::doctor
