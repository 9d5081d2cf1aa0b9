// SPDX-License-Identifier: BSD-3-Clause
//
// The time of asynchronous operations by phase.
#include "report/section.hpp"

namespace iotrail::output {

namespace {

constexpr ColumnDefinition kAsyncColumns[] = {
    {.title = "call", .name = "call"},
    {.title = "ended", .name = "operations", .meaning = Meaning::count, .is_sum = true},
    {.title = "mean", .name = "mean_ns", .meaning = Meaning::ns, .drop_priority = 2},
    {.title = "submit", .name = "submit", .meaning = Meaning::share},
    {.title = "worker", .name = "worker", .meaning = Meaning::share, .drop_priority = 1},
    {.title = "queue", .name = "queue", .meaning = Meaning::share},
    {.title = "device", .name = "device", .meaning = Meaning::share},
    {.title = "unreported", .name = "unreported", .meaning = Meaning::share},
    {.title = "other", .name = "other", .meaning = Meaning::share},
};
constexpr std::string_view kAsyncSql = R"(
WITH sums AS (
  SELECT call, count(*) AS operations, mean(duration_ns) AS mean_ns, total(duration_ns) AS total_ns, total(submit_ns) AS submit_ns, total(worker_ns) AS worker_ns,
         total(queue_ns) AS queue_ns, total(device_ns) AS device_ns, total(unreported_ns) AS unreported_ns, total(other_ns) AS other_ns
  FROM async_phases GROUP BY call
)
SELECT *, submit_ns / nullif(total_ns, 0) AS submit, worker_ns / nullif(total_ns, 0) AS worker,
       queue_ns / nullif(total_ns, 0) AS queue, device_ns / nullif(total_ns, 0) AS device,
       unreported_ns / nullif(total_ns, 0) AS unreported, other_ns / nullif(total_ns, 0) AS other
FROM sums)";

void explain_phases(const SectionRows&, const store::TraceReader&, Section& section) {
  section.notes.push_back(sentence(
      "shares of the time of all; submit: until a device was asked or a worker of the kernel had "
      "it; worker: until that asked a device; unreported: done, but the program could not see it "
      "yet "
      "(io_uring) or had not asked (libaio)"));
}

} // namespace

SectionDefinition async_phases_section() {
  return {.id = "async_phases",
          .ranks = {.report = 130},
          .title = "Asynchronous operations, where their time went",
          .view = "async_phases",
          .sql = kAsyncSql,
          .order = "total_ns DESC, call",
          .rows = 5,
          .columns = kAsyncColumns,
          .add_notes = explain_phases};
}

} // namespace iotrail::output
