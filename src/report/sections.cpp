// SPDX-License-Identifier: BSD-3-Clause
#include "report/sections.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/nearest_name.hpp"
#include "base/result.hpp"

namespace iotrail::output {

namespace {

std::vector<SectionDefinition> sorted_by(int Ranks::* rank) {
  std::vector<SectionDefinition> sections = {
#define SECTION(name) name##_section(),
#include "section_list.inc"
#undef SECTION
  };
  std::erase_if(sections, [&](const SectionDefinition& each) { return each.ranks.*rank == 0; });
  std::ranges::sort(sections, {}, [&](const SectionDefinition& each) { return each.ranks.*rank; });
  return sections;
}

} // namespace

const std::vector<SectionDefinition>& sections_of(int Ranks::* rank) {
  struct Sorted {
    int Ranks::* rank;
    std::vector<SectionDefinition> sections;
  };
  static const auto kSorted = [] {
    std::vector<Sorted> all;
    for (int Ranks::* each :
         {&Ranks::first_screen, &Ranks::devices_screen, &Ranks::report, &Ranks::report_data,
          &Ranks::verify, &Ranks::stat, &Ranks::snapshot, &Ranks::profile})
      all.push_back({each, sorted_by(each)});
    return all;
  }();
  const auto found = std::ranges::find(kSorted, rank, &Sorted::rank);
  IOTRAIL_CHECK(found != kSorted.end());
  return found->sections;
}

// Calls are operations: "call" is the same table as "operation".
const SectionDefinition* section_by(std::string_view subject, int Ranks::* rank) {
  if (subject == "call")
    subject = "operation";
  const std::vector<SectionDefinition>& sections = sections_of(rank);
  const auto found = std::ranges::find(sections, subject, &SectionDefinition::subject);
  return subject.empty() || found == sections.end() ? nullptr : &*found;
}

std::unexpected<Error> no_section_by(std::string_view subject) {
  constexpr auto kSubjects =
      std::to_array<std::string_view>({"operation", "file", "process", "device"});
  return fail_usage(fmt::format("--by: there is no table by '{}'", subject),
                    "the tables are by operation, file, process and device",
                    did_you_mean(subject, kSubjects));
}

} // namespace iotrail::output
