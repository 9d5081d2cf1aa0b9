// SPDX-License-Identifier: BSD-3-Clause
#include "report/explain/explain_overview.hpp"

#include <algorithm>
#include <utility>

#include "report/explain/op_time.hpp"

namespace iotrail::output {

namespace {

constexpr std::size_t kPartsNamed = 3;

double share_in(std::uint64_t ns, std::uint64_t of_ns) {
  return static_cast<double>(ns) / static_cast<double>(std::max<std::uint64_t>(1, of_ns));
}

// What took the time of all operations, the largest first.
std::vector<TimeSum> sums_of_all(const std::vector<Operation>& operations) {
  std::vector<TimeShare> all;
  for (const Operation& operation : operations)
    all.insert(all.end(), operation.time.begin(), operation.time.end());
  return sums_of(all);
}

// "10 operations, 41.3 ms in all: waiting for the disk 60.2 %, waiting for the journal 30.1 %"
Sentence title_of(const std::vector<Operation>& operations) {
  std::uint64_t all_ns = 0;
  for (const Operation& operation : operations)
    all_ns += operation.span.length_ns();
  Sentence title =
      sentence("{operations} operations, {all_ns} in all",
               {count_value("operations", operations.size()), ns_value("all_ns", all_ns)});
  const std::vector<TimeSum> sums = sums_of_all(operations);
  for (std::size_t i = 0; i < std::min(sums.size(), kPartsNamed); ++i)
    title.add(
        i == 0 ? ": {part} {share}" : ", {part} {share}",
        {text_value("part", sums[i].words), share_value("share", share_in(sums[i].ns, all_ns))});
  return title;
}

// "82.1 % waiting for the journal"
Value largest_part(const Operation& operation) {
  const std::vector<TimeSum> sums = sums_of(operation.time);
  if (sums.empty())
    return {};
  return std::vector<Sentence>{
      sentence("{share} {part}",
               {share_value("share", share_in(sums.front().ns, operation.span.length_ns())),
                text_value("part", sums.front().words)})};
}

} // namespace

Section overview_section(const SmallResult& heads, const std::vector<Operation>& operations) {
  Section section{.id = "overview",
                  .title = title_of(operations),
                  .columns = {{.name = "op", .title = "operation"},
                              {.name = "call", .title = "call"},
                              {.name = "duration_ns", .title = "took", .meaning = Meaning::ns},
                              {.name = "at_second",
                               .title = "at second",
                               .meaning = Meaning::second,
                               .drop_priority = 1},
                              {.name = "process", .title = "process", .drop_priority = 2},
                              {.name = "path", .title = "file", .meaning = Meaning::path},
                              {.name = "_mostly", .title = "most of it"}},
                  .shown = {0, 1, 2, 3, 4, 6, 5},
                  .all_rows = operations.size()};
  for (std::size_t row = 0; row < operations.size(); ++row)
    section.rows.push_back(
        {{heads.value(row, "name"), heads.value(row, "what"), operations[row].span.length_ns(),
          static_cast<double>(heads.number(row, "since_ns")) / 1e9, process_text(heads, row),
          heads.value(row, "path"), largest_part(operations[row])}});
  return section;
}

} // namespace iotrail::output
