// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "import/block_requests.hpp"
#include "import/csv_line.hpp"
#include "import/import_format.hpp"
#include "import/numbers.hpp"
#include "import/strace_line.hpp" // errno_of_name()

namespace iotrail::import {
namespace {

constexpr std::string_view kIotrcBegins[] = {
    "timestamp,operation,pid,tid,command,filename,", // fs
    "timestamp,operation,pid,tid,command,sector,",   // block
    "timestamp,pid,name,cmdline,",                   // process
};

struct IotrcOperation {
  std::string_view name;
  iot_u16 kind;
};
constexpr IotrcOperation kIotrcOperations[] = {
    {"READ", IOT_KIND_vfs_read},          {"WRITE", IOT_KIND_vfs_write},
    {"DIO_READ", IOT_KIND_vfs_read},      {"DIO_WRITE", IOT_KIND_vfs_write},
    {"OPEN", IOT_KIND_vfs_open},          {"CLOSE", IOT_KIND_vfs_flush},
    {"FSYNC", IOT_KIND_vfs_fsync},        {"FDATASYNC", IOT_KIND_vfs_fsync},
    {"GETATTR", IOT_KIND_vfs_stat},       {"SETATTR", IOT_KIND_vfs_setattr},
    {"READDIR", IOT_KIND_vfs_readdir},    {"UNLINK", IOT_KIND_vfs_unlink},
    {"RMDIR", IOT_KIND_vfs_unlink},       {"TRUNCATE", IOT_KIND_vfs_truncate},
    {"FALLOCATE", IOT_KIND_vfs_truncate}, {"MKDIR", IOT_KIND_vfs_mkdir},
    {"LINK", IOT_KIND_vfs_link},          {"SYMLINK", IOT_KIND_vfs_link},
    {"RENAME", IOT_KIND_vfs_rename},
};

bool is_iotrc(std::string_view head, std::string_view) {
  return std::ranges::any_of(kIotrcBegins,
                             [&](std::string_view begin) { return head.starts_with(begin); });
}

// A row by the names of the columns of its file.
class IotrcRow {
public:
  IotrcRow(const std::vector<std::string>& columns, std::vector<std::string> values)
      : columns_(columns), values_(std::move(values)) {}

  std::string_view text(std::string_view column) const {
    const auto found = std::ranges::find(columns_, column);
    return found == columns_.end()
               ? std::string_view()
               : std::string_view(values_[static_cast<std::size_t>(found - columns_.begin())]);
  }
  std::optional<std::uint64_t> number(std::string_view column) const {
    return to_c_number(text(column));
  }
  std::uint64_t number_or_0(std::string_view column) const { return number(column).value_or(0); }

private:
  const std::vector<std::string>& columns_;
  std::vector<std::string> values_;
};

// "8:0"; 0: none.
std::uint32_t iotrc_device(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    return 0;
  const auto major = to_number<std::uint32_t>(text.substr(0, colon)).value_or(UINT32_MAX);
  const auto minor = to_number<std::uint32_t>(text.substr(colon + 1)).value_or(UINT32_MAX);
  return major > 4095 || minor >> IOT_MINOR_BITS != 0 ? 0 : IOT_DEVICE(major, minor);
}

std::uint32_t block_operation(std::string_view word) {
  return word.starts_with("write")     ? IOT_block_write
         : word.starts_with("discard") ? IOT_block_discard
         : word.starts_with("flush")   ? IOT_block_flush
                                       : IOT_block_read;
}

class IotrcReader {
public:
  explicit IotrcReader(TraceBuilder& trace) : trace_(trace) {}

  // False: the values are not those of its columns.
  bool take(const IotrcRow& row) {
    const auto at_ns = time_of(row);
    if (!at_ns)
      return false;
    if (!row.text("name").empty())
      return take_process(row, *at_ns);
    if (!row.text("command").empty() && row.number("pid"))
      trace_.name_process(static_cast<std::uint32_t>(*row.number("pid")), *at_ns,
                          {.comm = row.text("command"), .command = row.text("cmdline")});
    return row.number("sector") ? take_block(row, *at_ns) : take_call(row, *at_ns);
  }

private:
  // The monotonic time; older files have the date alone.
  std::optional<std::uint64_t> time_of(const IotrcRow& row) {
    const auto date_ns = to_date_ns(row.text("timestamp"));
    const auto mono_ns = row.number("mono_ns");
    if (mono_ns && date_ns)
      trace_.set_real_time(static_cast<std::int64_t>(*date_ns - *mono_ns));
    return mono_ns ? mono_ns : date_ns;
  }

  bool take_process(const IotrcRow& row, std::uint64_t at_ns) {
    const auto pid = row.number("pid");
    if (pid)
      trace_.name_process(static_cast<std::uint32_t>(*pid), at_ns,
                          {.comm = row.text("name"), .command = row.text("cmdline")});
    return pid.has_value();
  }

  // The row is written when the request completes.
  bool take_block(const IotrcRow& row, std::uint64_t at_ns) {
    constexpr std::uint64_t kMillisecond_ns = 1'000'000;
    const auto latency_ns = to_ns(row.text("latency_ms"), kMillisecond_ns);
    const auto bytes = to_number<std::uint32_t>(row.text("size"));
    const std::string_view operation = row.text("operation");
    if (!latency_ns || !bytes || operation.empty())
      return false;
    const BlockStep step{
        .at_ns = at_ns - std::min(at_ns, *latency_ns),
        .sector = row.number_or_0("sector"),
        .bytes = *bytes,
        .device = iotrc_device(row.text("device")),
        .flags = block_operation(operation),
        .tid = static_cast<std::uint32_t>(row.number_or_0("tid")),
        .cpu = to_number<std::uint16_t>(row.text("cpu_id")).value_or(IOT_CPU_UNKNOWN)};
    EventRow done = BlockRequests::row(IOT_KIND_block_complete, step);
    return trace_.add(
        done.set("pid", row.number_or_0("pid"))
            .set("duration_ns", *latency_ns)
            .set("queue_ns", to_ns(row.text("queue_latency_ms"), kMillisecond_ns).value_or(0))
            .set("request", ++last_request_));
  }

  static std::int64_t result_of(const IotrcRow& row) {
    const std::string_view error = row.text("errno");
    const std::int64_t code = to_number<std::int32_t>(error).value_or(errno_of_name(error));
    if (code != 0)
      return -std::abs(code);
    const auto returned = to_number<std::int64_t>(row.text("return_value"));
    return to_number<std::int64_t>(row.text("bytes_completed")).value_or(returned.value_or(0));
  }

  // The row is written when the call returns.
  bool take_call(const IotrcRow& row, std::uint64_t at_ns) {
    std::string name(row.text("operation")); // in small letters since the current layout
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    const auto* operation = std::ranges::find(kIotrcOperations, name, &IotrcOperation::name);
    if (operation == std::end(kIotrcOperations)) {
      trace_.left_out("operations that iotrail has no event for");
      return !row.text("operation").empty();
    }
    const std::uint64_t duration_ns = row.number_or_0("duration_ns");
    EventRow call(operation->kind);
    call.set("ts_ns", at_ns - std::min(at_ns, duration_ns))
        .set("op_id", trace_.next_op())
        .set("pid", row.number_or_0("pid"))
        .set("tid", row.number_or_0("tid"))
        .set("duration_ns", duration_ns)
        .set("bytes_requested", row.number_or_0("size"))
        .set("result", static_cast<std::uint64_t>(result_of(row)))
        .set("file", file(row))
        .set("datasync", operation->name == "FDATASYNC" ? 1 : 0);
    if (const auto offset = row.number("offset"))
      call.set("offset", *offset);
    return trace_.add(call);
  }

  std::uint32_t file(const IotrcRow& row) {
    const std::uint64_t inode = row.number_or_0("inode");
    const std::string_view name = row.text("filename");
    const std::uint32_t device = iotrc_device(row.text("device"));
    return inode == 0 ? trace_.file(name)
                      : trace_.file({.device = device, .inode = inode}, 0, name);
  }

  TraceBuilder& trace_;
  std::uint64_t last_request_ = 0;
};

Result<void> read_iotrc(std::span<Input> inputs, TraceBuilder& trace) {
  IotrcReader reader(trace);
  std::map<const Input*, std::vector<std::string>> columns;
  const auto time_of = [](std::string_view line) {
    return to_date_ns(line.substr(0, line.find(',')));
  };
  return for_each_line(inputs, time_of, [&](Input& input, std::string_view line) {
    auto values = csv_parts(line);
    if (trace.is_stopped() || line.empty())
      return;
    auto& head = columns[&input];
    if (head.empty())
      head = std::move(values);
    else if (values.size() != head.size())
      trace.malformed(input, fmt::format("it has {} columns, not {}", values.size(), head.size()));
    else if (!reader.take(IotrcRow(head, std::move(values))))
      trace.malformed(input, "its values do not fit their columns");
  });
}

} // namespace

extern const ImportFormat kImportFormatIotrc = {
    .name = "iotrc",
    .doc = "IO Tracer (iotrc): its directory of CSV files",
    .lacks = "page cache, network and snapshots, which are not imported; names of devices; the "
             "call behind a request",
    .recognizes = is_iotrc,
    .read = read_iotrc,
};

} // namespace iotrail::import
