// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>

#include "import/import_format.hpp"
#include "import/numbers.hpp"

namespace iotrail::import {
namespace {

constexpr std::string_view kIologVersion2 = "fio version 2 iolog";
constexpr std::string_view kIologVersion3 = "fio version 3 iolog";

struct IologAction {
  std::string_view name;
  iot_u16 kind;
  std::uint32_t call;
};
constexpr IologAction kIologActions[] = {
    {"open", IOT_KIND_syscall_open, IOT_syscall_openat},
    {"close", IOT_KIND_syscall_close, IOT_syscall_close},
    {"read", IOT_KIND_syscall_read, IOT_syscall_pread64},
    {"write", IOT_KIND_syscall_write, IOT_syscall_pwrite64},
    {"sync", IOT_KIND_syscall_sync, IOT_syscall_fsync},
    {"datasync", IOT_KIND_syscall_sync, IOT_syscall_fdatasync},
};

bool is_iolog(std::string_view head, std::string_view) {
  return head.starts_with(kIologVersion2) || head.starts_with(kIologVersion3);
}

class IologReader {
public:
  explicit IologReader(TraceBuilder& trace) : trace_(trace) {}

  // A new file begins at time 0.
  void begin(bool has_times) {
    has_times_ = has_times;
    at_ns_ = 0;
  }

  // False: it is no line of an iolog.
  bool take(std::string_view line) {
    if (has_times_) {
      const auto at_us = to_number(take_word(line));
      if (!at_us || *at_us > TraceBuilder::kTimeMost_ns / 1000)
        return false;
      at_ns_ = std::max(at_ns_ + 1, *at_us * 1000); // lines of the same time keep their order
    }
    const std::string_view file = take_word(line);
    const std::string_view action = take_word(line);
    const auto offset = to_number(take_word(line));
    const auto bytes = to_number(take_word(line));
    if (file == "wait" || action == "wait") // of version 2: microseconds
      return wait(file == "wait" ? action : std::string_view());
    return !file.empty() && add(file, action, offset, bytes);
  }

private:
  bool wait(std::string_view text) {
    const auto delay_us = to_number(text);
    if (!delay_us || *delay_us > TraceBuilder::kTimeMost_ns / 2000 ||
        at_ns_ > TraceBuilder::kTimeMost_ns / 2)
      return false;
    at_ns_ += *delay_us * 1000;
    return true;
  }

  bool add(std::string_view file, std::string_view name, std::optional<std::uint64_t> offset,
           std::optional<std::uint64_t> bytes) {
    if (name == "add" || name == "trim") {
      trace_.left_out(name == "add" ? "files that are only added" : "trims");
      return true;
    }
    const auto* action = std::ranges::find(kIologActions, name, &IologAction::name);
    if (action == std::end(kIologActions))
      return false;
    const bool moves =
        action->kind == IOT_KIND_syscall_read || action->kind == IOT_KIND_syscall_write;
    if (moves && (!offset || !bytes || *offset > INT64_MAX || *bytes > INT64_MAX))
      return false;
    at_ns_ += has_times_ ? 0 : 1;
    EventRow row(action->kind);
    row.set("ts_ns", at_ns_)
        .set("op_id", trace_.next_op())
        .set("file", trace_.file(file))
        .set("call", action->call);
    if (action->kind == IOT_KIND_syscall_open)
      row.set("path", trace_.text(file));
    if (moves)
      row.set("offset", *offset).set("bytes_requested", *bytes).set("result", *bytes);
    return trace_.add(row);
  }

  TraceBuilder& trace_;
  bool has_times_ = false;
  std::uint64_t at_ns_ = 0;
};

Result<void> read_iolog(std::span<Input> inputs, TraceBuilder& trace) {
  IologReader reader(trace);
  for (Input& input : inputs) {
    while (const auto line = input.next_line()) {
      if (trace.is_stopped())
        break;
      if (input.line() == 1 && is_iolog(*line, {}))
        reader.begin(line->starts_with(kIologVersion3));
      else if (!line->empty() && !reader.take(*line))
        trace.malformed(input, "no line of an iolog: file, action, position and length");
    }
    if (input.failure() != nullptr)
      return std::unexpected(*input.failure());
  }
  return {};
}

} // namespace

extern const ImportFormat kImportFormatIolog = {
    .name = "iolog",
    .doc = "fio --write_iolog, versions 2 and 3; `iotrail export --to iolog`",
    .lacks = "durations, processes, results; version 2 has no times but waits",
    .recognizes = is_iolog,
    .read = read_iolog,
};

} // namespace iotrail::import
