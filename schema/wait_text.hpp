// SPDX-License-Identifier: BSD-3-Clause
//
// The reason of a wait, from the kernel functions in which the task waited.
//
// A stack is a list of names, outermost first, separated by semicolons:
// "vfs_read;pipe_read;schedule". It may come from an untrusted trace: any text has an answer.
#pragma once

#include <span>
#include <string_view>

namespace iotrail::schema {

// A row WAIT_REASON of wait_functions.def.
struct WaitReason {
  std::string_view name;
  bool is_for_others; // another program ends the wait, not I/O of files
  std::string_view doc;
};
std::span<const WaitReason> wait_reasons();

// The name of a reason; "other": no function matches.
std::string_view wait_reason(std::string_view stack);

// The function that waited: the innermost one that is not a general wait function; else the
// innermost of all; "" for an empty stack. A part of `stack`, without compiler suffixes.
std::string_view wait_place(std::string_view stack);

} // namespace iotrail::schema
