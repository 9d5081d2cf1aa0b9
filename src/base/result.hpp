// SPDX-License-Identifier: BSD-3-Clause
//
// Failed operations return a Result<T> up to cli/, which prints it once. Programmer errors abort by
// CHECK. Imperfect data is neither: it is a counter of schema/stats.def.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace iotrail {

// Failures that callers handle in different ways; all others are `operation`.
enum class Failure { operation, usage, command_not_found, command_not_executable };

// The failed operation and its object (`what`), the reason (`why`), and the remedy (`hint`, may be
// empty).
struct Error {
  std::string what;
  std::string why;
  std::string hint;
  int code = 0; // errno, if the system refused; 0 otherwise
  Failure kind = Failure::operation;
  bool has_lines =
      false; // `why` shows lines of a query; without it, no text of the user ends a line

  std::string line() const { return why.empty() ? what : what + ": " + why; }

  // The message, followed by the hint on lines of its own.
  std::string message() const {
    std::string text = line();
    if (!hint.empty())
      text += "\n  " + hint;
    return text;
  }
};

// "No such file or directory (ENOENT)"
inline std::string errno_text(int code) {
  const char* name = strerrorname_np(code);
  const char* more = code == EFBIG    ? ", `ulimit -f` tells the limit"
                     : code == EEXIST ? ", and nothing is written over"
                                      : "";
  return fmt::format("{} ({}){}", strerrordesc_np(code) ? strerrordesc_np(code) : "unknown error",
                     name ? name : "?", more);
}

template <class T> using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(std::string what, std::string why = {}, std::string hint = {}) {
  return std::unexpected(Error{std::move(what), std::move(why), std::move(hint)});
}

// `code` defaults to the errno of the call that has just failed; read it before anything else can
// change it.
inline std::unexpected<Error> fail_errno(std::string what, int code = errno,
                                         std::string hint = {}) {
  return std::unexpected(Error{std::move(what), errno_text(code), std::move(hint), code});
}

inline std::unexpected<Error> fail_usage(std::string what, std::string why = {},
                                         std::string hint = {}) {
  return std::unexpected(
      Error{std::move(what), std::move(why), std::move(hint), 0, Failure::usage});
}

#define IOTRAIL_CHECK(condition)                                                                   \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "iotrail: bug: %s (%s:%d)\n", #condition, __FILE__, __LINE__);          \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)

} // namespace iotrail
