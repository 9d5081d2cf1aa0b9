// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers of a trace as words, by what they mean. Used by SQL and by all outputs, so that a flag or an error reads the
// same everywhere. A number without a name stays a number; nothing is dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schema.hpp"

namespace iotrail::schema {

// What the words of a meaning are made of.
enum class Wording : std::uint8_t {
  number, // none: the number says it
  value,  // one name out of a table: "pread64"
  flags,  // names of bits: "O_RDWR|O_CREAT"
  device, // "259:1"
  mode,   // octal: "0644"
  handle, // hexadecimal: an address, or what else is only compared
  result, // a number, or the name of an error: "ENOENT"
};
Wording wording(Meaning meaning);

// The words for a number of the meaning; the number in digits where it has none. Of signed fields: two's complement.
std::string number_text(Meaning meaning, std::uint64_t number);

// "pread64" for ("syscall", 17); the number itself where the table has no such value. Tables are those of values.def.
std::string value_text(std::string_view table, std::uint64_t number);

// "O_RDWR|O_CREAT", "write|sync|meta"; unknown bits as one hexadecimal number at the end; "0" for no flag.
std::string flags_text(std::string_view table, std::uint64_t flags);

// "read" of the same flags: the name of what they choose; "" where the table has no choice.
std::string choice_text(std::string_view table, std::uint64_t flags);

// The table that names the bits of a set of flags beside what they choose: "block_hint" for "block".
std::string_view bits_table(std::string_view table);

// An operation in short: "1.27" is the 27th of CPU 1, "p3.7" the 7th of thread 3 that the preload library follows.
std::string op_text(std::uint64_t op);

// "ENOENT" for -2; "unfinished" for IOT_UNFINISHED; "" for 0 and above, which are results; the number where the C
// library has no name.
std::string errno_name(std::int64_t error);

} // namespace iotrail::schema
