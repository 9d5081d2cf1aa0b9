// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_recording.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/clock.hpp"
#include "capture/kernel/kernel_source.hpp"
#include "store/trace_reader.hpp"
#include "store/trace_writer.hpp"

namespace iotrail::live {
namespace {

// A child that does `body` once it is let go.
struct Child {
  pid_t pid;
  int go;
};

Child suspend(const std::function<int()>& body) {
  int go[2];
  IOTRAIL_CHECK(::pipe(go) == 0);
  const pid_t pid = ::fork();
  IOTRAIL_CHECK(pid >= 0);
  if (pid == 0) {
    char start = 0;
    ::close(go[1]);
    const bool is_started = ::read(go[0], &start, 1) == 1;
    ::close(go[0]);
    ::_exit(is_started ? body() : EXIT_FAILURE);
  }
  ::close(go[0]);
  return {pid, go[1]};
}

// Drains until the child has ended.
int drain_until_end(capture::Source& source, store::TraceWriter& writer, pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    source.drain(writer);
    ::usleep(1000);
  }
  return status;
}

void end_child(const Child& child) {
  ::close(child.go); // it reads nothing and ends
  ::waitpid(child.pid, nullptr, 0);
}

std::filesystem::path new_directory() {
  std::string pattern = std::filesystem::temp_directory_path() / "iotrail-live-XXXXXX";
  IOTRAIL_CHECK(::mkdtemp(pattern.data()) != nullptr);
  return pattern;
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

} // namespace

std::uint64_t Row::u(std::string_view column) const {
  const auto found = numbers.find(column);
  IOTRAIL_CHECK(found != numbers.end());
  return found->second;
}

std::int64_t Row::s(std::string_view column) const {
  return static_cast<std::int64_t>(u(column));
}

const std::string& Row::text(std::string_view column) const {
  const auto found = texts.find(column);
  IOTRAIL_CHECK(found != texts.end());
  return found->second;
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

Recording Recording::of(const std::function<void(capture::SourceOptions&, pid_t)>& adapt,
                        const std::function<int()>& body) {
  Recording recording;
  const Child child = suspend(body);
  recording.pid_ = child.pid;
  capture::SourceOptions options;
  adapt(options, child.pid);
  const auto source = capture::make_kernel_source();
  if (Result<void> opened = source->open(options); !opened) {
    recording.refusal_ = opened.error().message();
    end_child(child);
    return recording;
  }
  recording.hooks_ = source->hooks();
  const std::filesystem::path directory = new_directory();
  const std::string trace = directory / "test.iotrail";
  store::Manifest manifest;
  manifest.begin_ns = monotonic_ns();
  auto writer = store::TraceWriter::create(trace, manifest);
  IOTRAIL_CHECK(writer.has_value());
  const Result<void> started = source->start();
  IOTRAIL_CHECK(started.has_value());

  IOTRAIL_CHECK(::write(child.go, "", 1) == 1);
  recording.status_ = drain_until_end(*source, **writer, child.pid);
  ::close(child.go);
  IOTRAIL_CHECK(source->stop().has_value());
  while (source->drain(**writer) != 0) {
  }
  recording.produced_ = source->produced();
  recording.counters_ = source->counters();
  manifest.state = store::State::COMPLETE;
  IOTRAIL_CHECK((*writer)->finish(manifest).has_value());
  for (const auto& [kind, count] : (*writer)->stats().rows)
    recording.written_ += count;
  recording.read(trace);
  std::filesystem::remove_all(directory);
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
  const auto found = std::ranges::find(hooks_, event, &store::HookReport::event);
  return found == hooks_.end() ? store::HookReport{} : *found;
}

std::uint64_t Recording::lost() const {
  std::uint64_t lost = 0;
  for (const capture::CounterValue& row : counters_)
    if (schema::find_counter(row.counter)->severity == schema::Severity::loss)
      lost += row.value;
  return lost;
}

std::uint64_t Recording::counter(io_counter counter) const {
  std::uint64_t sum = 0;
  for (const capture::CounterValue& row : counters_)
    sum += row.counter == counter ? row.value : 0;
  return sum;
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
