// SPDX-License-Identifier: BSD-3-Clause
//
// A line of strace -f -ttt -T -yy, taken apart. Views are of the text that was given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iotrail::import {

struct StraceLine {
  std::uint32_t tid = 0; // 0: the line names none, as in a trace of one process
  std::uint64_t at_ns = 0;
  std::string_view rest; // "read(3, ...) = 5 <0.000012>"
};
// Empty: no such line.
std::optional<StraceLine> strace_line(std::string_view line);

// "3</tmp/x>": a number with the name that strace found for it.
struct StraceNumber {
  std::int64_t number = 0;
  std::string_view name; // "/tmp/x", still escaped; empty: none
};
std::optional<StraceNumber> strace_number(std::string_view text);

struct StraceCall {
  std::string_view name;
  std::vector<std::string_view> arguments;
  bool has_result = false; // false: "?", the call did not return
  StraceNumber result;
  std::string_view error;        // "ENOENT"; empty: none
  std::uint64_t duration_ns = 0; // 0: not in the line
};
// A call with its end: "read(3, ...) = 5 <0.000012>". Empty: no such text.
std::optional<StraceCall> strace_call(std::string_view text);

// The text between quotes, without the escapes: of "\"a\\n\"..." it is "a\n". Empty: NULL, or an
// address.
std::string strace_text(std::string_view argument);
// The same for a name between angle brackets; what strace adds to it is left out:
// "/dev/sda<block 8:0>" is "/dev/sda".
std::string strace_name(std::string_view name);

// 0: unknown.
int errno_of_name(std::string_view name);

} // namespace iotrail::import
