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

  // "" where there is no such name.
  const std::string& get(const std::string& name) const;
};

// nullopt: an empty line or a comment.
Result<std::optional<Statement>> parse_statement(std::string_view line);

// A value by the meaning of its field: number, name out of a value table, flags, errno, device. Files and paths are
// not numbers and not for this.
Result<std::uint64_t> parse_number(std::string_view text, schema::Meaning meaning);

} // namespace iotrail::golden
