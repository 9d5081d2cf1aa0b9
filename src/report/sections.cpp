// SPDX-License-Identifier: BSD-3-Clause
#include "report/sections.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/nearest_name.hpp"

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
  static const std::vector<SectionDefinition> kFirstScreen = sorted_by(&Ranks::first_screen);
  static const std::vector<SectionDefinition> kReport = sorted_by(&Ranks::report);
  static const std::vector<SectionDefinition> kReportData = sorted_by(&Ranks::report_data);
  static const std::vector<SectionDefinition> kVerify = sorted_by(&Ranks::verify);
  static const std::vector<SectionDefinition> kStat = sorted_by(&Ranks::stat);
  static const std::vector<SectionDefinition> kSnapshot = sorted_by(&Ranks::snapshot);
  static const std::vector<SectionDefinition> kProfile = sorted_by(&Ranks::profile);
  if (rank == &Ranks::first_screen)
    return kFirstScreen;
  if (rank == &Ranks::report)
    return kReport;
  if (rank == &Ranks::report_data)
    return kReportData;
  if (rank == &Ranks::snapshot)
    return kSnapshot;
  if (rank == &Ranks::profile)
    return kProfile;
  return rank == &Ranks::verify ? kVerify : kStat;
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
