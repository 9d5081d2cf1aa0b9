// SPDX-License-Identifier: BSD-3-Clause
//
// Watches files: keeps the last reads and writes of each. It records (Recorder) into a trace of its own, which it reads
// into the logs and removes. Another recording begins when files are added or removed, or when the trace has grown. The
// new one begins before the old one ends, so that no event falls between.
//
// One thread drives it: step() repeatedly, then end(). All other calls come from other threads, and wait for that one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "capture/session/recorder.hpp"
#include "watch/file_log.hpp"
#include "watch/trace_log.hpp"
#include "watch/watched_file.hpp"

namespace iotrail::watch {

inline constexpr std::size_t kDefaultEntries = 10;
inline constexpr std::size_t kFilesMost = 1000;

enum class LogCommand : std::uint8_t { start, stop, reset, reset_time };

struct LogState {
  std::string name; // WatchedFile::name()
  std::vector<std::string> paths;
  bool is_enabled = false;
  std::uint64_t zero_ns = 0;
  std::size_t most = 0;
  std::size_t entries = 0;
};

struct LogCopy {
  std::uint64_t zero_ns = 0;
  std::vector<LogEntry> entries; // the oldest first
  std::uint64_t lost = 0;        // events of all watched files since the watcher began
  std::string failure;           // as in WatchStatus
};

struct WatchStatus {
  std::size_t files = 0;
  std::uint64_t recordings = 0; // so far
  std::uint64_t lost = 0;       // events, of all recordings
  std::uint64_t trace_bytes = 0;
  std::string failure; // of the last recording; empty: none
};

class Watcher {
public:
  // Called by the driving thread when recordings begin to fail, as on a full disk. Others begin as soon as they can.
  using OnFailure = std::function<void(const std::string&)>;

  // `directory` is for its traces, and has no others.
  Watcher(std::filesystem::path directory, std::size_t entries_most, OnFailure on_failure);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Drives the recording; returns the time to wait before the next step.
  int step();
  // Ends the recording. Calls that wait fail, and so do later ones.
  void end();

  // `most` 0: the default. Returns the name of the log. Events count from the return on. A path that is watched already
  // keeps its log; another name of a watched file shares it.
  Result<std::string> add(const std::string& path, std::size_t most);
  // Likewise several, by one recording: all of them, or none.
  Result<std::vector<std::string>> add(const std::vector<std::string>& paths, std::size_t most);
  // Its log goes with its last path.
  Result<void> remove(const std::string& path);
  // `name`: of a log, or a path of its file.
  Result<void> command(const std::string& name, LogCommand command);
  Result<LogCopy> log(const std::string& name);
  Result<LogState> state(const std::string& name);
  // `with_entries`: reads the trace to count them. The paths are those that the files have now.
  Result<std::vector<LogState>> list(bool with_entries);
  Result<WatchStatus> status();
  bool has(const std::string& name); // a log of this name

private:
  struct Watched {
    WatchedFile file;
    std::vector<std::string> paths;
    FileLog log;
  };
  // What a user calls a file: the name of its log, or a path, with the file that has it.
  struct Named {
    std::string name;
    std::optional<FileKey> key;
  };
  struct Recording {
    std::filesystem::path trace;
    std::uint64_t from_ns = 0;
    std::uint64_t until_ns = UINT64_MAX; // its events count until then
    std::vector<WatchedFile> files;
  };
  struct Running {
    std::unique_ptr<capture::Recorder> recorder;
    std::shared_ptr<Recording> recording;
  };

  Result<void> on_driver(const std::function<Result<void>()>& work);
  void run_waiting();
  Result<void> record(const std::vector<WatchedFile>& files);
  template <typename Work>
  static auto while_stepping(std::optional<Running>& running, const Work& work);
  Result<Running> begin(const std::vector<WatchedFile>& files);
  void retire(Running old, std::uint64_t until_ns);
  void give_up(const std::string& failure);
  bool renew();
  std::vector<WatchedFile> known_files();
  std::vector<WatchedFile> files_locked() const;
  static Named named(const std::string& name);
  Watched* find_locked(const FileKey& key);
  Watched* find_locked(const Named& named);
  static LogState state_of(const Watched& watched);
  Result<std::shared_ptr<Recording>> flush_current();
  Result<void> read_current();
  void read_ended();
  Result<void> read(const Recording& recording, bool is_over);
  void fold();

  const std::filesystem::path directory_;
  const std::size_t entries_most_;
  const OnFailure on_failure_;

  // Only the driving thread uses these.
  std::optional<Running> running_;
  std::uint64_t next_check_ns_ = 0;
  bool is_failing_ = false; // said already; until a recording has written

  std::mutex changing_; // one add or remove at a time
  std::mutex reading_;  // one thread reads traces at a time; taken before state_
  Writers writers_;     // guarded by reading_: of the recordings that were read to their end

  std::mutex state_; // guards all below
  std::vector<Watched> files_;
  WatchStatus status_;
  std::uint64_t lost_now_ = 0;                   // by the running recording, when it was last read
  std::deque<std::shared_ptr<Recording>> ended_; // not read yet
  std::shared_ptr<Recording> current_;
  bool is_over_ = false;
  struct Waiting {
    std::function<Result<void>()> work;
    std::optional<Result<void>> result;
  };
  std::deque<std::shared_ptr<Waiting>> waiting_;
  std::condition_variable changed_;
  std::thread reader_; // reads recordings that have ended
};

} // namespace iotrail::watch
