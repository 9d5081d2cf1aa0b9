// SPDX-License-Identifier: BSD-3-Clause
#include "report/page/place.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "analysis/findings/rule.hpp"
#include "report/sections.hpp"

namespace iotrail::output {

TEST(Page, each_finding_is_shown_in_a_section_of_the_report) {
  const auto& sections = sections_of(&Ranks::report);
  for (const analysis::Rule& rule : analysis::finding_rules()) {
    const std::string shown = section_that_shows(rule.name);
    EXPECT_NE(std::ranges::find(sections, shown, &SectionDefinition::id), sections.end())
        << rule.name << ": " << shown;
  }
  EXPECT_EQ(section_that_shows("tiny_writes"), "sizes");
  EXPECT_EQ(section_that_shows("of no rule"), "time");
}

} // namespace iotrail::output
