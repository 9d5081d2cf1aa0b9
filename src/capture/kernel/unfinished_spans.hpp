// SPDX-License-Identifier: BSD-3-Clause
//
// Spans of a task that are open when a recording stops: of the virtual file system, of faults, of file systems, of memory
// management. What the layers share that make records of what did not end is here too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "capture/kernel/kernel_abi.h"
#include "capture/kernel/rings.hpp"
#include "schema.hpp"

namespace iotrail::capture::kernel {

inline iot_event& event_of(RecordSlot& record) {
  return reinterpret_cast<iot_event&>(record);
}

inline void set_header(iot_event& event, const iot_owner& owner, std::uint64_t start_ns,
                       iot_u16 kind) {
  event.ts_ns = start_ns;
  event.op_id = owner.op_id;
  event.parent_op = owner.parent_op;
  event.pid = owner.pid;
  event.tid = owner.tid;
  event.cpu = IOT_CPU_UNKNOWN;
  event.kind = kind;
}

// A span that began while the recording was being stopped has no length.
inline std::uint64_t length_ns(std::uint64_t begin_ns, std::uint64_t end_ns) {
  return end_ns - std::min(begin_ns, end_ns);
}

template <class T> void store(RecordSlot& record, std::size_t offset, T value) {
  std::memcpy(record.bytes + offset, &value, sizeof value);
}

// Appends a record of each open span of `task` that the recording is to have. They last until `stopped_ns`. Duration, file and
// result (IOT_UNFINISHED) are in all; of reads, writes, opens, syncs, faults and reclaims also what their begins told.
void add_unfinished_spans(const iot_task& task, const iot_config& config, std::uint64_t stopped_ns,
                          std::vector<RecordSlot>& records);

} // namespace iotrail::capture::kernel
