// SPDX-License-Identifier: BSD-3-Clause
//
// The types of Arrow that its files name by a number and a table of arguments.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "analysis/engine/arrow_interface.hpp"
#include "base/result.hpp"

namespace iotrail::output {

// The buffers of a column behind its bits of validity.
enum class ArrowLayout : std::uint8_t {
  fixed,     // values of `width` bytes
  bits,      // a bit a value
  text,      // ends of values, then their bytes
  list,      // ends of lists; the child has their values
  structure, // none; the children have the values
};

// A number in the table of a type.
struct ArrowArgument {
  std::uint8_t bytes = 0; // 0: there is none
  std::int32_t value = 0;
};

struct ArrowType {
  std::string_view format; // in the C data interface, up to its arguments
  std::uint8_t number;     // in files
  ArrowLayout layout;
  std::size_t width = 0;
  std::array<ArrowArgument, 3> arguments{};
  std::string_view zone{}; // of times; valid as long as the schema
};

// Refuses types that are not written, and says what to do.
Result<ArrowType> arrow_type(const ArrowSchema& field);

} // namespace iotrail::output
