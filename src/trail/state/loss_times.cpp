// SPDX-License-Identifier: BSD-3-Clause
#include "trail/state/loss_times.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "capture/request/request.hpp"
#include "schema.hpp"
#include "store/reader/event_stream.hpp"

namespace iotrail::trail {

namespace {

constexpr std::uint32_t kAnyLayer = 0;

// The effect of a counter of schema/stats.def on the engine.
enum class LossMeaning {
  nothing,    // no event that the engine reads
  missing,    // events are missing from then on
  timeless,   // likewise, but possibly from any earlier time on
  completion, // the end of a request is missing, which changes nothing in the cache
};

LossMeaning meaning_of(std::uint64_t counter) {
  switch (counter) {
  case IOT_COUNTER_kernel_completion_missed:
  case IOT_COUNTER_kernel_request_untracked:
    return LossMeaning::completion;
  case IOT_COUNTER_kernel_recursion:
  case IOT_COUNTER_kernel_span_lost:
  case IOT_COUNTER_kernel_span_unfinished:
    return LossMeaning::timeless;
  case IOT_COUNTER_kernel_file_unknown: // the event is there, but its file is unknown
  case IOT_COUNTER_kernel_file_forgotten:
    return LossMeaning::missing;
  case IOT_COUNTER_kernel_journal_untracked:
  case IOT_COUNTER_kernel_journal_unknown:
  case IOT_COUNTER_kernel_rpc_untracked:
  case IOT_COUNTER_kernel_connection_untracked:
  case IOT_COUNTER_kernel_connection_unknown:
  case IOT_COUNTER_kernel_connection_missed:
    return LossMeaning::nothing;
  default:
    break;
  }
  const auto row = std::ranges::find(schema::kCounters, counter, &schema::Counter::id);
  if (row == std::end(schema::kCounters))
    return LossMeaning::missing;
  if (row->source == IOT_source_preload || row->source == IOT_source_snapshot ||
      row->source == IOT_source_fuse)
    return LossMeaning::nothing;
  return row->severity == schema::Severity::loss || row->severity == schema::Severity::gap
             ? LossMeaning::missing
             : LossMeaning::nothing;
}

void note_counter(LossTimes& times, std::uint64_t counter, std::uint32_t layer,
                  std::uint64_t from_ns) {
  switch (meaning_of(counter)) {
  case LossMeaning::nothing:
    return;
  case LossMeaning::missing:
    return times.note(layer, from_ns);
  case LossMeaning::timeless:
    return times.note(kAnyLayer, 0);
  case LossMeaning::completion:
    times.are_completions_missed = true;
    return;
  }
}

// The counters with located increases in the table.
std::set<std::uint64_t> note_table(LossTimes& times, const store::TraceReader& trace,
                                   bool are_calls_of_vfs) {
  std::set<std::uint64_t> located;
  const store::TableInfo* table = trace.table(IOT_KIND_losses);
  const int from = table ? table->column("from_ns") : -1;
  const int counter = table ? table->column("counter") : -1;
  const int layer = table ? table->column("layer") : -1;
  if (from < 0 || counter < 0 || layer < 0)
    return located;
  store::EventStream losses(trace, std::vector<iot_u16>{IOT_KIND_losses});
  while (losses.next()) {
    const auto number = [&](int column) { return losses.number(static_cast<std::size_t>(column)); };
    located.insert(number(counter));
    if (number(layer) != IOT_LAYER_vfs || are_calls_of_vfs)
      note_counter(times, number(counter), static_cast<std::uint32_t>(number(layer)), number(from));
  }
  return located;
}

} // namespace

void LossTimes::note(std::uint32_t layer, std::uint64_t from_ns) {
  const auto note_in = [&](std::uint64_t& time) { time = std::min(time, from_ns); };
  switch (layer) {
  case IOT_LAYER_syscall:
  case IOT_LAYER_async:
  case IOT_LAYER_vfs:
    return note_in(calls_ns);
  case IOT_LAYER_cache:
    return note_in(pages_ns);
  case IOT_LAYER_block:
    return note_in(blocks_ns);
  case IOT_LAYER_app:
  case IOT_LAYER_fs:
  case IOT_LAYER_device:
  case IOT_LAYER_fault:
  case IOT_LAYER_memory:
  case IOT_LAYER_net:
  case IOT_LAYER_sched:
  case IOT_LAYER_snapshot:
  case IOT_LAYER_fuse:
    return;
  default:
    note_in(calls_ns);
    note_in(pages_ns);
    note_in(blocks_ns);
  }
}

std::uint64_t LossTimes::dirty_ns() const {
  return std::min({calls_ns, pages_ns, blocks_ns});
}

// Whether calls of recorded tasks are missing on purpose. Older traces do not have their request: any filter may be one of calls.
static bool excludes_calls(const store::Manifest& manifest) {
  if (manifest.sample_of != 0 || manifest.left_out() != 0)
    return true;
  const auto request = capture::request_from_json(manifest.request.json);
  if (!request)
    return !manifest.filters.empty();
  const std::vector<std::string>& events = request->filter.events;
  const bool lacks_writes =
      !events.empty() && std::ranges::find(events, "syscall_write") == events.end();
  return lacks_writes || request->filter.filters_operations();
}

LossTimes find_loss_times(const store::TraceReader& trace, bool are_calls_of_vfs) {
  LossTimes times;
  // After a kill of the recorder, tables end at different times, and its buffered events are not
  // counted.
  if (trace.manifest().state != store::State::COMPLETE)
    times.note(kAnyLayer, 0);
  // Excluded calls may have written bytes that then seem to be written by others.
  if (excludes_calls(trace.manifest()))
    for (const iot_u32 layer : {IOT_LAYER_syscall, IOT_LAYER_cache})
      times.note(layer, 0);
  const std::set<std::uint64_t> located = note_table(times, trace, are_calls_of_vfs);
  for (const auto& [name, count] : trace.manifest().counters) {
    const auto row = std::ranges::find(schema::kCounters, name, &schema::Counter::name);
    const std::uint64_t counter = row == std::end(schema::kCounters) ? 0 : row->id;
    if (count != 0 && !located.contains(counter))
      note_counter(times, counter, kAnyLayer, 0);
  }
  return times;
}

} // namespace iotrail::trail
