// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/recorder.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/ranges.h>

#include "base/clock.hpp"
#include "base/process.hpp"
#include "capture/session/machine/dirty_limits.hpp"
#include "capture/session/own_cost.hpp"
#include "store/reader/repository.hpp"

#ifndef IOTRAIL_VERSION
#error "the build passes IOTRAIL_VERSION"
#endif

namespace iotrail::capture {
namespace {

// Rings hold at least 60 ms of a million events a second. The recorder drains each millisecond
// while many events arrive, else every four. That leaves room for a machine that makes the recorder
// wait. One wake-up costs as much as 40 events.
constexpr int kBusyWaitMs = 1;
constexpr int kCalmWaitMs = 4;
constexpr std::size_t kRecordBytes = 128; // maximum size in a ring
constexpr std::size_t kFewRecords = 2000;
constexpr std::size_t kFewOfRing = 16; // a small ring counts as full earlier: at this part of it
constexpr std::uint64_t kSampleIntervalNs = 100'000'000; // of loss counters, limits and memory
constexpr std::uint64_t kShowIntervalNs = 500'000'000;   // of the account, to those who look on
constexpr int kDrainRoundsAtEnd = 1000;
constexpr std::size_t kStillRunningMost = 1000; // the manifest names at most this many

store::Manifest new_manifest(const RecorderOptions& options) {
  store::Manifest manifest;
  manifest.iotrail_version = IOTRAIL_VERSION;
  manifest.command = options.command;
  if (const std::vector<pid_t>& pids = options.source.filter.pids;
      manifest.command.empty() && !pids.empty())
    manifest.command = command_of(pids.front());
  if (!options.source.keeps_arguments && !manifest.command.empty())
    manifest.command = {without_arguments(manifest.command.front())};
  utsname system{};
  ::uname(&system);
  manifest.host = system.nodename;
  manifest.kernel = system.release;
  manifest.machine = system.machine;
  manifest.cpu_count = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  manifest.recorder_pid = ::getpid();
  for (schema::Layer layer : options.source.filter.layers)
    manifest.layers.emplace_back(schema::layer_name(static_cast<iot_u32>(layer)));
  manifest.request.json = options.request;
  manifest.filters = options.filters_text;
  manifest.sample_of = options.source.filter.sample_of;
  manifest.limits = options.limits_text;
  manifest.tags = options.tags;
  return manifest;
}

bool serves(const Source& source, iot_u16 kind) {
  return source.name() == schema::value_name("source", schema::source_of(IOT_LAYER_OF(kind)));
}

std::uint64_t rows_of(const Source& source, const std::map<iot_u16, std::uint64_t>& rows_by_kind) {
  std::uint64_t sum = 0;
  for (const auto& [kind, rows] : rows_by_kind)
    if (serves(source, kind))
      sum += rows;
  return sum;
}

} // namespace

RecorderOptions recorder_options(const RecordingRequest& request) {
  RecorderOptions options;
  options.trace = request.trace;
  options.source.filter = request.filter;
  options.source.ring_bytes = request.ring_bytes;
  options.source.aggregates.interval_ns = request.aggregation.interval_ns;
  options.source.aggregates.rows = request.aggregation.rows;
  options.limits = request.limits;
  options.source.keeps_arguments = !request.drop_arguments;
  options.command = request.command;
  options.request = kept_json(request);
  options.tags = request.tags;
  return options;
}

int wait_ms(Step last) {
  return last == Step::busy ? kBusyWaitMs : kCalmWaitMs;
}

Recorder::Recorder(RecorderOptions options)
    : options_(std::move(options)), manifest_(new_manifest(options_)) {}

Result<std::unique_ptr<Recorder>> Recorder::open(RecorderOptions options,
                                                 std::vector<std::unique_ptr<Source>> sources) {
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(options)));
  if (Result<void> opened = recorder->open_sources(std::move(sources)); !opened)
    return std::unexpected(opened.error());
  return recorder;
}

Result<void> Recorder::open_sources(std::vector<std::unique_ptr<Source>> sources) {
  options_.source.tasks = &tasks_;
  if (!options_.source.keeps_arguments)
    tasks_.drop_arguments();
  for (auto& source : sources) {
    if (Result<void> opened = source->open(options_.source); opened) {
      std::ranges::copy(source->hooks(), std::back_inserter(manifest_.hooks));
      manifest_.ring_memory_bytes += source->ring_memory_bytes();
      std::ranges::copy(source->own_files(), std::back_inserter(options_.source.own_files));
      sources_.push_back(std::move(source));
    } else {
      std::ranges::copy(store::refused(source->hooks(), opened.error()),
                        std::back_inserter(manifest_.hooks));
      refusals_.push_back({std::string(source->name()), opened.error()});
    }
  }
  if (!sources_.empty())
    return check_layers();
  if (refusals_.empty())
    return fail("nothing to record", "no source serves the layers asked for");
  return std::unexpected(refusals_.back().error);
}

// An empty recording is an error, not an empty trace.
Result<void> Recorder::check_layers() const {
  const std::vector<std::string> refused = manifest_.layers_refused();
  if (refused.empty() || refused.size() < manifest_.layers.size())
    return {};
  const auto hook = std::ranges::find_if(
      manifest_.hooks, [](const store::HookReport& report) { return !report.remedy.empty(); });
  const bool has_remedy = hook != manifest_.hooks.end();
  return fail(fmt::format("cannot record layer {}", fmt::join(refused, ", ")),
              "this machine allows none of its hooks",
              fmt::format("{}`iotrail doctor` says what each event needs.",
                          has_remedy ? hook->remedy + "; " : ""));
}

Result<void> Recorder::start() {
  IOTRAIL_CHECK(!writer_);
  // Loading the sources has taken its time; the recording begins here.
  cpu_begin_ns_ = cpu_time_ns();
  manifest_.begin_ns = monotonic_ns();
  manifest_.monotonic_to_real_ns = static_cast<std::int64_t>(realtime_ns() - manifest_.begin_ns);
  losses_.emplace(manifest_.begin_ns);
  Result<void> started = start_writer_and_sources();
  if (!started)
    discard();
  return started;
}

Result<void> Recorder::start_writer_and_sources() {
  auto writer =
      store::TraceWriter::create(options_.trace, manifest_, {.observer = options_.observer});
  if (!writer)
    return std::unexpected(writer.error());
  writer_ = std::move(*writer);
  for (const auto& source : sources_)
    if (Result<void> started = source->start(); !started)
      return started;
  disks_ = read_disk_counters();
  manifest_.state = store::State::RUNNING;
  return writer_->write_manifest(manifest_);
}

std::vector<std::string> Recorder::child_environment() const {
  std::vector<std::string> environment;
  for (const auto& source : sources_)
    std::ranges::copy(source->child_environment(), std::back_inserter(environment));
  return environment;
}

Step Recorder::step(std::uint64_t now_ns) {
  IOTRAIL_CHECK(writer_);
  if (writer_->is_stalled()) // what arises waits in the rings, which count what they lose
    return has_reached_time(now_ns) ? Step::ended : Step::idle;
  const Step step = found(drain());
  writer_->tick(now_ns);
  if (has_reached_size())
    return Step::ended;
  if (now_ns < next_sample_ns_)
    return step;
  next_sample_ns_ = now_ns + kSampleIntervalNs;
  sample(monotonic_ns()); // not now_ns: draining took time, in which events may have been lost
  show_sample(now_ns);
  return has_ended(now_ns) ? Step::ended : step;
}

Step Recorder::found(std::size_t records) const {
  if (records == 0)
    return Step::idle;
  const std::size_t ring_bytes = options_.source.ring_bytes;
  const std::size_t few =
      ring_bytes == 0 ? kFewRecords : std::min(kFewRecords, ring_bytes / kRecordBytes / kFewOfRing);
  return records < few ? Step::calm : Step::busy;
}

std::size_t Recorder::drain() {
  std::size_t records = 0;
  for (const auto& source : sources_)
    source->look();
  for (const auto& source : sources_)
    source->name_files(*writer_);
  for (const auto& source : sources_)
    records += source->drain(*writer_);
  return records;
}

// Bounded: a source may get events for ever while its programs run.
void Recorder::drain_to_the_end() {
  for (int round = 0; drain() > 0 && round < kDrainRoundsAtEnd; ++round)
    writer_->wait_while_stalled();
}

Result<void> Recorder::follow(pid_t pid) {
  Result<void> result;
  for (const auto& source : sources_)
    if (Result<void> followed = source->follow(pid); !followed)
      result = followed;
  return result;
}

Result<store::Manifest> Recorder::checkpoint() {
  IOTRAIL_CHECK(writer_);
  drain_to_the_end();
  if (Result<void> flushed = writer_->flush(); !flushed)
    return std::unexpected(flushed.error());
  store::Manifest now = manifest_;
  account(now);
  return now;
}

void Recorder::sample(std::uint64_t to_ns) {
  losses_->sample(sources_, *writer_, to_ns);
  fuse_daemons_.look();
  manifest_.recorder_memory_bytes = std::max(manifest_.recorder_memory_bytes, own_memory_bytes());
}

void Recorder::show_sample(std::uint64_t now_ns) {
  if (!options_.on_sample || now_ns < next_shown_ns_)
    return;
  next_shown_ns_ = now_ns + kShowIntervalNs;
  store::Manifest now = manifest_;
  account(now);
  now.recorder_cpu_ns = cpu_time_ns() - cpu_begin_ns_;
  options_.on_sample(now);
}

// Checked at each step: a busy program fills a megabyte between two samples.
bool Recorder::has_reached_size() {
  if (options_.limits.size_bytes == 0 || !writer_->has_reached(options_.limits.size_bytes))
    return false;
  manifest_.stop_reason = "size limit";
  return true;
}

bool Recorder::has_reached_time(std::uint64_t now_ns) {
  const std::uint64_t limit_ns = options_.limits.time_ns;
  if (limit_ns == 0 || now_ns - manifest_.begin_ns < limit_ns)
    return false;
  manifest_.stop_reason = "time limit";
  return true;
}

bool Recorder::has_ended(std::uint64_t now_ns) {
  const Limits& limits = options_.limits;
  if (has_reached_time(now_ns))
    return true;
  if (limits.until_sources_end && std::ranges::all_of(sources_, &Source::has_ended))
    manifest_.stop_reason = "all is recorded";
  else if (const Error* failure = writer_->failure(); failure != nullptr)
    manifest_.stop_reason = failure->line();
  else
    return false;
  return true;
}

Result<void> Recorder::stop(const End& end) {
  IOTRAIL_CHECK(writer_);
  // While all requests are still recorded, so that only the begin has some that are not.
  manifest_.disks =
      report_disks(disks_, read_disk_counters(), options_.source.filter, records_requests());
  const Result<void> stopped = stop_sources();
  if (!stopped) {
    manifest_.state = store::State::ERROR;
    manifest_.stop_reason = stopped.error().line();
  }
  const Result<void> closed = close_trace(end);
  sources_.clear();
  writer_.reset();
  return stopped ? closed : stopped;
}

std::vector<std::string> Recorder::still_running() const {
  const Filter& filter = options_.source.filter;
  return filter.tree_root != 0 || !filter.pids.empty() ? tasks_.running()
                                                       : std::vector<std::string>();
}

Result<void> Recorder::close_trace(const End& end) {
  manifest_.end_ns = monotonic_ns();
  sample(manifest_.end_ns);
  // A failed flush is in the writer's failure(); account() counts the lost rows.
  (void)writer_->flush();
  account(manifest_);
  for (const auto& source : sources_)
    std::ranges::copy(source->not_followed(), std::back_inserter(manifest_.not_followed));
  for (const auto& source : sources_)
    std::ranges::copy(source->unsupported_file_systems(),
                      std::back_inserter(manifest_.unsupported_file_systems));
  manifest_.tags.merge(fuse_daemons_.tags());
  manifest_.tags.merge(strict_dirty_limits(read_mounts()));
  manifest_.still_running = still_running();
  if (manifest_.still_running.size() > kStillRunningMost)
    manifest_.still_running.resize(kStillRunningMost);
  manifest_.recorder_cpu_ns = cpu_time_ns() - cpu_begin_ns_;
  if (manifest_.stop_reason.empty())
    manifest_.stop_reason = end.reason;
  manifest_.command_status = end.command_status;
  manifest_.command_user_ns = end.command_cpu.user_ns;
  manifest_.command_system_ns = end.command_cpu.system_ns;
  if (options_.on_sample)
    options_.on_sample(manifest_);
  Result<void> finished = writer_->finish(manifest_);
  if (!finished && writer_->failure() == nullptr)
    return finished;
  return writer_->check_place();
}

// Stops every source, even if one fails; then drains their rings.
Result<void> Recorder::stop_sources() {
  Result<void> result;
  for (const auto& source : sources_)
    if (Result<void> stopped = source->stop(); !stopped)
      result = stopped;
  drain_to_the_end();
  tasks_.decide_unseen(monotonic_ns());
  return result;
}

// Every event is either in the trace or counted as lost. If the numbers do not add up, that is a
// bug, and shown.
void Recorder::account(store::Manifest& manifest) const {
  const store::WriterStats stats = writer_->stats();
  manifest.ring_memory_bytes = 0; // rings have got their memory as they were used
  for (const auto& source : sources_) {
    manifest.ring_memory_bytes += source->ring_memory_bytes();
    store::SourceTally tally{.name = std::string(source->name()),
                             .produced = source->produced() - source->left_out(),
                             .written = rows_of(*source, stats.rows),
                             .lost = rows_of(*source, stats.rows_failed),
                             .summed_up = source->adds_up() ? stats.summed_up : 0,
                             .left_out = source->left_out()};
    tally.written += tally.summed_up;
    tally.lost += source->adds_up() ? stats.summed_up_failed : 0;
    for (const CounterValue& counter : source->counters()) {
      const schema::Counter* row = schema::find_counter(counter.counter);
      IOTRAIL_CHECK(row != nullptr);
      if (row->severity == schema::Severity::loss)
        tally.lost += counter.value;
      if (counter.value != 0)
        manifest.counters[std::string(row->name)] += counter.value;
    }
    manifest.sources.push_back(tally);
  }
}

// `stat` adds requests up, by no device.
bool Recorder::records_requests() const {
  const std::string_view event = schema::find_event(IOT_KIND_block_complete)->name;
  return options_.source.aggregates.interval_ns == 0 &&
         std::ranges::any_of(manifest_.hooks, [&](const store::HookReport& hook) {
           return hook.event == event && !hook.hook.empty();
         });
}

void Recorder::discard() {
  sources_.clear();
  if (!writer_)
    return;
  writer_.reset();
  (void)store::remove_trace(options_.trace, true); // start() made it, and no reader knows it
}

} // namespace iotrail::capture
