// SPDX-License-Identifier: BSD-3-Clause
//
// A format of rows. Each is one file, formats/<name>.cpp, which defines `extern const Format
// kFormat<Name>`. The build finds it; no list names it. formats/csv.cpp is the simplest and serves
// as the model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "export/output.hpp"

namespace iotrail::output {

// The form of a whole trace: one stream with rows of all tables, or one file for each table.
enum class Gives : std::uint8_t { stream, file_a_table };

struct Format {
  std::string_view name; // also the suffix of its files
  std::string_view doc;
  Gives gives;
  // `width`: of a table for people; columns may be shortened or omitted to fit it.
  std::unique_ptr<Output> (*make)(Sink& sink, std::size_t width);
};

// All formats, in the order of their names. The build generates this function.
std::span<const Format* const> formats();

// nullptr: no such format
inline const Format* find_format(std::string_view name) {
  const auto found = std::ranges::find(formats(), name, &Format::name);
  return found == formats().end() ? nullptr : *found;
}

} // namespace iotrail::output
