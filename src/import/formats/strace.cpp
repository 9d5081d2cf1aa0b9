// SPDX-License-Identifier: BSD-3-Clause
#include <csignal>
#include <cstring>
#include <string>
#include <unordered_map>

#include "import/descriptors.hpp"
#include "import/import_format.hpp"
#include "import/numbers.hpp"
#include "import/strace_arguments.hpp"
#include "import/strace_line.hpp"

namespace iotrail::import {
namespace {

constexpr std::size_t kTasksMost = 1U << 16U;
constexpr std::string_view kUnfinished = "<unfinished ...>";
constexpr std::string_view kResumed = " resumed>";

// A call that another task interrupted on the screen: its begin comes before its end.
struct StraceBegin {
  std::uint64_t at_ns;
  std::string text;
};

bool begins_strace_event(std::string_view rest) {
  if (rest.starts_with("<... ") || rest.starts_with("+++ ") || rest.starts_with("--- "))
    return true;
  const std::size_t end = rest.find('(');
  return end != 0 && end != std::string_view::npos &&
         rest.substr(0, end).find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") ==
             std::string_view::npos;
}

// Of the first lines, one is enough: others may be messages of strace.
bool is_strace(std::string_view head, std::string_view) {
  constexpr std::size_t kLines = 20;
  for (std::size_t i = 0; i < kLines && !head.empty(); ++i) {
    const std::string_view text = head.substr(0, head.find('\n'));
    if (const auto line = strace_line(text); line && begins_strace_event(line->rest))
      return true;
    head.remove_prefix(std::min(text.size() + 1, head.size()));
  }
  return false;
}

std::optional<std::uint64_t> strace_time(std::string_view text) {
  const auto line = strace_line(text);
  return line ? std::optional(line->at_ns) : std::nullopt;
}

const schema::Syscall* syscall_of_name(std::string_view name) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, const schema::Syscall*> by_name;
    for (const schema::Syscall& syscall : schema::kSyscalls)
      by_name.emplace(syscall.name, &syscall);
    return by_name;
  }();
  const auto found = kByName.find(name);
  return found == kByName.end() ? nullptr : found->second;
}

class StraceReader {
public:
  explicit StraceReader(TraceBuilder& trace) : trace_(trace) {}

  void take(Input& input, std::string_view text) {
    auto line = strace_line(text);
    if (!line || !begins_strace_event(line->rest)) {
      if (!text.starts_with("strace: ") && !text.empty())
        trace_.malformed(input, input.was_cut() ? "the line is too long"
                                                : "no line of strace with a time (-ttt)");
      return;
    }
    if (line->tid == 0) // -ff: the file is named after the task
      line->tid = to_number<std::uint32_t>(
                      std::string_view(input.path()).substr(input.path().rfind('.') + 1))
                      .value_or(0);
    if (line->rest.starts_with("+++ "))
      return end_task(*line);
    if (line->rest.starts_with("--- "))
      return trace_.left_out("signals");
    take_call(input, *line);
  }

private:
  void take_call(const Input& input, StraceLine line) {
    std::string whole;
    if (line.rest.starts_with("<... ")) {
      const std::size_t behind = line.rest.find(kResumed);
      const auto begun = begun_.find(line.tid);
      if (behind == std::string_view::npos || begun == begun_.end())
        return trace_.left_out("ends of calls that began before the trace");
      whole = begun->second.text + std::string(line.rest.substr(behind + kResumed.size()));
      line.at_ns = begun->second.at_ns;
      line.rest = whole;
      begun_.erase(begun);
    }
    if (line.rest.ends_with(kUnfinished)) {
      if (begun_.size() < kTasksMost)
        begun_[line.tid] = {
            line.at_ns, std::string(line.rest.substr(0, line.rest.size() - kUnfinished.size()))};
      return;
    }
    const auto call = strace_call(line.rest);
    if (!call)
      return trace_.malformed(input, "its call does not end as strace ends one");
    if (!add_call(line, *call))
      trace_.malformed(input, "its time is impossible");
  }

  // The process of a thread, as the calls that made the thread said it.
  std::uint32_t process_of(std::uint32_t tid) const {
    const auto found = process_of_.find(tid);
    return found == process_of_.end() ? tid : found->second;
  }

  EventRow row(iot_u16 kind, const StraceLine& line) const {
    EventRow event(kind);
    event.set("ts_ns", line.at_ns).set("pid", process_of(line.tid)).set("tid", line.tid);
    return event;
  }

  bool add_call(const StraceLine& line, const StraceCall& call) {
    if (call.name == "execve" || call.name == "execveat")
      return add_exec(line, call);
    if (call.name == "clone" || call.name == "clone3" || call.name == "fork" ||
        call.name == "vfork")
      return add_fork(line, call);
    const schema::Syscall* syscall = syscall_of_name(call.name);
    if (syscall == nullptr) {
      trace_.left_out("system calls that do no I/O");
      return true;
    }
    EventRow event = row(syscall->event, line);
    event.set("op_id", trace_.next_op())
        .set("duration_ns", call.duration_ns)
        .set("call", syscall->number);
    set_arguments(call, *syscall, event, trace_);
    set_result(call, event);
    follow_position(call, event);
    return trace_.add(event);
  }

  static std::int64_t result_of(const StraceCall& call) {
    if (!call.error.empty()) {
      const int code = errno_of_name(call.error);
      return code != 0 ? -code : -EINTR; // a call that the kernel restarts has no number outside
    }
    return call.has_result ? call.result.number : IOT_UNFINISHED;
  }

  void set_result(const StraceCall& call, EventRow& event) {
    std::int64_t result = result_of(call);
    const bool is_address =
        event.kind() == IOT_KIND_syscall_mmap || event.kind() == IOT_KIND_syscall_mremap;
    if (is_address && call.error.empty() && call.has_result) {
      event.set(event.kind() == IOT_KIND_syscall_mmap ? "address" : "new_address",
                static_cast<std::uint64_t>(result));
      result = 0;
    }
    event.set("result", static_cast<std::uint64_t>(result));
    const schema::Field* field = event.field("result");
    if (field != nullptr && field->meaning == schema::Meaning::result_fd &&
        !call.result.name.empty())
      event.set(event.field("accepted") != nullptr ? "accepted" : "file",
                strace_file(call.result.name, trace_));
  }

  // Follows the position of the descriptor, and gives it to a read or write that names none.
  void follow_position(const StraceCall& call, EventRow& event) {
    const auto pid = static_cast<std::uint32_t>(event.get("pid"));
    const auto fd = static_cast<std::int32_t>(event.get("fd"));
    const std::int64_t result = result_of(call);
    if (result < 0)
      return;
    switch (event.kind()) {
    case IOT_KIND_syscall_open:
      return descriptors_.open(pid, result, {0, (event.get("flags") & IOT_open_O_APPEND) != 0});
    case IOT_KIND_syscall_close:
      return descriptors_.close(pid, fd);
    case IOT_KIND_syscall_dup:
      return descriptors_.duplicate(pid, fd, result);
    case IOT_KIND_syscall_seek:
      if (auto* file = descriptors_.find(pid, fd))
        file->position = result;
      return;
    case IOT_KIND_syscall_read:
    case IOT_KIND_syscall_write:
      if (call.name.starts_with('p'))
        return;
      if (auto* file = descriptors_.find(pid, fd);
          file != nullptr && (!file->appends || event.kind() == IOT_KIND_syscall_read) &&
          file->position != Descriptors::kNoPosition && file->position <= INT64_MAX - result) {
        event.set("offset", static_cast<std::uint64_t>(file->position));
        file->position += result;
      }
      return;
    default:
      return;
    }
  }

  bool add_exec(const StraceLine& line, const StraceCall& call) {
    if (result_of(call) != 0 || call.arguments.size() < 2) {
      trace_.left_out("programs that could not be started");
      return true;
    }
    const bool is_at = call.name == "execveat";
    const std::string path = strace_text(call.arguments[is_at ? 1 : 0]);
    const std::string_view list =
        call.arguments[std::min<std::size_t>(is_at ? 2 : 1, call.arguments.size() - 1)];
    std::vector<std::string> words;
    std::string command;
    for (std::size_t at = list.find('"'); at != std::string_view::npos; at = list.find('"', at)) {
      words.push_back(strace_text(list.substr(at)));
      command += (words.size() > 1 ? " " : "") + words.back();
      for (++at; at < list.size() && list[at] != '"'; ++at)
        at += list[at] == '\\' ? 1 : 0;
      ++at;
    }
    const std::uint32_t pid = process_of(line.tid);
    trace_.name_process(
        pid, line.at_ns,
        {.comm = path.substr(path.rfind('/') + 1), .exe = path, .command = command});
    trace_.set_command(words);
    return trace_.add(
        row(IOT_KIND_process_exec, line).set("path", trace_.text(path)).set("old_tid", line.tid));
  }

  bool add_fork(const StraceLine& line, const StraceCall& call) {
    const std::int64_t child = result_of(call);
    if (child <= 0 || child > UINT32_MAX) {
      trace_.left_out("processes that could not be made");
      return true;
    }
    const auto child_tid = static_cast<std::uint32_t>(child);
    bool is_thread = false;
    for (const std::string_view argument : call.arguments)
      is_thread = is_thread || argument.find("CLONE_THREAD") != std::string_view::npos;
    const std::uint32_t pid = process_of(line.tid);
    if (process_of_.size() >= kTasksMost)
      process_of_.clear();
    process_of_[child_tid] = is_thread ? pid : child_tid;
    if (!is_thread)
      descriptors_.fork(pid, child_tid);
    return trace_.add(row(IOT_KIND_process_fork, line)
                          .set("child_pid", is_thread ? pid : child_tid)
                          .set("child_tid", child_tid));
  }

  // "+++ exited with 0 +++", "+++ killed by SIGKILL (core dumped) +++".
  void end_task(const StraceLine& line) {
    std::string_view words = line.rest.substr(4);
    const std::string_view how = take_word(words);
    (void)take_word(words);
    const std::string_view what = take_word(words);
    EventRow event = row(IOT_KIND_process_exit, line);
    if (how == "exited")
      event.set("status", to_number<std::uint32_t>(what).value_or(0));
    else if (how == "killed")
      event.set("signal", signal_number(what));
    const bool is_process = process_of(line.tid) == line.tid;
    event.set("group_dead", is_process ? 1 : 0);
    (void)trace_.add(event);
    if (is_process)
      descriptors_.exit(line.tid);
    process_of_.erase(line.tid);
    begun_.erase(line.tid);
  }

  static std::uint64_t signal_number(std::string_view name) {
    for (int number = 1; number < NSIG; ++number)
      if (const char* known = ::sigabbrev_np(number);
          known != nullptr && name.starts_with("SIG") && name.substr(3) == known)
        return static_cast<std::uint64_t>(number);
    return 0;
  }

  TraceBuilder& trace_;
  Descriptors descriptors_;
  std::unordered_map<std::uint32_t, StraceBegin> begun_;
  std::unordered_map<std::uint32_t, std::uint32_t> process_of_;
};

Result<void> read_strace(std::span<Input> inputs, TraceBuilder& trace) {
  StraceReader reader(trace);
  return for_each_line(inputs, strace_time, [&](Input& input, std::string_view text) {
    if (!trace.is_stopped())
      reader.take(input, text);
  });
}

} // namespace

extern const ImportFormat kImportFormatStrace = {
    .name = "strace",
    .doc = "strace -f -ttt -T -yy, also with -ff",
    .lacks = "all layers but the system calls, devices and inodes; without -T durations are 0, "
             "without -y calls on descriptors have no file",
    .recognizes = is_strace,
    .read = read_strace,
};

} // namespace iotrail::import
