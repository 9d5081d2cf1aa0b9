// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <string>

#include "import/import_format.hpp"
#include "import/numbers.hpp"

namespace iotrail::import {
namespace {

constexpr std::string_view kDxtExe = "# exe: ";
constexpr std::string_view kDxtStart = "# start_time: ";
constexpr std::string_view kDxtName = "file_name: ";

bool is_dxt(std::string_view head, std::string_view) {
  return head.find("# DXT") != std::string_view::npos && head.starts_with('#');
}

// The word behind `key` in a line of the head.
std::string_view dxt_value(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  return at == std::string_view::npos ? std::string_view() : trimmed(line.substr(at + key.size()));
}

class DxtReader {
public:
  explicit DxtReader(TraceBuilder& trace) : trace_(trace) {}

  void take_comment(std::string_view line) {
    if (line.starts_with(kDxtExe))
      command_ = dxt_value(line, kDxtExe);
    else if (const auto start_s = line.starts_with(kDxtStart)
                                      ? to_number<std::uint32_t>(dxt_value(line, kDxtStart))
                                      : std::nullopt)
      trace_.set_real_time(std::int64_t{*start_s} * 1'000'000'000);
    else if (const auto name = dxt_value(line, kDxtName); !name.empty())
      file_ = trace_.file(name);
  }

  // "X_POSIX 0 write 0 0 262144 0.0029 0.0032", a segment a line. False: it is none.
  bool take(std::string_view line) {
    const std::string_view module = take_word(line);
    const auto rank = to_number<std::uint32_t>(take_word(line));
    const std::string_view direction = take_word(line);
    const auto segment = to_number(take_word(line));
    const auto offset = to_number(take_word(line));
    const auto bytes = to_number(take_word(line));
    const auto begin_ns = to_ns(take_word(line));
    const auto end_ns = to_ns(take_word(line));
    const bool is_write = direction == "write";
    if (!module.starts_with("X_") || !rank || *rank == UINT32_MAX || !segment || !offset ||
        *offset > INT64_MAX || !bytes || *bytes > INT64_MAX || !begin_ns || !end_ns ||
        *end_ns < *begin_ns || (!is_write && direction != "read"))
      return false;
    if (module != "X_POSIX") { // its own calls on files are segments of X_POSIX
      trace_.left_out("segments of MPI-IO");
      return true;
    }
    name_rank(*rank);
    EventRow row(is_write ? iot_u16{IOT_KIND_app_write} : iot_u16{IOT_KIND_app_read});
    return trace_.add(row.set("ts_ns", *begin_ns)
                          .set("op_id", trace_.next_op())
                          .set("pid", *rank + 1)
                          .set("tid", *rank + 1)
                          .set("duration_ns", *end_ns - *begin_ns)
                          .set("offset", *offset)
                          .set("bytes_requested", *bytes)
                          .set("result", *bytes)
                          .set("file", file_)
                          .set("call", is_write ? IOT_app_call_pwrite : IOT_app_call_pread));
  }

private:
  // Process numbers are made up: a rank's is one more.
  void name_rank(std::uint32_t rank) {
    const std::string_view exe = std::string_view(command_).substr(0, command_.find(' '));
    trace_.name_process(rank + 1, 0,
                        {.comm = exe.substr(exe.rfind('/') + 1),
                         .exe = exe,
                         .command = command_,
                         .rank = fmt::format("{}", rank)});
  }

  TraceBuilder& trace_;
  std::string command_;
  std::uint32_t file_ = 0;
};

Result<void> read_dxt(std::span<Input> inputs, TraceBuilder& trace) {
  for (Input& input : inputs) {
    DxtReader reader(trace);
    while (const auto line = input.next_line()) {
      if (trace.is_stopped())
        break;
      if (line->starts_with('#'))
        reader.take_comment(*line);
      else if (!trimmed(*line).empty() && !reader.take(*line))
        trace.malformed(input, "no segment as darshan-dxt-parser prints it");
    }
    if (input.failure() != nullptr)
      return std::unexpected(*input.failure());
  }
  return {};
}

} // namespace

extern const ImportFormat kImportFormatDxt = {
    .name = "darshan-dxt",
    .doc = "darshan-dxt-parser",
    .lacks = "all calls but reads and writes, failed ones, process numbers (a rank's is one more)",
    .recognizes = is_dxt,
    .read = read_dxt,
};

} // namespace iotrail::import
