// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace iotrail::cli {

// The statements of a text in SQL, one after the other. A semicolon ends each; the last one needs none. Quotes and comments
// may contain semicolons. Reads no more of the file than the statement, so that its writer can wait for the answer.
class SqlStatements {
public:
  explicit SqlStatements(std::FILE* file) : file_(file) {}

  // Without its semicolon; none: the text has ended. Fails if it is longer than a statement may be, or not readable.
  Result<std::optional<std::string>> next();

private:
  std::FILE* file_;
};

} // namespace iotrail::cli
