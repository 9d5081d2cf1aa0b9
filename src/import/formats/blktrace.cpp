// SPDX-License-Identifier: BSD-3-Clause
#include <linux/blktrace_api.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "import/block_requests.hpp"
#include "import/import_format.hpp"

namespace iotrail::import {
namespace {

constexpr std::uint32_t kBlktraceMagic = BLK_IO_TRACE_MAGIC | BLK_IO_TRACE_VERSION;
constexpr std::uint32_t kBlktraceCgroup = 1U
                                          << 8U; // in the action: the payload begins with a group
constexpr std::size_t kCgroupBytes = 8;
constexpr std::uint64_t kNoSector = UINT64_MAX; // of a flush

struct CategoryFlag {
  std::uint32_t category;
  std::uint32_t flag;
};
constexpr CategoryFlag kCategoryFlags[] = {
    {BLK_TC_SYNC, IOT_block_hint_sync},       {BLK_TC_META, IOT_block_hint_meta},
    {BLK_TC_FUA, IOT_block_hint_fua},         {BLK_TC_FLUSH, IOT_block_hint_preflush},
    {BLK_TC_AHEAD, IOT_block_hint_readahead},
};

// One file of blktrace, which has the records of one processor in the order of time.
struct BlktraceCursor {
  Input* input;
  blk_io_trace record{};
  std::string payload{};
};

blk_io_trace blktrace_record(std::string_view bytes) {
  blk_io_trace record{};
  std::memcpy(&record, bytes.data(), sizeof record);
  return record;
}

bool is_blktrace(std::string_view head, std::string_view) {
  return head.size() >= sizeof(blk_io_trace) && blktrace_record(head).magic == kBlktraceMagic;
}

// Skips bytes up to the next record; false: the end of the file.
bool find_record(Input& input, TraceBuilder& trace) {
  bool is_first = true;
  for (;;) {
    const std::string_view bytes = input.peek(sizeof(blk_io_trace) + UINT16_MAX);
    if (bytes.empty())
      return false;
    if (is_blktrace(bytes, {}))
      return true;
    if (is_first)
      trace.malformed(input, bytes.size() < sizeof(blk_io_trace)
                                 ? "the last record is cut"
                                 : "no record of blktrace on this kind of machine begins here");
    is_first = false;
    const std::string_view magic(reinterpret_cast<const char*>(&kBlktraceMagic),
                                 sizeof kBlktraceMagic);
    const std::size_t next = bytes.find(magic, 1);
    input.skip(next != std::string_view::npos ? next : std::max<std::size_t>(bytes.size(), 4) - 3);
  }
}

bool read_next(BlktraceCursor& cursor, TraceBuilder& trace) {
  while (find_record(*cursor.input, trace)) {
    const std::string_view bytes = cursor.input->peek(sizeof(blk_io_trace) + UINT16_MAX);
    cursor.record = blktrace_record(bytes);
    const std::size_t size = sizeof(blk_io_trace) + cursor.record.pdu_len;
    if (bytes.size() < size) {
      trace.malformed(*cursor.input, "the last record is cut");
      cursor.input->skip(bytes.size());
      return false;
    }
    cursor.payload = bytes.substr(sizeof(blk_io_trace), cursor.record.pdu_len);
    cursor.input->skip(size);
    return true;
  }
  return false;
}

std::uint32_t operation_of(const blk_io_trace& record) {
  const std::uint32_t categories = record.action >> BLK_TC_SHIFT;
  const bool is_write = (categories & BLK_TC_WRITE) != 0;
  if ((categories & BLK_TC_PC) != 0)
    return is_write ? IOT_block_driver_out : IOT_block_driver_in;
  if ((categories & BLK_TC_DISCARD) != 0)
    return IOT_block_discard;
  if ((categories & BLK_TC_FLUSH) != 0 && record.bytes == 0)
    return IOT_block_flush;
  return is_write ? IOT_block_write : IOT_block_read;
}

std::uint32_t flags_of(const blk_io_trace& record) {
  std::uint32_t flags = operation_of(record);
  for (const auto& [category, flag] : kCategoryFlags)
    if ((record.action >> BLK_TC_SHIFT & category) != 0 &&
        (flags != IOT_block_flush || category != BLK_TC_FLUSH))
      flags |= flag;
  return flags;
}

// Numbers behind a record are those of a network: the highest byte comes first.
template <class Number> Number big_endian(std::string_view payload, std::size_t at) {
  Number number = 0;
  if (payload.size() >= at + sizeof number)
    std::memcpy(&number, payload.data() + at, sizeof number);
  return std::byteswap(number);
}

// What blktrace notes beside the events: names of tasks, and the time of day.
void take_note(const BlktraceCursor& cursor, TraceBuilder& trace) {
  const blk_io_trace& record = cursor.record;
  const std::uint32_t note = record.action & 0xffU;
  const std::string_view payload = cursor.payload;
  if (note == 0) // BLK_TN_PROCESS
    trace.name_process(record.pid, 0, {.comm = payload.substr(0, payload.find('\0'))});
  std::uint32_t time[2] = {};
  if (note == 1 && payload.size() >= sizeof time) { // BLK_TN_TIMESTAMP
    std::memcpy(time, payload.data(), sizeof time);
    const std::uint64_t real_ns = std::uint64_t{time[0]} * 1'000'000'000 + time[1];
    trace.set_real_time(static_cast<std::int64_t>(real_ns - record.time));
  }
}

bool add_remap(const BlktraceCursor& cursor, const BlockStep& step, TraceBuilder& trace) {
  EventRow row = BlockRequests::row(IOT_KIND_block_remap, step);
  return trace.add(row.set("from_device", big_endian<std::uint32_t>(cursor.payload, 0))
                       .set("from_sector", big_endian<std::uint64_t>(cursor.payload, 8)));
}

bool add_split(const BlktraceCursor& cursor, const BlockStep& step, TraceBuilder& trace) {
  EventRow row = BlockRequests::row(IOT_KIND_block_split, step);
  return trace.add(row.set("rest_sector", big_endian<std::uint64_t>(cursor.payload, 0)));
}

bool add_unplug(const BlktraceCursor& cursor, const BlockStep& step, TraceBuilder& trace) {
  EventRow row = BlockRequests::row(IOT_KIND_block_unplug, step);
  return trace.add(
      row.set("requests", static_cast<std::uint32_t>(big_endian<std::uint64_t>(cursor.payload, 0)))
          .set("cause", IOT_unplug_explicit));
}

BlockStep step_of(const blk_io_trace& record) {
  BlockStep step{
      .at_ns = record.time,
      .sector = record.sector,
      .bytes = record.bytes,
      .device = record.device,
      .flags = flags_of(record),
      .tid = record.pid,
      .cpu = static_cast<std::uint16_t>(std::min<std::uint32_t>(record.cpu, IOT_CPU_UNKNOWN)),
      .error = -std::abs(std::int32_t{static_cast<std::int16_t>(record.error)})};
  if ((step.flags & IOT_CHOICE_block) == IOT_block_flush)
    step.sector = kNoSector;
  return step;
}

// One event; false: its time is impossible.
bool add_action(BlktraceCursor& cursor, BlockRequests& requests, TraceBuilder& trace) {
  if ((cursor.record.action & kBlktraceCgroup) != 0)
    cursor.payload.erase(0, kCgroupBytes);
  const BlockStep step = step_of(cursor.record);
  switch (cursor.record.action & 0xffU) {
  case BLK_TA_QUEUE & 0xffU:
    return requests.queue(step);
  case BLK_TA_BACKMERGE & 0xffU:
    return requests.merge(step, false);
  case BLK_TA_FRONTMERGE & 0xffU:
    return requests.merge(step, true);
  case BLK_TA_GETRQ & 0xffU:
    return requests.get_request(step);
  case BLK_TA_REQUEUE & 0xffU:
    return requests.requeue(step);
  case BLK_TA_ISSUE & 0xffU:
    return requests.issue(step);
  case BLK_TA_COMPLETE & 0xffU:
    return requests.complete(step);
  case BLK_TA_INSERT & 0xffU:
    return requests.insert(step);
  case BLK_TA_PLUG & 0xffU:
    return trace.add(BlockRequests::row(IOT_KIND_block_plug, step));
  case BLK_TA_UNPLUG_IO & 0xffU:
  case BLK_TA_UNPLUG_TIMER & 0xffU:
    return add_unplug(cursor, step, trace);
  case BLK_TA_SPLIT & 0xffU:
    return add_split(cursor, step, trace);
  case BLK_TA_REMAP & 0xffU:
    return add_remap(cursor, step, trace);
  default:
    trace.left_out("actions that iotrail has no event for");
    return true;
  }
}

// "sda" of "/x/sda.blktrace.0"; empty: the file has another name.
std::string_view blktrace_device_name(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1); // npos + 1 is 0
  const std::size_t end = path.find(".blktrace.");
  return end == std::string_view::npos ? "" : path.substr(0, end);
}

void take_record(BlktraceCursor& cursor, BlockRequests& requests, TraceBuilder& trace) {
  if ((cursor.record.action >> BLK_TC_SHIFT & BLK_TC_NOTIFY) != 0)
    return take_note(cursor, trace);
  if (!add_action(cursor, requests, trace))
    return trace.malformed(*cursor.input, "its time is impossible");
  const std::string_view name = blktrace_device_name(cursor.input->path());
  if (!name.empty() && cursor.record.device != 0)
    trace.name_device(cursor.record.device, name);
}

Result<void> read_blktrace(std::span<Input> inputs, TraceBuilder& trace) {
  BlockRequests requests(trace);
  std::vector<BlktraceCursor> cursors;
  for (Input& input : inputs)
    if (BlktraceCursor cursor{&input}; read_next(cursor, trace))
      cursors.push_back(std::move(cursor));
  const auto is_later = [](const BlktraceCursor& a, const BlktraceCursor& b) {
    return a.record.time != b.record.time ? a.record.time > b.record.time
                                          : a.record.sequence > b.record.sequence;
  };
  std::ranges::make_heap(cursors, is_later);
  while (!cursors.empty() && !trace.is_stopped()) {
    std::ranges::pop_heap(cursors, is_later);
    take_record(cursors.back(), requests, trace);
    if (read_next(cursors.back(), trace))
      std::ranges::push_heap(cursors, is_later);
    else
      cursors.pop_back();
  }
  return check_inputs(inputs);
}

} // namespace

extern const ImportFormat kImportFormatBlktrace = {
    .name = "blktrace",
    .doc = "blktrace, a file a processor",
    .lacks = "system calls, files, the process of a thread, causes of requests",
    .recognizes = is_blktrace,
    .read = read_blktrace,
};

} // namespace iotrail::import
