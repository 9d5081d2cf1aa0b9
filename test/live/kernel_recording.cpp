// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_recording.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "await.hpp"
#include "base/clock.hpp"
#include "capture/kernel/kernel_source.hpp"
#include "shared.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::live {
namespace {

// The number of whole steps of all recorders.
std::atomic<std::uint64_t>& steps() {
  static const Shared<std::atomic<std::uint64_t>> count;
  return *count;
}

void step(capture::Recorder& recorder) {
  recorder.step(monotonic_ns());
  ++steps();
}

// A child that waits before it runs `body`.
struct Child {
  pid_t pid;
  int go;
};

// A child that throws ends: it must not run the tests that follow.
int run_in_child(const std::function<int()>& body) noexcept {
  return body();
}

Child suspend(const std::function<int()>& body) {
  steps(); // now, so that the child has the same
  int go[2];
  IOTRAIL_CHECK(::pipe(go) == 0);
  const pid_t pid = ::fork();
  IOTRAIL_CHECK(pid >= 0);
  if (pid == 0) {
    char start = 0;
    ::close(go[1]);
    const bool is_started = ::read(go[0], &start, 1) == 1;
    ::close(go[0]);
    ::_exit(is_started ? run_in_child(body) : EXIT_FAILURE);
  }
  ::close(go[0]);
  return {pid, go[1]};
}

void end_child(const Child& child) {
  ::close(child.go); // the child reads the end of the file and exits
  ::waitpid(child.pid, nullptr, 0);
}

// The account between two checkpoints.
store::Manifest difference(store::Manifest now, const store::Manifest& before) {
  store::SourceTally& tally = now.sources.at(0);
  const store::SourceTally& earlier = before.sources.at(0);
  tally.produced -= earlier.produced;
  tally.written -= earlier.written;
  tally.lost -= earlier.lost;
  for (const auto& [name, value] : before.counters)
    now.counters[name] -= value;
  return now;
}

std::vector<Row> rows_of(const store::TableInfo& table, const std::vector<store::Column>& columns) {
  std::vector<Row> rows;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const std::string& name = table.columns[at].name;
    if (const auto* numbers = std::get_if<store::Numbers>(&columns[at])) {
      rows.resize(numbers->size());
      for (std::size_t row = 0; row < rows.size(); ++row)
        rows[row].numbers[name] = (*numbers)[row];
    } else if (const auto* texts = std::get_if<store::Texts>(&columns[at])) {
      rows.resize(texts->size());
      for (std::size_t row = 0; row < rows.size(); ++row)
        rows[row].texts[name] = (*texts)[row];
    }
  }
  return rows;
}

// The recorder keeps running, and a kernel thread may be writing a record that counts as produced
// already. It arrives a moment later.
store::Manifest settled_account(capture::Recorder& recorder) {
  store::Manifest account;
  await([&] {
    recorder.step(monotonic_ns());
    auto checkpoint = recorder.checkpoint();
    IOTRAIL_CHECK(checkpoint.has_value());
    account = std::move(*checkpoint);
    const store::SourceTally& source = account.sources.at(0);
    return source.produced == source.written + source.lost;
  });
  return account;
}

// The number of loaded modules with types.
std::size_t loaded_modules() {
  std::error_code none; // without types in this kernel
  const std::filesystem::directory_iterator types("/sys/kernel/btf", none);
  return static_cast<std::size_t>(std::ranges::distance(types));
}

} // namespace

std::uint64_t Row::u(std::string_view column) const {
  const auto found = numbers.find(column);
  if (found != numbers.end())
    return found->second;
  ADD_FAILURE() << "there is no such row, or it has no number " << column;
  return 0;
}

std::int64_t Row::s(std::string_view column) const {
  return static_cast<std::int64_t>(u(column));
}

const std::string& Row::text(std::string_view column) const {
  const auto found = texts.find(column);
  if (found != texts.end())
    return found->second;
  ADD_FAILURE() << "there is no such row, or it has no text " << column;
  static const std::string none;
  return none;
}

Recording Recording::of(std::vector<schema::Layer> layers, const std::function<int()>& body,
                        std::size_t ring_bytes) {
  return of(
      [&](capture::SourceOptions& options, pid_t pid) {
        options.filter.layers = layers;
        options.filter.tree_root = pid;
        options.ring_bytes = ring_bytes;
      },
      body);
}

// The step after the next one begins after this was called.
bool Recording::await_recorder() {
  const std::uint64_t enough = steps() + 2;
  return await([&] { return steps() >= enough; });
}

void Recording::choose(capture::SourceOptions& options, const Choice& choice) {
  options.filter.layers = choice.layers;
  options.filter.events = choice.events;
  options.in_flight_at_once = choice.in_flight_at_once;
}

Recording Recording::alone(const Choice& choice, const std::function<int()>& body) {
  return of(
      [&](capture::SourceOptions& options, pid_t pid) {
        choose(options, choice);
        options.filter.tree_root = pid;
      },
      body);
}

// A recorder that several tests share: loading the source takes longer than a test.
struct Recording::Lasting {
  ScratchDirectory directory;
  std::string trace = directory / "test.iotrail";
  std::unique_ptr<capture::Recorder> recorder; // none: refused
  std::string refusal;
  store::Manifest account{}; // at the last checkpoint
};

std::unique_ptr<Recording::Lasting> Recording::start_lasting(const Choice& choice) {
  auto lasting = std::make_unique<Lasting>();
  capture::SourceOptions options;
  choose(options, choice);
  auto recorder = open_recorder(lasting->trace, capture::make_kernel_source(), options);
  if (!recorder) {
    lasting->refusal = recorder.error().message();
    return lasting;
  }
  lasting->recorder = std::move(*recorder);
  IOTRAIL_CHECK(lasting->recorder->start().has_value());
  lasting->account = *lasting->recorder->checkpoint();
  return lasting;
}

// Keeps the recorder of the last choice, since consecutive tests of a fixture have the same. A
// newly loaded module needs a new recorder.
Recording::Lasting& Recording::lasting_of(const Choice& choice) {
  static Choice last;
  static std::size_t modules = 0;
  static std::unique_ptr<Lasting> lasting;
  if (!lasting || last != choice || modules != loaded_modules()) {
    lasting.reset();
    lasting = start_lasting(choice);
    last = choice;
    modules = loaded_modules();
  }
  return *lasting;
}

Recording Recording::among_others(const Choice& choice, const std::function<int()>& body) {
  Lasting& lasting = lasting_of(choice);
  Recording recording;
  recording.refusal_ = lasting.refusal;
  if (!lasting.recorder)
    return recording;
  capture::Recorder& recorder = *lasting.recorder;
  const Child child = suspend(body);
  recording.pid_ = child.pid;
  const std::uint64_t begin_ns = monotonic_ns();
  IOTRAIL_CHECK(recorder.follow(child.pid).has_value());
  IOTRAIL_CHECK(::write(child.go, "", 1) == 1);
  recording.status_ = wait_for_child(child.pid, [&] { step(recorder); });
  ::close(child.go);
  const store::Manifest account = settled_account(recorder);
  recording.manifest_ = difference(account, lasting.account);
  lasting.account = account;
  recording.read(lasting.trace);
  recording.forget_before(begin_ns);
  return recording;
}

// Keeps rows of dictionaries, whenever they were first seen.
void Recording::forget_before(std::uint64_t begin_ns) {
  for (auto& [table, rows] : tables_)
    if (!schema::find_event(table)->is_dictionary())
      std::erase_if(rows, [&](const Row& row) { return row.u("ts_ns") < begin_ns; });
}

Recording Recording::of(const std::function<void(capture::SourceOptions&, pid_t)>& adapt,
                        const std::function<int()>& body) {
  Recording recording;
  const Child child = suspend(body);
  recording.pid_ = child.pid;
  capture::SourceOptions options;
  adapt(options, child.pid);
  const ScratchDirectory directory;
  const std::string trace = directory / "test.iotrail";
  auto recorder = open_recorder(trace, capture::make_kernel_source(), options);
  if (!recorder) {
    recording.refusal_ = recorder.error().message();
    end_child(child);
    return recording;
  }
  IOTRAIL_CHECK((*recorder)->start().has_value());
  IOTRAIL_CHECK(::write(child.go, "", 1) == 1);
  recording.status_ = wait_for_child(child.pid, [&] { step(**recorder); });
  ::close(child.go);
  IOTRAIL_CHECK((*recorder)->stop({}).has_value());
  recording.manifest_ = (*recorder)->manifest();
  recording.read(trace);
  return recording;
}

void Recording::read(const std::string& trace) {
  auto reader = store::TraceReader::open(trace);
  IOTRAIL_CHECK(reader.has_value());
  for (const store::BlockInfo& block : (*reader)->blocks()) {
    const store::TableInfo* table = (*reader)->table(block.kind);
    IOTRAIL_CHECK(table != nullptr);
    auto columns = (*reader)->read(block);
    IOTRAIL_CHECK(columns.has_value());
    auto& rows = tables_[table->name];
    std::ranges::move(rows_of(*table, *columns), std::back_inserter(rows));
  }
  for (const Row& row : rows("strings"))
    strings_[row.u("string")] = row.text("text");
  for (const Row& row : rows("files"))
    paths_[row.u("file")] = row.text("path");
}

store::HookReport Recording::hook_of(std::string_view event) const {
  const auto found = std::ranges::find(manifest_.hooks, event, &store::HookReport::event);
  return found == manifest_.hooks.end() ? store::HookReport{} : *found;
}

const std::vector<Row>& Recording::rows(const std::string& table) const {
  static const std::vector<Row> none;
  const auto found = tables_.find(table);
  return found == tables_.end() ? none : found->second;
}

std::vector<Row> Recording::rows(const std::string& table, std::string_view column,
                                 std::uint64_t value) const {
  std::vector<Row> wanted;
  for (const Row& row : rows(table))
    if (row.u(column) == value)
      wanted.push_back(row);
  return wanted;
}

std::string Recording::string(std::uint64_t id) const {
  const auto found = strings_.find(id);
  return found == strings_.end() ? "" : found->second;
}

std::string Recording::path(std::uint64_t file) const {
  const auto found = paths_.find(file);
  return found == paths_.end() ? "" : found->second;
}

std::vector<Row> Recording::rows_of_file(const std::string& table, std::string_view path) const {
  std::vector<Row> wanted;
  for (const Row& row : rows(table))
    if (this->path(row.u("file")) == path)
      wanted.push_back(row);
  std::ranges::sort(wanted, {}, [](const Row& row) { return row.u("ts_ns"); });
  return wanted;
}

} // namespace iotrail::live
