// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks of parallel jobs, and what the slowest one did more than the others.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr double kSlow = 1.2; // times the median: worth a sentence
constexpr std::uint64_t kSomeBytes = 1U << 20U;

constexpr ColumnDefinition kRankColumns[] = {
    {.title = "job", .name = "job", .omit = Omit::if_unknown, .suppress_repeats = true},
    {.title = "rank", .name = "rank", .meaning = Meaning::id},
    {.title = "program", .name = "comm", .drop_priority = 1},
    {.title = "calls", .name = "calls", .meaning = Meaning::count, .is_sum = true},
    {.title = "busy", .name = "busy_ns", .meaning = Meaning::ns},
    {.title = "of median", .name = "slowdown", .meaning = Meaning::ratio},
    {.title = "read",
     .name = "bytes_read",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .is_sum = true},
    {.title = "written",
     .name = "bytes_written",
     .meaning = Meaning::bytes,
     .zero_is_dash = true,
     .is_sum = true},
    {.title = "dev read",
     .name = "device_bytes_read",
     .meaning = Meaning::bytes,
     .omit = Omit::if_zero,
     .zero_is_dash = true,
     .drop_priority = 2},
    {.title = "dev write",
     .name = "device_bytes_written",
     .meaning = Meaning::bytes,
     .omit = Omit::if_zero,
     .zero_is_dash = true,
     .drop_priority = 3},
};

// A clause for bytes that the rank moved more or less than the median: "it read 4.00 GiB more".
void add_clause(Sentence& note, std::string_view begin, std::string name, const Value& more) {
  const auto* signed_more = std::get_if<std::int64_t>(&more);
  if (signed_more == nullptr)
    return;
  const bool is_less = *signed_more < 0;
  const auto bytes = static_cast<std::uint64_t>(is_less ? -*signed_more : *signed_more);
  if (bytes < kSomeBytes)
    return;
  const std::string clause = "{" + name + "}";
  note.add(begin)
      .add(clause, {bytes_value(std::move(name), bytes)})
      .add(is_less ? " less" : " more");
}

// "rank 7 is x 1.80 as long in I/O as the median of 8: it read 4.00 GiB more"
void note_ranks(const SectionRows& rows, const store::TraceReader&, Section& section) {
  note_rest(section, "ranks");
  if (rows.number(0, "ranks") < 2 || rows.real(0, "slowdown") < kSlow)
    return;
  Sentence note =
      sentence("rank {rank} spent {slowdown} the time of the median of {ranks} ranks in I/O",
               {{"rank", rows.value(0, "rank"), Meaning::id},
                {"slowdown", rows.value(0, "slowdown"), Meaning::ratio},
                count_value("ranks", rows.number(0, "ranks"))});
  add_clause(note, "; it read ", "more_read", rows.value(0, "more_read"));
  add_clause(note, "; it wrote ", "more_written", rows.value(0, "more_written"));
  section.notes.push_back(std::move(note));
}

} // namespace

SectionDefinition ranks_section() {
  return {.id = "ranks",
          .ranks = {.report = 31},
          .title = "Ranks of parallel jobs",
          .view = "ranks",
          .sql = "SELECT * FROM ranks",
          .order = "slowdown DESC NULLS LAST, busy_ns DESC, job, rank",
          .order_label = "time in calls on files",
          .rows = 8,
          .columns = kRankColumns,
          .add_notes = note_ranks};
}

} // namespace iotrail::output
