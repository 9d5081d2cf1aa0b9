// SPDX-License-Identifier: BSD-3-Clause
//
// The common fields of records of spans that did not end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/collect/rings.hpp"
#include "schema.hpp"

namespace iotrail::capture::kernel {

inline iot_event& event_of(RecordSlot& record) {
  return reinterpret_cast<iot_event&>(record);
}

template <class Record> Record& as(RecordSlot& record) {
  return reinterpret_cast<Record&>(record);
}

template <class T> void store(RecordSlot& record, std::size_t offset, T value) {
  std::memcpy(record.bytes + offset, &value, sizeof value);
}

bool is_wanted(const iot_config& config, iot_u32 kind);

// The CPU is unknown.
void set_header(iot_event& event, const iot_owner& owner, std::uint64_t start_ns, iot_u16 kind);

// A span that began while the recording was being stopped has no length.
std::uint64_t length_ns(std::uint64_t begin_ns, std::uint64_t end_ns);

// Sets each field of `event` to its value for an unknown end: the result is IOT_UNFINISHED, offsets
// and descriptors are none. Others stay 0.
void set_unended(RecordSlot& record, const schema::Event& event, std::uint64_t duration_ns);

} // namespace iotrail::capture::kernel
