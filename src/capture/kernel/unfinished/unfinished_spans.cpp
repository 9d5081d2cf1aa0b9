// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/unfinished/unfinished_spans.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "capture/kernel/unfinished/unfinished_record.hpp"
#include "schema.hpp"

namespace iotrail::capture::kernel {
namespace {

bool is_file_wanted(const iot_config& config, iot_u32 file) {
  const bool are_named = config.filter_files != 0 || config.filter_devices != 0;
  return (file != 0 || !are_named) && (file & IOT_FILE_UNWANTED) == 0;
}

// A copy is wanted for either of its files; the span has the other one in `reserved`.
bool is_span_wanted(const iot_config& config, const iot_span& span) {
  return is_wanted(config, span.kind) &&
         (is_file_wanted(config, span.file) ||
          (span.kind == IOT_KIND_vfs_copy && is_file_wanted(config, span.reserved)));
}

// The operation around `op_id`, 0: none; each operation of a task is inside the next. Nothing: it
// is over.
std::optional<iot_u64> parent_of(const iot_task& task, iot_u64 op_id) {
  if (task.owner.op_id == 0)
    return std::nullopt;
  if (op_id == task.owner.op_id)
    return task.owner.parent_op;
  iot_u64 inner = task.owner.parent_op;
  for (auto depth = std::min<iot_u32>(task.op_depth, IOT_OP_DEPTH); depth > 0; --depth) {
    const iot_u64 outer = task.outer_ops[depth - 1];
    if (inner == op_id)
      return outer;
    inner = outer;
  }
  return std::nullopt;
}

void set_what_the_begin_told(RecordSlot& record, const iot_span& span) {
  switch (span.kind) {
  case IOT_KIND_vfs_read:
  case IOT_KIND_vfs_write: { // of one shape
    auto& transfer = as<iot_vfs_read>(record);
    transfer.offset = span.offset;
    transfer.bytes_requested = span.bytes;
    transfer.flags = span.flags;
    return;
  }
  case IOT_KIND_vfs_open:
    as<iot_vfs_open>(record).flags = span.flags;
    return;
  case IOT_KIND_vfs_fsync: {
    auto& sync = as<iot_vfs_fsync>(record);
    sync.offset = span.offset;
    sync.end = static_cast<iot_s64>(span.bytes);
    sync.datasync = static_cast<iot_u32>(span.detail);
    return;
  }
  case IOT_KIND_fs_lock: {
    auto& lock = as<iot_fs_lock>(record);
    const iot_u64 until_wait_ns = span.detail - span.start_ns;
    lock.wait_ns = lock.duration_ns > until_wait_ns ? lock.duration_ns - until_wait_ns : 0;
    lock.offset = span.offset;
    lock.end = static_cast<iot_s64>(span.bytes);
    lock.lock = IOT_LOCK_TYPE(span.flags);
    lock.owner = IOT_LOCK_OWNER(span.flags);
    lock.call = IOT_LOCK_CALL(span.flags);
    lock.blocker = span.reserved;
    return;
  }
  case IOT_KIND_fault_file: {
    auto& fault = as<iot_fault_file>(record);
    fault.address = span.detail;
    fault.offset = span.offset;
    fault.access = span.flags;
    return;
  }
  case IOT_KIND_fs_sync:
    as<iot_fs_sync>(record).device = span.flags;
    as<iot_fs_sync>(record).datasync = static_cast<iot_u32>(span.detail & IOT_SPAN_DATASYNC);
    return;
  case IOT_KIND_memory_reclaim:
    as<iot_memory_reclaim>(record).page_order = static_cast<iot_u32>(span.detail);
    return;
  default:
    return;
  }
}

RecordSlot span_record(const iot_task& task, const iot_span& span, const schema::Event& event,
                       std::uint64_t stopped_ns) {
  RecordSlot record{};
  const std::optional<iot_u64> parent = parent_of(task, span.op_id);
  iot_owner owner = task.owner;
  owner.parent_op = parent.value_or(0);
  owner.op_id = span.op_id;
  set_header(event_of(record), owner, span.start_ns, event.id);
  set_unended(record, event, parent ? length_ns(span.start_ns, stopped_ns) : 0);
  for (const schema::Field& field : event.fields)
    if (field.role == schema::Role::file)
      store(record, field.offset, span.file & ~IOT_FILE_UNWANTED);
  set_what_the_begin_told(record, span);
  return record;
}

} // namespace

void add_unfinished_spans(const iot_task& task, const iot_config& config, std::uint64_t stopped_ns,
                          std::vector<RecordSlot>& records) {
  const auto depth = std::min<std::size_t>(task.span_depth, IOT_SPAN_DEPTH);
  for (const iot_span& span : std::span(task.spans).first(depth)) {
    const schema::Event* const event = schema::find_event(static_cast<std::uint16_t>(span.kind));
    if (event != nullptr && is_span_wanted(config, span))
      records.push_back(span_record(task, span, *event, stopped_ns));
  }
}

} // namespace iotrail::capture::kernel
