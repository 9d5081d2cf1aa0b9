// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "import/block_requests.hpp"
#include "import/import_format.hpp"
#include "import/numbers.hpp"

namespace iotrail::import {
namespace {

constexpr std::size_t kPerfTasksMost = 1U << 16U;

// "dd  123/124 [001]  5678.123456: block:block_rq_issue: 8,0 R 4096 () 2048 + 8 [dd]"
struct PerfLine {
  std::string_view comm;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint16_t cpu = IOT_CPU_UNKNOWN;
  std::uint64_t at_ns = 0;
  std::string_view event; // "block_rq_issue"
  std::string_view rest;  // "8,0 R 4096 ..."
};

bool take_perf_task(std::string_view word, PerfLine& line) {
  const std::size_t slash = word.find('/');
  const auto tid =
      to_number<std::uint32_t>(slash == std::string_view::npos ? word : word.substr(slash + 1));
  const auto pid = to_number<std::uint32_t>(word.substr(0, slash));
  if (!tid || !pid)
    return false;
  line.tid = *tid;
  line.pid = *pid;
  return true;
}

std::optional<PerfLine> perf_line(std::string_view text) {
  std::size_t at = std::string_view::npos;
  for (const std::string_view system : {": block:", ": syscalls:", ": raw_syscalls:"})
    at = std::min(at, text.find(system));
  if (at == std::string_view::npos)
    return std::nullopt;
  PerfLine line;
  std::string_view event = text.substr(text.find(':', at + 2) + 1);
  const std::size_t end = event.find(": ");
  if (end == std::string_view::npos)
    return std::nullopt;
  line.event = event.substr(0, end);
  line.rest = trimmed(event.substr(end + 2));
  std::string_view head = text.substr(0, at);
  const auto at_ns = to_ns(take_last_word(head));
  std::string_view word = take_last_word(head);
  if (word.starts_with('[') && word.ends_with(']')) {
    line.cpu = to_number<std::uint16_t>(word.substr(1, word.size() - 2)).value_or(IOT_CPU_UNKNOWN);
    word = take_last_word(head);
  }
  if (!at_ns || !take_perf_task(word, line))
    return std::nullopt;
  line.at_ns = *at_ns;
  line.comm = trimmed(head);
  return line;
}

bool is_perf(std::string_view head, std::string_view) {
  constexpr std::size_t kLines = 20;
  for (std::size_t i = 0; i < kLines && !head.empty(); ++i) {
    const std::string_view text = head.substr(0, head.find('\n'));
    if (perf_line(text))
      return true;
    head.remove_prefix(std::min(text.size() + 1, head.size()));
  }
  return false;
}

std::optional<std::uint64_t> perf_time(std::string_view text) {
  const auto line = perf_line(text);
  return line ? std::optional(line->at_ns) : std::nullopt;
}

struct PerfFlag {
  char letter;
  std::uint32_t flag;
};
constexpr PerfFlag kPerfFlags[] = {
    {'F', IOT_block_hint_fua},
    {'A', IOT_block_hint_readahead},
    {'S', IOT_block_hint_sync},
    {'M', IOT_block_hint_meta},
};

// "FWS", "RA", "D": the letters of the kernel for an operation and its flags.
std::uint32_t flags_of_letters(std::string_view letters) {
  std::uint32_t flags = IOT_block_read;
  if (letters.starts_with("FW")) {
    flags = std::uint32_t{IOT_block_write} | std::uint32_t{IOT_block_hint_preflush};
    letters.remove_prefix(2);
  } else if (!letters.empty()) {
    flags = letters[0] == 'W'   ? std::uint32_t{IOT_block_write}
            : letters[0] == 'D' ? std::uint32_t{IOT_block_discard}
            : letters[0] == 'F' ? std::uint32_t{IOT_block_flush}
            : letters[0] == 'N' ? std::uint32_t{IOT_block_driver_in}
                                : std::uint32_t{IOT_block_read};
    letters.remove_prefix(1);
  }
  for (const char letter : letters)
    for (const auto& [known, flag] : kPerfFlags)
      if (letter == known)
        flags |= flag;
  return flags;
}

// "8,0 R 4096 () 2048 + 8 [dd]": the sectors stand before and behind the plus.
std::optional<BlockStep> perf_block_step(const PerfLine& line) {
  std::string_view rest = line.rest;
  const std::string_view device = take_word(rest);
  const std::size_t comma = device.find(',');
  const std::string_view letters = take_word(rest);
  const std::size_t plus = rest.find(" + ");
  if (comma == std::string_view::npos || plus == std::string_view::npos)
    return std::nullopt;
  std::string_view before = rest.substr(0, plus);
  std::string_view behind = rest.substr(plus + 3);
  const auto major = to_number<std::uint32_t>(device.substr(0, comma));
  const auto minor = to_number<std::uint32_t>(device.substr(comma + 1));
  const auto sector = to_number(take_last_word(before));
  const auto sectors = to_number<std::uint32_t>(take_word(behind));
  if (!major || *major > 4095 || !minor || *minor >> IOT_MINOR_BITS != 0 || !sector || !sectors ||
      *sectors > UINT32_MAX / 512)
    return std::nullopt;
  BlockStep step{.at_ns = line.at_ns,
                 .sector = *sector,
                 .bytes = *sectors * 512,
                 .device = IOT_DEVICE(*major, *minor),
                 .flags = flags_of_letters(letters),
                 .tid = line.tid,
                 .cpu = line.cpu};
  if (const std::size_t bracket = behind.rfind('['); bracket != std::string_view::npos) {
    const std::string_view error =
        behind.substr(bracket + 1, behind.find(']', bracket) - bracket - 1);
    step.error = to_number<std::int32_t>(error).value_or(0);
  }
  return step;
}

// "fd: 0x00000003, buf: 0x7ffe, count: 0x00020000": the value behind a name.
std::optional<std::uint64_t> perf_argument(std::string_view rest, std::string_view name) {
  for (const std::string_view part : split(rest, ',')) {
    const std::size_t colon = part.find(": ");
    if (colon != std::string_view::npos && trimmed(part.substr(0, colon)) == name)
      return to_c_number(trimmed(part.substr(colon + 2)));
  }
  return std::nullopt;
}

class PerfReader {
public:
  explicit PerfReader(TraceBuilder& trace) : trace_(trace), requests_(trace) {}

  void take(const Input& input, std::string_view text) {
    const auto line = perf_line(text);
    if (!line) {
      if (!trimmed(text).empty() && !text.starts_with('#'))
        trace_.malformed(input, "no tracepoint of block or syscalls, as perf script prints it");
      return;
    }
    if (line->pid != 0)
      trace_.name_process(line->pid, line->at_ns, {.comm = line->comm});
    const bool is_good = line->event.starts_with("block_") ? take_block(*line) : take_call(*line);
    if (!is_good)
      trace_.malformed(input, "its fields are not those of the tracepoint");
  }

private:
  bool take_block(const PerfLine& line) {
    const auto step = perf_block_step(line);
    if (line.event == "block_plug" || line.event == "block_unplug" ||
        line.event == "block_touch_buffer" || line.event == "block_dirty_buffer") {
      trace_.left_out("tracepoints that iotrail has no event for");
      return true;
    }
    if (!step)
      return false;
    if (line.event == "block_bio_queue")
      return requests_.queue(*step);
    if (line.event == "block_getrq")
      return requests_.get_request(*step);
    if (line.event == "block_rq_insert")
      return requests_.insert(*step);
    if (line.event == "block_rq_issue")
      return requests_.issue(*step);
    if (line.event == "block_rq_requeue")
      return requests_.requeue(*step);
    if (line.event == "block_bio_backmerge" || line.event == "block_bio_frontmerge")
      return requests_.merge(*step, line.event == "block_bio_frontmerge");
    if (line.event == "block_rq_complete")
      return requests_.complete(*step);
    trace_.left_out("tracepoints that iotrail has no event for");
    return true;
  }

  // A call has a line at its entry and one at its return.
  bool take_call(const PerfLine& line) {
    constexpr std::string_view kEnter = "sys_enter_";
    constexpr std::string_view kExit = "sys_exit_";
    if (line.event.starts_with(kEnter)) {
      if (entered_.size() < kPerfTasksMost)
        entered_[line.tid] = {line.at_ns, std::string(line.event.substr(kEnter.size())),
                              std::string(line.rest)};
      return true;
    }
    if (!line.event.starts_with(kExit)) {
      trace_.left_out("tracepoints that iotrail has no event for");
      return true;
    }
    const auto entry = entered_.find(line.tid);
    const auto result = to_c_number(line.rest);
    if (!result)
      return false;
    if (entry == entered_.end() || entry->second.call != line.event.substr(kExit.size())) {
      trace_.left_out("ends of calls that began before the trace");
      return true;
    }
    const Entry begun = entry->second;
    entered_.erase(entry);
    return add_call(line, begun, static_cast<std::int64_t>(*result));
  }

  struct Entry {
    std::uint64_t at_ns;
    std::string call;
    std::string arguments;
  };

  bool add_call(const PerfLine& line, const Entry& begun, std::int64_t result) {
    std::string_view name = begun.call;
    for (const auto& [perf, own] : {std::pair{"newstat", "stat"}, std::pair{"newfstat", "fstat"},
                                    std::pair{"newlstat", "lstat"}})
      name = name == perf ? std::string_view(own) : name;
    const auto* syscall = std::ranges::find(schema::kSyscalls, name, &schema::Syscall::name);
    if (syscall == std::end(schema::kSyscalls)) {
      trace_.left_out("system calls that do no I/O");
      return true;
    }
    EventRow row(syscall->event);
    row.set("ts_ns", begun.at_ns)
        .set("pid", line.pid)
        .set("tid", line.tid)
        .set("cpu", line.cpu)
        .set("op_id", trace_.next_op())
        .set("duration_ns", line.at_ns - std::min(line.at_ns, begun.at_ns))
        .set("call", syscall->number)
        .set("result", static_cast<std::uint64_t>(result));
    const auto set = [&](std::string_view field, std::string_view argument) {
      if (const auto value = perf_argument(begun.arguments, argument))
        row.set(field, *value);
    };
    if (syscall->fd_argument >= 0)
      set("fd", "fd");
    set("bytes_requested", "count");
    set("bytes_requested", "len");
    set("offset", "pos");
    set("offset", "offset");
    set("flags", "flags");
    return trace_.add(row);
  }

  TraceBuilder& trace_;
  BlockRequests requests_;
  std::unordered_map<std::uint32_t, Entry> entered_;
};

Result<void> read_perf(std::span<Input> inputs, TraceBuilder& trace) {
  PerfReader reader(trace);
  return for_each_line(inputs, perf_time, [&](Input& input, std::string_view text) {
    if (!trace.is_stopped())
      reader.take(input, text);
  });
}

} // namespace

extern const ImportFormat kImportFormatPerf = {
    .name = "perf",
    .doc = "perf script of the tracepoints of block and syscalls (-F +pid,+tid)",
    .lacks = "files and paths of system calls; the process of a thread, unless pid was printed; "
             "names of devices",
    .recognizes = is_perf,
    .read = read_perf,
};

} // namespace iotrail::import
