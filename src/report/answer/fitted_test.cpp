// SPDX-License-Identifier: BSD-3-Clause
#include "report/answer/fitted.hpp"

#include <gtest/gtest.h>

namespace iotrail::output {

namespace {

Sentence finding(std::string id) {
  return sentence("{id}: a cause", {text_value("id", std::move(id))});
}

// Each row and sentence is a line.
std::size_t lines_of(const Document& document) {
  std::size_t lines = 0;
  for (const Section& section : document.sections)
    lines += section.rows.size() + section.intro.size();
  return lines;
}

Document screen() {
  Document document;
  document.sections.push_back({.id = "verdict", .intro = {sentence("SLOWED"), sentence("parts")}});
  document.sections.push_back({.id = "file_call_totals", .rows = std::vector<Row>(4)});
  document.sections.push_back({.id = "noticed",
                               .intro = {sentence("Written"), sentence("of others"), finding("F01"),
                                         finding("F02"), finding("F03")}});
  document.sections.push_back({.id = "next", .intro = {sentence("one"), sentence("two")}});
  return document;
}

std::vector<std::size_t> lines_by_section(std::size_t most) {
  std::vector<std::size_t> lines;
  for (const Section& section : fitted(screen(), most, lines_of).sections)
    lines.push_back(section.rows.size() + section.intro.size());
  return lines;
}

} // namespace

TEST(fitted, what_a_reader_needs_least_goes_first) {
  using Lines = std::vector<std::size_t>; // verdict, calls, noticed, next
  EXPECT_EQ(lines_by_section(13), (Lines{2, 4, 5, 2}));
  EXPECT_EQ(lines_by_section(12), (Lines{2, 4, 5, 1}));
  EXPECT_EQ(lines_by_section(10), (Lines{2, 2, 5, 1}));
  EXPECT_EQ(lines_by_section(9), (Lines{2, 2, 4, 1}));
  EXPECT_EQ(lines_by_section(7), (Lines{2, 1, 4, 0}));
  EXPECT_EQ(lines_by_section(6), (Lines{2, 1, 3, 0}));
  EXPECT_EQ(lines_by_section(1), (Lines{2, 1, 1, 0}));
}

TEST(fitted, the_costliest_finding_outlasts_what_disks_did_for_others) {
  const Document short_one = fitted(screen(), 5, lines_of);
  const auto& noticed = short_one.sections[2].intro;
  ASSERT_EQ(noticed.size(), 2U);
  EXPECT_EQ(noticed[0].pattern, "Written");
  EXPECT_EQ(text_of(noticed[1].values[0].value), "F01");
}

} // namespace iotrail::output
