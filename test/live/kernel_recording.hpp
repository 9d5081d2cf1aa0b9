// SPDX-License-Identifier: BSD-3-Clause
//
// A recording of one known piece of work by the kernel source alone, and the rows of its trace.
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

// Whether this is a machine of test/vm, where tests take nothing from others.
inline bool is_emulated() {
  return std::getenv("IOTRAIL_VM") != nullptr;
}

// One row of a table, by column; text columns are in `texts`.
struct Row {
  std::map<std::string, std::uint64_t, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> texts;

  std::uint64_t u(std::string_view column) const;
  std::int64_t s(std::string_view column) const;
  const std::string& text(std::string_view column) const;
};

class Recording {
public:
  // Runs `body` in a child that is traced with all its children. The exit status is the result of
  // `body`.
  static Recording of(std::vector<schema::Layer> layers, const std::function<int()>& body,
                      std::size_t ring_bytes = 0);
  // The same with any other filter. `adapt` gets the child's pid and may change the options.
  static Recording of(const std::function<void(capture::SourceOptions&, pid_t)>& adapt,
                      const std::function<int()>& body);

  // What to record; if both lists are empty, the default.
  struct Choice {
    std::vector<schema::Layer> layers{};
    std::vector<std::string> events{};
    std::uint32_t in_flight_at_once = 0; // as in capture::SourceOptions
    bool operator==(const Choice&) const = default;
  };

  static Recording alone(const Choice& choice, const std::function<int()>& body);

  // Like alone(), with a recorder that also serves the next recordings of the same choice. Rows of
  // events are the child's. The account covers the time since the recording before. Files and
  // devices keep their first rows.
  static Recording among_others(const Choice& choice, const std::function<int()>& body);

  // For the body: returns when the recorder has taken what was there to take. False: it does not.
  static bool await_recorder();

  // For tests that compare with IOT_COUNTER_kernel_completion_missed. The kernel of a real machine
  // may report no completion of a request (docs/adr/0007). Such a request counts only when its
  // recording stops.
  static Recording with_missed_completions(const Choice& choice, const std::function<int()>& body) {
    return is_emulated() ? among_others(choice, body) : alone(choice, body);
  }

  // Why the machine does not permit the recording; empty: it does.
  const std::string& refusal() const { return refusal_; }

  // The hook of the event; an empty hook: nothing serves it.
  store::HookReport hook_of(std::string_view event) const;

  pid_t pid() const { return pid_; }
  int status() const { return status_; } // from waitpid
  std::uint64_t produced() const { return manifest_.sources.at(0).produced; }
  std::uint64_t written() const { return manifest_.sources.at(0).written; }
  std::uint64_t lost() const { return manifest_.sources.at(0).lost; }
  std::uint64_t counter(iot_counter counter) const { return counter_of(manifest_, counter); }

  const std::vector<Row>& rows(const std::string& table) const;
  // Rows of `table` with this value in `column`.
  std::vector<Row> rows(const std::string& table, std::string_view column,
                        std::uint64_t value) const;
  std::string string(std::uint64_t id) const; // from the table strings; "" for 0
  std::string path(std::uint64_t file) const; // from the table files; "" for 0
  // Rows of `table` on a file with this path.
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

// In the body of a test: skips it unless the machine permits the recording and has a hook for the
// event.
#define SKIP_UNLESS_SERVED(recording, event)                                                       \
  do {                                                                                             \
    if (!(recording).refusal().empty())                                                            \
      GTEST_SKIP() << (recording).refusal();                                                       \
    if (const auto hook = (recording).hook_of(event); hook.hook.empty())                           \
      GTEST_SKIP() << "nothing serves " << (event) << ": " << hook.reason;                         \
  } while (false)

// In the body of a test: records, and skips the test if the machine does not serve `event`.
#define RECORD_EVENT(event, ...)                                                                   \
  do {                                                                                             \
    record(__VA_ARGS__);                                                                           \
    SKIP_UNLESS_SERVED(recording_, event);                                                         \
  } while (false)
