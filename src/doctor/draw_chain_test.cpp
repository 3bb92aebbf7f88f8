// SPDX-License-Identifier: Apache-2.0
#include "doctor/draw_chain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace heddle::doctor {
namespace {

using testing::HasSubstr;
using testing::Not;

Party party(Party::Kind kind, const std::string& id, const std::string& name, int rank) {
  Party made;
  made.kind = kind;
  made.id = id;
  made.name = name;
  made.text = name;
  made.rank = rank;
  return made;
}

std::ptrdiff_t count_of(const std::string& text, const std::string& pattern) {
  const std::regex wanted(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), wanted), std::sregex_iterator());
}

Report circle() {
  const Party a = party(Party::Kind::block, "a", "first", 0), b = party(Party::Kind::cell, "b", "done", 0),
              c = party(Party::Kind::task, "c", "second", 1);
  Report report;
  report.verdict = "DEADLOCK (proved)";
  report.chain = {{a, EdgeKind::signal, b, ""},
                  {b, EdgeKind::signal, c, ""},
                  {c, EdgeKind::core, a, ""},
                  {a, EdgeKind::core, a, ""}};  // "so it comes back"
  report.chain_closes = true;
  return report;
}

TEST(DrawChain, EachPartyIsABoxOnceAndEachStepAnArrow) {
  const std::string svg = draw_chain(circle());
  EXPECT_EQ(count_of(svg, "<rect class="), 3);
  EXPECT_EQ(count_of(svg, "marker-end"), 3);
  for (const char* text :
       {">first<", ">done<", ">second<", "waits for signal", "which would be changed by", "waits for core"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(svg, Not(HasSubstr("nobody")));
  EXPECT_EQ(svg, draw_chain(circle()));
}

TEST(DrawChain, TheCulpritIsMarked) {
  Report report = circle();
  EXPECT_EQ(count_of(draw_chain(report), "class=\"culprit\""), 0);
  report.culprit = report.chain.front().from;
  EXPECT_EQ(count_of(draw_chain(report), "class=\"culprit\""), 1);
}

TEST(DrawChain, WhoWaitsForItselfHasAnArrowToItself) {
  const Party a = party(Party::Kind::program, "a", "program", 0);
  Report report;
  report.chain = {{a, EdgeKind::room, a, ""}, {a, EdgeKind::signal, a, ""}};
  report.chain_closes = true;
  const std::string svg = draw_chain(report);
  EXPECT_EQ(count_of(svg, "<rect class="), 1);
  EXPECT_EQ(count_of(svg, "marker-end"), 1);
}

TEST(DrawChain, ACulpritThatIsGoneLeadsToTheChain) {
  Report report = circle();
  report.culprit = party(Party::Kind::task, "z", "earlier", 0);
  const std::string svg = draw_chain(report);
  EXPECT_EQ(count_of(svg, "class=\"culprit\""), 1);
  EXPECT_LT(svg.find("earlier"), svg.find("first"));
  EXPECT_THAT(svg, HasSubstr("leads to"));
}

TEST(DrawChain, PartiesOfOneNameAreToldApart) {
  Report report = circle();
  report.chain[0].from.text = "first (rank 0, task 1) block 0 part 1";
  EXPECT_THAT(draw_chain(report), HasSubstr(">(rank 0, task 1) block 0 part 1<"));
}

TEST(DrawChain, AStepWithoutAnEndGoesOnWithTheNextOne) {
  const Party a = party(Party::Kind::block, "a", "cube", 0), b = party(Party::Kind::block, "b", "vector", 0);
  Report report;
  report.verdict = "DEADLOCK (proved)";
  report.chain = {{a, EdgeKind::flag, {}, ""}, {{}, EdgeKind::flag, b, ""}, {b, EdgeKind::flag, {}, ""}};
  const std::string svg = draw_chain(report);
  EXPECT_EQ(count_of(svg, "<rect class="), 4);
  EXPECT_EQ(count_of(svg, "marker-end"), 3);
  EXPECT_THAT(svg, HasSubstr(">a flag of its cluster<"));
  EXPECT_THAT(svg, HasSubstr(">nobody<"));
}

TEST(DrawChain, WithoutAChainItShowsTheCulpritAndTheVerdict) {
  Report report;
  report.verdict = "RACE";
  report.code_name = "race";
  report.culprit = party(Party::Kind::task, "a", "clear", 1);
  const std::string svg = draw_chain(report);
  for (const char* text : {">clear<", ">RACE<", ">race<", "leads to"}) EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(draw_chain(Report{}), HasSubstr("nobody is named"));
}

TEST(DrawChain, WhateverANameHoldsItStaysXml) {
  Report report = circle();
  report.chain[0].from.name = "a<b>&\x01" + std::string(100, 'x');
  report.chain[1].to.name = std::string(38, 'y') + "\xC3\xA4\xC3\xA4\xC3\xA4";
  const std::string svg = draw_chain(report);
  EXPECT_THAT(svg, HasSubstr("a&lt;b&gt;&amp;?x"));
  EXPECT_THAT(svg, Not(HasSubstr(std::string(50, 'x'))));
  EXPECT_THAT(svg, HasSubstr(std::string(38, 'y') + "\xE2\x80\xA6"));
}

}  // namespace
}  // namespace heddle::doctor
