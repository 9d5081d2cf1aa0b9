// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the live tests of the app layer: runs a program under the preload source, and reads its
// trace back. The traced program is this test's own executable, started again to run a Child.
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

#include "dictionary_rows.hpp"
#include "live_recording.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::live {

// A function that the traced program runs instead of the tests. Its argument is a scratch
// directory; it returns the exit status.
struct Child {
  Child(const char* name, int (*body)(const std::string& directory));
  // Called by main() of the traced program.
  static int run(std::string_view name, const std::string& directory);
};

struct RunOptions {
  std::size_t ring_bytes = 0;
  std::vector<std::string> events;
  std::function<void(pid_t)> meanwhile; // called after every drain while the program runs
  std::string output;                   // file for its stdout and stderr; empty: the test's own
  std::string work_directory;
  bool is_drained = true; // false: reads nothing from the rings until the program has ended
};

// A finished recording.
class AppRecording {
public:
  // Runs `command` with the source's environment.
  static AppRecording of_command(const std::vector<std::string>& command, RunOptions options = {});
  static AppRecording of_child(const char* child, RunOptions options = {});

  int status() const { return status_; } // as a shell shows it
  pid_t pid() const { return pid_; }
  const std::string directory() const { return scratch_->path().string(); }
  std::string in_directory(std::string_view name) const { return *scratch_ / name; }
  std::uint64_t produced() const { return manifest_.sources.at(0).produced; }
  std::uint64_t written() const { return manifest_.sources.at(0).written; }
  std::uint64_t lost() const { return manifest_.sources.at(0).lost; }
  std::uint64_t counter(iot_counter counter) const { return counter_of(manifest_, counter); }
  std::uint64_t begin_ns() const { return manifest_.begin_ns; }
  std::uint64_t end_ns() const { return manifest_.end_ns; }

  // All events of one kind, in order of time.
  template <class Event> std::vector<Event> all(iot_u16 kind) const {
    std::vector<Event> events;
    for_each_row(kind,
                 [&](const store::TableInfo& table, const std::vector<store::Column>& columns,
                     std::size_t row) { fill(events.emplace_back(), kind, table, columns, row); });
    std::ranges::stable_sort(events, {}, [](const Event& e) { return e.event.ts_ns; });
    return events;
  }

  // Events with this path: of_file() by file, of_path() by the path in the call.
  template <class Event> std::vector<Event> of_file(iot_u16 kind, const std::string& path) const {
    std::vector<Event> found;
    for (const Event& event : all<Event>(kind))
      if (const auto file = files_.find(event.file);
          file != files_.end() && file->second.path == path)
        found.push_back(event);
    return found;
  }
  template <class Event> std::vector<Event> of_path(iot_u16 kind, const std::string& path) const {
    std::vector<Event> found;
    for (const Event& event : all<Event>(kind))
      if (text(event.path) == path)
        found.push_back(event);
    return found;
  }
  template <class Event> std::vector<Event> of_call(iot_u16 kind, iot_u32 call) const {
    std::vector<Event> found;
    for (const Event& event : all<Event>(kind))
      if (event.call == call)
        found.push_back(event);
    return found;
  }

  std::string text(iot_u32 id) const;
  const rows::files& file(iot_u32 id) const { return files_.at(id); }
  const std::vector<rows::processes>& processes() const { return processes_; }

  // Checks the header of an event, and that its span lies within the recording.
  void expect_header(const iot_event& event, std::uint64_t duration_ns) const;

private:
  using OnRow =
      std::function<void(const store::TableInfo&, const std::vector<store::Column>&, std::size_t)>;
  void record(const std::vector<std::string>& command, const RunOptions& options);
  void read_dictionaries();
  void for_each_row(iot_u16 kind, const OnRow& on_row) const;
  static void copy_fields(std::byte* record, iot_u16 kind, const store::TableInfo& table,
                          const std::vector<store::Column>& columns, std::size_t row);
  template <class Event>
  static void fill(Event& event, iot_u16 kind, const store::TableInfo& table,
                   const std::vector<store::Column>& columns, std::size_t row) {
    copy_fields(reinterpret_cast<std::byte*>(&event), kind, table, columns, row);
  }

  std::shared_ptr<ScratchDirectory> scratch_ = std::make_shared<ScratchDirectory>();
  std::shared_ptr<store::TraceReader> reader_;
  int status_ = -1;
  pid_t pid_ = 0;
  store::Manifest manifest_;
  std::map<iot_u32, rows::files> files_;
  std::map<iot_u32, std::string> strings_;
  std::vector<rows::processes> processes_;
};

#define ALL(recording, name) (recording).all<iot_##name>(IOT_KIND_##name)
#define OF_FILE(recording, name, path) (recording).of_file<iot_##name>(IOT_KIND_##name, path)
#define OF_PATH(recording, name, path) (recording).of_path<iot_##name>(IOT_KIND_##name, path)
#define OF_CALL(recording, name, function)                                                         \
  (recording).of_call<iot_##name>(IOT_KIND_##name, IOT_app_call_##function)

// Checks that the recording has lost nothing.
void expect_complete(const AppRecording& recording);

} // namespace iotrail::live
