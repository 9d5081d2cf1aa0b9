// SPDX-License-Identifier: BSD-3-Clause
//
// What a task waited for, from the functions of the kernel that it waited in.
//
// A stack is a list of names, outermost first, separated by semicolons: "vfs_read;pipe_read;schedule". It may come from a
// stranger's trace: any text has an answer.
#pragma once

#include <span>
#include <string_view>

namespace iotrail::schema {

// A row WAIT_REASON of wait_functions.def.
struct WaitReason {
  std::string_view name;
  bool is_for_others; // what somebody else does ends the wait, not I/O of files
  std::string_view doc;
};
std::span<const WaitReason> wait_reasons();

// The name of a reason; "other": none of the functions tells.
std::string_view wait_reason(std::string_view stack);

// The function that waited: the innermost one that is not the means by which tasks wait for many things; the innermost of
// all if there is none; "" of an empty stack. Part of `stack`, without what a compiler adds to names.
std::string_view wait_place(std::string_view stack);

} // namespace iotrail::schema
