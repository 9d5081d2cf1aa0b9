// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/unfinished/unfinished_record.hpp"

#include <algorithm>

namespace iotrail::capture::kernel {

bool is_wanted(const iot_config& config, iot_u32 kind) {
  return config.wanted[IOT_LAYER_OF(kind)][kind % IOT_KIND_LIMIT] != 0;
}

void set_header(iot_event& event, const iot_owner& owner, std::uint64_t start_ns, iot_u16 kind) {
  event.ts_ns = start_ns;
  event.op_id = owner.op_id;
  event.parent_op = owner.parent_op;
  event.pid = owner.pid;
  event.tid = owner.tid;
  event.cpu = IOT_CPU_UNKNOWN;
  event.kind = kind;
}

std::uint64_t length_ns(std::uint64_t begin_ns, std::uint64_t end_ns) {
  return end_ns - std::min(begin_ns, end_ns);
}

void set_unended(RecordSlot& record, const schema::Event& event, std::uint64_t duration_ns) {
  for (const schema::Field& field : event.fields) {
    if (field.role == schema::Role::duration)
      store(record, field.offset, duration_ns);
    else if (schema::is_result(field.meaning))
      store(record, field.offset, iot_s64{IOT_UNFINISHED});
    else if (field.meaning == schema::Meaning::offset)
      store(record, field.offset, iot_s64{IOT_OFFSET_NONE});
    else if (field.meaning == schema::Meaning::fd)
      store(record, field.offset, iot_s32{IOT_NO_FD});
  }
}

} // namespace iotrail::capture::kernel
