// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <string>

#include "import/block_requests.hpp"
#include "import/import_format.hpp"
#include "import/made_up_devices.hpp"
#include "import/numbers.hpp"

namespace iotrail::import {
namespace {

// biosnoop counts from the end of the first request, which began before.
constexpr std::uint64_t kBiosnoopBegin_ns = 3'600'000'000'000;

bool is_biosnoop_head(std::string_view line) {
  return trimmed(line).starts_with("TIME") && line.find("SECTOR") != std::string_view::npos &&
         line.find("LAT(ms)") != std::string_view::npos;
}

bool is_biosnoop(std::string_view head, std::string_view) {
  return is_biosnoop_head(head.substr(0, head.find('\n')));
}

class BiosnoopReader {
public:
  explicit BiosnoopReader(TraceBuilder& trace) : trace_(trace), devices_(trace) {}

  void take_head(std::string_view line) {
    has_queue_time_ = line.find("QUE(ms)") != std::string_view::npos;
  }

  // False: it is no line of biosnoop.
  bool take(std::string_view line) {
    constexpr std::uint64_t kMillisecond_ns = 1'000'000;
    const auto at_ns = to_ns(take_word(line));
    const auto duration_ns = to_ns(take_last_word(line), kMillisecond_ns);
    const auto queue_ns = has_queue_time_ ? to_ns(take_last_word(line), kMillisecond_ns)
                                          : std::optional<std::uint64_t>(0);
    const auto bytes = to_number<std::uint32_t>(take_last_word(line));
    const auto sector = to_number<std::int64_t>(take_last_word(line)); // -1: a flush
    const std::string_view type = take_last_word(line);
    const std::string device(take_last_word(line));
    const auto pid = to_number<std::uint32_t>(take_last_word(line));
    if (!at_ns || !duration_ns || !queue_ns || !bytes || !sector || !pid || device.empty() ||
        type.empty() || *at_ns > TraceBuilder::kTimeMost_ns)
      return false;
    const std::uint64_t end_ns = *at_ns + kBiosnoopBegin_ns;
    const BlockStep step{.at_ns = end_ns - std::min(*duration_ns, end_ns),
                         .sector = static_cast<std::uint64_t>(*sector),
                         .bytes = *bytes,
                         .device = devices_.number(device),
                         .flags = flags(type),
                         .tid = *pid};
    trace_.name_process(*pid, step.at_ns, {.comm = trimmed(line)});
    EventRow row = BlockRequests::row(IOT_KIND_block_complete, step);
    return trace_.add(row.set("duration_ns", *duration_ns)
                          .set("queue_ns", *queue_ns)
                          .set("request", next_request()));
  }

private:
  static std::uint32_t flags(std::string_view type) {
    return type.starts_with('W')   ? IOT_block_write
           : type.starts_with('D') ? IOT_block_discard
           : type.starts_with('F') ? IOT_block_flush
                                   : IOT_block_read;
  }
  std::uint64_t next_request() { return ++last_request_; }

  TraceBuilder& trace_;
  MadeUpDevices devices_;
  bool has_queue_time_ = false;
  std::uint64_t last_request_ = 0;
};

Result<void> read_biosnoop(std::span<Input> inputs, TraceBuilder& trace) {
  BiosnoopReader reader(trace);
  for (Input& input : inputs) {
    while (const auto line = input.next_line()) {
      if (trace.is_stopped())
        break;
      if (is_biosnoop_head(*line))
        reader.take_head(*line);
      else if (!trimmed(*line).empty() && !reader.take(*line))
        trace.malformed(input, "no line of biosnoop");
    }
    if (input.failure() != nullptr)
      return std::unexpected(*input.failure());
  }
  return {};
}

} // namespace

extern const ImportFormat kImportFormatBiosnoop = {
    .name = "biosnoop",
    .doc = "biosnoop of bcc, also with -Q",
    .lacks = "system calls, files, flags of requests; without -Q the time in queues; real time",
    .recognizes = is_biosnoop,
    .read = read_biosnoop,
};

} // namespace iotrail::import
