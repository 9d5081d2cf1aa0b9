// SPDX-License-Identifier: BSD-3-Clause
//
// Arguments of the system calls in progress. The kernel's programs read them when a call returns; those of one that hangs
// are asked of /proc/TID/syscall.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/collect/rings.hpp"
#include "schema.hpp"

namespace iotrail::capture::kernel {

using Arguments = std::array<iot_u64, 6>;
using ArgumentsOfCalls = std::unordered_map<iot_u64, Arguments>; // by operation

// Of the text of /proc/TID/syscall. Nothing: the thread runs, or is in another call, or the text is no such text.
std::optional<Arguments> parse_arguments(std::string_view text, iot_u32 number);

// Of the native call that `task` is in. The thread may enter another of the same number while it is looked at: the arguments are
// those of its operation if it is in that afterwards, too. Nothing: /proc does not tell.
std::optional<Arguments> read_arguments(const iot_task& task);

// The number of the call that a thread sleeps in. Nothing: it runs, or sleeps elsewhere.
std::optional<iot_u32> read_call_number(iot_u32 tid);

// Gives a record of a call that did not end what its arguments say that need not be read from memory.
void set_what_was_asked(RecordSlot& record, const iot_task& task, const schema::Event& event,
                        const Arguments& arguments);

} // namespace iotrail::capture::kernel
