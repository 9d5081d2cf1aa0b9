// SPDX-License-Identifier: BSD-3-Clause
//
// Text for the numbers in a trace, by their meaning. SQL and all outputs use it, so that a flag or
// an error reads the same everywhere. A number without a name is printed as a number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schema.hpp"

namespace iotrail::schema {

// Form of the text of a meaning.
enum class Wording : std::uint8_t {
  number, // a plain number
  value,  // one name of a table: "pread64"
  flags,  // names of bits: "O_RDWR|O_CREAT"
  device, // "259:1"
  mode,   // octal: "0644"
  handle, // hexadecimal: an address, or an identity
  result, // a number, or the name of an error: "ENOENT"
};
Wording wording(Meaning meaning);

// Text for a number of the meaning; digits if it has no name. Signed fields: two's complement.
std::string number_text(Meaning meaning, std::uint64_t number);

// Whether numbers of the meaning can stand for no value.
constexpr bool may_lack_value(Meaning meaning) {
  return meaning == Meaning::sector || meaning == Meaning::offset || meaning == Meaning::fd ||
         meaning == Meaning::permille || meaning == Meaning::bytes;
}

// false: the number stands for no value, as the sector of a flush or the descriptor -1. Signed
// fields: two's complement.
bool has_value(Meaning meaning, Type type, std::uint64_t number);

// "pread64" for ("syscall", 17); digits if the table has no such value. Tables are those of
// values.def.
std::string value_text(std::string_view table, std::uint64_t number);

// "O_RDWR|O_CREAT", "write|sync|meta"; unknown bits as one hexadecimal number at the end; "0" for no flag.
std::string flags_text(std::string_view table, std::uint64_t flags);

// "read" for the same flags: the name of their choice; "" if the table has no choice.
std::string choice_text(std::string_view table, std::uint64_t flags);

// The table with the names of the bits outside the choice: "block_hint" for "block".
std::string_view bits_table(std::string_view table);

// Short form of an operation: "1.27" is the 27th of CPU 1, "p3.7" the 7th of the third thread that
// preload follows.
std::string op_text(std::uint64_t op);

// "ENOENT" for -2; "unfinished" for IOT_UNFINISHED; "" for results of 0 and above; digits if the C
// library has no name.
std::string errno_name(std::int64_t error);

} // namespace iotrail::schema
