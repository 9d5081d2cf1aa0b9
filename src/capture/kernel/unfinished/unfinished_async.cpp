// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/unfinished/unfinished_async.hpp"

#include "capture/kernel/unfinished/unfinished_record.hpp"

namespace iotrail::capture::kernel {
namespace {

RecordSlot async_record(const iot_async& async, std::uint64_t stopped_ns, bool are_ends_missed) {
  RecordSlot record{};
  auto& operation = as<iot_async_operation>(record);
  set_header(operation.event, async.owner, async.start_ns, IOT_KIND_async_operation);
  // Otherwise it may have ended without a completion.
  if ((async.flags & IOT_sqe_CQE_SKIP_SUCCESS) == 0 && !are_ends_missed)
    operation.duration_ns = length_ns(async.start_ns, stopped_ns);
  operation.handed_over_ns = async.handed_over_ns;
  operation.user_data = async.user_data;
  operation.ring = async.ring;
  operation.offset = async.offset;
  operation.bytes_requested = async.bytes_requested;
  operation.result = IOT_UNFINISHED;
  operation.file = async.file;
  operation.fd = async.fd;
  operation.call = async.call;
  operation.flags = async.flags;
  return record;
}

RecordSlot paths_record(const iot_async& async, std::uint64_t stopped_ns) {
  RecordSlot record{};
  auto& row = as<iot_async_path>(record);
  set_header(row.event, async.owner, stopped_ns, IOT_KIND_async_path);
  row.result = IOT_UNFINISHED;
  row.file = async.file;
  row.path = async.paths.path;
  row.new_path = async.paths.new_path;
  row.fd = async.paths.fd;
  row.new_fd = async.paths.new_fd;
  row.call = async.call;
  row.open_flags = IOT_OPEN_FLAGS(async.call, async.paths.flags);
  row.rename_flags = IOT_RENAME_FLAGS(async.call, async.paths.flags);
  row.flags = IOT_OTHER_FLAGS(async.call, async.paths.flags);
  return record;
}

} // namespace

void add_unfinished_async(const iot_async& async, const iot_config& config,
                          std::uint64_t stopped_ns, bool are_ends_missed,
                          std::vector<RecordSlot>& records) {
  if (is_wanted(config, IOT_KIND_async_operation))
    records.push_back(async_record(async, stopped_ns, are_ends_missed));
  if (is_wanted(config, IOT_KIND_async_path) && async.paths.is_given)
    records.push_back(paths_record(async, stopped_ns));
}

} // namespace iotrail::capture::kernel
