// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers of a trace as words: the names behind the meanings of schema/meanings.def. Used by SQL and by all outputs,
// so that a flag or an error reads the same everywhere. A number without a name stays a number; nothing is dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace iotrail::analysis {

// "pread64" for ("syscall", 17); the number itself where the table has no such value. Tables are those of
// values.def, and "counter" and "layer".
std::string value_text(std::string_view table, std::uint64_t number);

// "O_RDWR|O_CREAT", "write|sync|meta"; unknown bits as one hexadecimal number at the end; "0" for no flag.
std::string flags_text(std::string_view table, std::uint64_t flags);

// "ENOENT" for -2; "" for 0 and above, which are results; the number where the C library has no name.
std::string errno_name(std::int64_t error);

// "259:1" for a device number as the schema has it (major << 20 | minor).
std::string device_number_text(std::uint64_t device);

// The table behind a meaning as a trace spells it: "syscall" for "value_syscall"; "" for any other meaning.
std::string_view value_table_of(std::string_view meaning);
std::string_view flags_table_of(std::string_view meaning);

} // namespace iotrail::analysis
