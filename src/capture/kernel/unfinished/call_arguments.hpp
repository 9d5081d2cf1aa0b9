// SPDX-License-Identifier: BSD-3-Clause
//
// Arguments of the system calls in progress. The BPF programs read them when a call returns; those
// of a call that hangs come from /proc/TID/syscall.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/collect/rings.hpp"
#include "schema.hpp"

namespace iotrail::capture::kernel {

using Arguments = std::array<iot_u64, 6>;

// Parses the text of /proc/TID/syscall. Nothing: the thread runs, or is in another call, or the
// text is invalid.
std::optional<Arguments> parse_arguments(std::string_view text, iot_u32 number);

// The arguments of the native call of this number that a thread is in. The thread may enter another
// one meanwhile: the arguments are those of its operation if it is in that afterwards, too.
// Nothing: /proc does not have them.
std::optional<Arguments> read_arguments(iot_u32 tid, iot_u32 number);

// The number of the call that a thread sleeps in. Nothing: it runs, or sleeps outside of calls.
std::optional<iot_u32> read_call_number(iot_u32 tid);

// Sets the fields of an unfinished call that its arguments determine without reads of memory.
void set_what_was_asked(RecordSlot& record, const iot_task& task, const schema::Event& event,
                        const Arguments& arguments);

} // namespace iotrail::capture::kernel
