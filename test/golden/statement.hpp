// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "schema.hpp"

namespace iotrail::golden {

// One line of a text trace.
struct Statement {
  std::string word;
  std::map<std::string, std::string> values;

  // "" if there is no such name.
  const std::string& get(const std::string& name) const;
};

// nullopt: an empty line or a comment.
Result<std::optional<Statement>> parse_statement(std::string_view line);

// A value by the meaning of its field: number, name from a value table, flags, errno, device. Not
// for files and paths, which are no numbers.
Result<std::uint64_t> parse_number(std::string_view text, schema::Meaning meaning);

} // namespace iotrail::golden
