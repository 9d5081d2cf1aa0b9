// SPDX-License-Identifier: BSD-3-Clause
//
// The head of an HTTP request. Every byte of it is hostile: what is not plainly right is refused.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace iotrail::serve {

inline constexpr std::size_t kHeadBytesMost = 16U << 10U;
inline constexpr std::size_t kBodyBytesMost = 64U << 10U;

struct Refusal {
  int status = 400; // of HTTP
  std::string why{};
};

struct Request {
  std::string method;
  std::vector<std::string> path;              // "/a/b%20c/" is {"a", "b c", ""}
  std::map<std::string, std::string> query;   // "?a=1" is {{"a", "1"}}
  std::map<std::string, std::string> headers; // names in small letters
  std::size_t body_bytes = 0;

  // "": there is none
  std::string_view header(std::string_view name) const;
};

// `head`: up to the blank line, without it.
std::expected<Request, Refusal> parse_head(std::string_view head);

// "a b" -> "a%20b": one segment of a path.
std::string percent_encoded(std::string_view text);

} // namespace iotrail::serve
