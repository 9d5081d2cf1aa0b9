// SPDX-License-Identifier: BSD-3-Clause
#include "report/async_section.hpp"

namespace iotrail::output {

namespace {

constexpr SectionColumn kAsyncColumns[] = {
    {.title = "call", .name = "call"},
    {.title = "ended", .name = "operations", .show = Show::count, .is_sum = true},
    {.title = "mean", .name = "mean_ns", .show = Show::duration, .rank = 2},
    {.title = "submit", .name = "submit", .show = Show::share},
    {.title = "worker", .name = "worker", .show = Show::share, .rank = 1},
    {.title = "queue", .name = "queue", .show = Show::share},
    {.title = "device", .name = "device", .show = Show::share},
    {.title = "untold", .name = "untold", .show = Show::share},
    {.title = "other", .name = "other", .show = Show::share},
};
constexpr std::string_view kAsyncSql = R"(
WITH sums AS (
  SELECT call, count(*) AS operations, mean(duration_ns) AS mean_ns, total(duration_ns) AS total_ns, total(submit_ns) AS submit_ns, total(worker_ns) AS worker_ns,
         total(queue_ns) AS queue_ns, total(device_ns) AS device_ns, total(untold_ns) AS untold_ns, total(other_ns) AS other_ns
  FROM async_phases GROUP BY call
)
SELECT *, submit_ns / nullif(total_ns, 0) AS submit, worker_ns / nullif(total_ns, 0) AS worker,
       queue_ns / nullif(total_ns, 0) AS queue, device_ns / nullif(total_ns, 0) AS device,
       untold_ns / nullif(total_ns, 0) AS untold, other_ns / nullif(total_ns, 0) AS other
FROM sums)";

void explain_columns(const SmallResult&, const store::TraceReader&, Sink& sink, std::size_t width) {
  print_wrapped("shares of the time of all; submit: until a device was asked or a worker of the "
                "kernel had it; worker: until that asked a device; untold: done, but the program "
                "could not see it yet (io_uring) or had not asked (libaio)",
                sink, width);
}

} // namespace

Section async_section() {
  return {.name = "async_phases",
          .title = "Asynchronous operations, where their time went",
          .view = "async_phases",
          .sql = kAsyncSql,
          .order = "total_ns DESC, call",
          .rows = 5,
          .columns = kAsyncColumns,
          .add_notes = explain_columns};
}

} // namespace iotrail::output
