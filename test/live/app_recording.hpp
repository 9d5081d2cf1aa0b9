// SPDX-License-Identifier: BSD-3-Clause
//
// What the live tests of the app layer share: a program is run under the preload source, its trace is read back, and
// the test looks at the events. A traced program is this test's own executable, started again to run a Child.
#pragma once

#include <sys/types.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "capture/source.hpp"
#include "rows.hpp"
#include "store/trace_reader.hpp"

namespace iotrail::live {

class ScratchDirectory {
public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

// A function that the traced program runs instead of the tests; its argument is a scratch directory. What it returns
// is the exit status.
struct Child {
  Child(const char* name, int (*body)(const std::string& directory));
  static int run(std::string_view name,
                 const std::string& directory); // of the traced program's main()
};

struct RunOptions {
  std::size_t ring_bytes = 0;
  std::vector<std::string> events;
  std::function<void(pid_t)> meanwhile; // called after every drain while the program runs
  std::string output;                   // file for its stdout and stderr; empty: as the test's
  std::string work_directory;
  bool is_drained = true; // false: nothing is read from the rings before the program has ended
};

// One recording, finished.
class AppRecording {
public:
  // `command` is executed with the source's environment.
  static AppRecording of_command(const std::vector<std::string>& command, RunOptions options = {});
  static AppRecording of_child(const char* child, RunOptions options = {});

  int status() const { return status_; } // as a shell shows it
  pid_t pid() const { return pid_; }
  const std::string directory() const { return scratch_->path().string(); }
  std::string in_directory(std::string_view name) const { return *scratch_ / name; }
  std::uint64_t produced() const { return produced_; }
  std::uint64_t written() const { return written_; }
  std::uint64_t counter(io_counter counter) const { return counters_.at(counter); }
  std::uint64_t lost() const; // counters of severity loss
  std::uint64_t begin_ns() const { return begin_ns_; }
  std::uint64_t end_ns() const { return end_ns_; }

  // All events of one kind, in order of time.
  template <class Event> std::vector<Event> all(io_u16 kind) const {
    std::vector<Event> events;
    for_each_row(kind,
                 [&](const store::TableInfo& table, const std::vector<store::Column>& columns,
                     std::size_t row) { fill(events.emplace_back(), kind, table, columns, row); });
    std::ranges::stable_sort(events, {}, [](const Event& e) { return e.event.ts_ns; });
    return events;
  }

  // Those whose file is `path`, or whose path as given is.
  template <class Event> std::vector<Event> of_file(io_u16 kind, const std::string& path) const {
    std::vector<Event> found;
    for (const Event& event : all<Event>(kind))
      if (const auto file = files_.find(event.file);
          file != files_.end() && file->second.path == path)
        found.push_back(event);
    return found;
  }
  template <class Event> std::vector<Event> of_path(io_u16 kind, const std::string& path) const {
    std::vector<Event> found;
    for (const Event& event : all<Event>(kind))
      if (text(event.path) == path)
        found.push_back(event);
    return found;
  }
  template <class Event> std::vector<Event> of_call(io_u16 kind, io_u32 call) const {
    std::vector<Event> found;
    for (const Event& event : all<Event>(kind))
      if (event.call == call)
        found.push_back(event);
    return found;
  }

  std::string text(io_u32 id) const;
  const rows::files& file(io_u32 id) const { return files_.at(id); }
  const std::vector<rows::processes>& processes() const { return processes_; }

  // The fields of every event's header, and that the span lies within the recording.
  void expect_header(const io_event& event, std::uint64_t duration_ns) const;

private:
  using OnRow =
      std::function<void(const store::TableInfo&, const std::vector<store::Column>&, std::size_t)>;
  void record(const std::vector<std::string>& command, const RunOptions& options);
  void read_dictionaries();
  void for_each_row(io_u16 kind, const OnRow& on_row) const;
  static void copy_fields(std::byte* record, io_u16 kind, const store::TableInfo& table,
                          const std::vector<store::Column>& columns, std::size_t row);
  template <class Event>
  static void fill(Event& event, io_u16 kind, const store::TableInfo& table,
                   const std::vector<store::Column>& columns, std::size_t row) {
    copy_fields(reinterpret_cast<std::byte*>(&event), kind, table, columns, row);
  }

  std::shared_ptr<ScratchDirectory> scratch_ = std::make_shared<ScratchDirectory>();
  std::shared_ptr<store::TraceReader> reader_;
  int status_ = -1;
  pid_t pid_ = 0;
  std::uint64_t produced_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t end_ns_ = 0;
  std::map<io_counter, std::uint64_t> counters_;
  std::map<io_u32, rows::files> files_;
  std::map<io_u32, std::string> strings_;
  std::vector<rows::processes> processes_;
};

#define ALL(recording, name) (recording).all<io_##name>(IO_KIND_##name)
#define OF_FILE(recording, name, path) (recording).of_file<io_##name>(IO_KIND_##name, path)
#define OF_PATH(recording, name, path) (recording).of_path<io_##name>(IO_KIND_##name, path)
#define OF_CALL(recording, name, function)                                                         \
  (recording).of_call<io_##name>(IO_KIND_##name, IO_app_call_##function)

// The accounts of a recording that lost nothing.
void expect_complete(const AppRecording& recording);

} // namespace iotrail::live
