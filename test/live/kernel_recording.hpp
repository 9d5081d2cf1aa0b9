// SPDX-License-Identifier: BSD-3-Clause
//
// A recording of one known piece of work by the kernel source alone, and what is in its trace.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "live_recording.hpp"

namespace iotrail::live {

// In a machine of test/vm, where nothing is taken from others.
inline bool is_emulated() {
  return std::getenv("IOTRAIL_VM") != nullptr;
}

// One row of a table, by column; columns of text in `texts`.
struct Row {
  std::map<std::string, std::uint64_t, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> texts;

  std::uint64_t u(std::string_view column) const;
  std::int64_t s(std::string_view column) const;
  const std::string& text(std::string_view column) const;
};

class Recording {
public:
  // Runs `body` in a child that is traced with all that it starts. Its result is the child's exit status.
  static Recording of(std::vector<schema::Layer> layers, const std::function<int()>& body,
                      std::size_t ring_bytes = 0);
  // The same with any other filter; the child's pid is known to `adapt`, which may change the options.
  static Recording of(const std::function<void(capture::SourceOptions&, pid_t)>& adapt,
                      const std::function<int()>& body);

  // What a recorder is asked for; neither: what it records by default.
  struct Choice {
    std::vector<schema::Layer> layers{};
    std::vector<std::string> events{};
    std::uint32_t in_flight_at_once = 0; // as in capture::SourceOptions
    bool operator==(const Choice&) const = default;
  };

  static Recording alone(const Choice& choice, const std::function<int()>& body);

  // As that, by a recorder that goes on for the next recording of the same choice: a test's own rows are those of its child,
  // its account is what came since the recording before. Files and devices are what they were when first seen.
  static Recording among_others(const Choice& choice, const std::function<int()>& body);

  // For tests that compare with IOT_COUNTER_kernel_completion_missed: a request whose completion a machine's own kernel did not
  // report (docs/adr/0007), and that lies idle, is counted when its recording stops.
  static Recording with_missed_completions(const Choice& choice, const std::function<int()>& body) {
    return is_emulated() ? among_others(choice, body) : alone(choice, body);
  }

  // Not empty: the machine does not permit it, and why.
  const std::string& refusal() const { return refusal_; }

  // What serves the event; empty hook: nothing does.
  store::HookReport hook_of(std::string_view event) const;

  pid_t pid() const { return pid_; }
  int status() const { return status_; } // of waitpid
  std::uint64_t produced() const { return manifest_.sources.at(0).produced; }
  std::uint64_t written() const { return manifest_.sources.at(0).written; }
  std::uint64_t lost() const { return manifest_.sources.at(0).lost; }
  std::uint64_t counter(iot_counter counter) const { return counter_of(manifest_, counter); }

  const std::vector<Row>& rows(const std::string& table) const;
  // Rows of `table` whose `column` is `value`.
  std::vector<Row> rows(const std::string& table, std::string_view column,
                        std::uint64_t value) const;
  std::string string(std::uint64_t id) const; // of the table strings; "" for 0
  std::string path(std::uint64_t file) const; // of the table files; "" for 0
  // Rows of `table` whose column `file` is one that has this path.
  std::vector<Row> rows_of_file(const std::string& table, std::string_view path) const;

private:
  struct Lasting;

  static void choose(capture::SourceOptions& options, const Choice& choice);
  static std::unique_ptr<Lasting> start_lasting(const Choice& choice);
  static Lasting& lasting_of(const Choice& choice);
  void read(const std::string& trace);
  void forget_before(std::uint64_t begin_ns);

  std::string refusal_;
  pid_t pid_ = 0;
  int status_ = 0;
  store::Manifest manifest_; // as in the trace
  std::map<std::string, std::vector<Row>> tables_;
  std::map<std::uint64_t, std::string> strings_;
  std::map<std::uint64_t, std::string> paths_;
};

} // namespace iotrail::live

// In a test, of the recording made: whether the machine permitted it, and its kernel has a hook for the event.
#define SKIP_UNLESS_SERVED(recording, event)                                                       \
  do {                                                                                             \
    if (!(recording).refusal().empty())                                                            \
      GTEST_SKIP() << (recording).refusal();                                                       \
    if (const auto hook = (recording).hook_of(event); hook.hook.empty())                           \
      GTEST_SKIP() << "nothing serves " << (event) << ": " << hook.reason;                         \
  } while (false)

// Records in the body of a test, which it leaves where the machine does not serve `event`.
#define RECORD_EVENT(event, ...)                                                                   \
  do {                                                                                             \
    record(__VA_ARGS__);                                                                           \
    SKIP_UNLESS_SERVED(recording_, event);                                                         \
  } while (false)
