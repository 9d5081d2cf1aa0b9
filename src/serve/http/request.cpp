// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/request.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace iotrail::serve {

namespace {

constexpr std::size_t kHeadersMost = 64;

std::unexpected<Refusal> refuse(int status, std::string why) {
  return std::unexpected(Refusal{status, std::move(why)});
}

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kMarks.contains(c);
  });
}

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

int digit_of(char c) {
  int digit = -1;
  std::from_chars(&c, &c + 1, digit, 16);
  return digit;
}

// Once only: what is encoded twice stays encoded. nullopt: malformed, or has a NUL.
std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? digit_of(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0))
      return {};
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

// Takes the text before the first `mark`, which goes too.
std::string_view take(std::string_view& text, std::string_view mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + mark.size(), text.size()));
  return taken;
}

bool parse_target(std::string_view target, Request& request) {
  if (!target.starts_with('/') || !is_visible(target) || target.contains('#'))
    return false;
  std::string_view path = take(target, "?");
  path.remove_prefix(1);
  for (bool is_last = false; !is_last;) {
    is_last = !path.contains('/');
    const auto segment = decoded(take(path, "/"));
    if (!segment)
      return false;
    request.path.push_back(*segment);
  }
  while (!target.empty()) {
    std::string_view pair = take(target, "&");
    const auto name = decoded(take(pair, "="));
    const auto value = decoded(pair);
    if (!name || !value || !request.query.emplace(*name, *value).second)
      return false;
  }
  return true;
}

std::expected<void, Refusal> parse_header(std::string_view line, Request& request) {
  const bool has_colon = line.contains(':');
  const std::string_view name = take(line, ":");
  if (!has_colon || !is_token(name) || request.headers.size() == kHeadersMost)
    return refuse(400, "a header line is malformed, or there are too many");
  while (line.starts_with(' ') || line.starts_with('\t'))
    line.remove_prefix(1);
  while (line.ends_with(' ') || line.ends_with('\t'))
    line.remove_suffix(1);
  if (std::ranges::any_of(line, [](char c) { return static_cast<unsigned char>(c) < ' '; }))
    return refuse(400, "a header has a control character");
  std::string key(name);
  std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool is_new = request.headers.emplace(key, line).second;
  if (!is_new && (key == "host" || key == "content-length" || key == "origin"))
    return refuse(400, fmt::format("there are two headers {}", key));
  return {};
}

std::expected<void, Refusal> parse_body_size(Request& request) {
  if (!request.header("transfer-encoding").empty())
    return refuse(411, "a body needs a Content-Length");
  const std::string_view text = request.header("content-length");
  if (text.empty())
    return {};
  const auto [end, problem] =
      std::from_chars(text.data(), text.data() + text.size(), request.body_bytes);
  if (problem == std::errc::result_out_of_range)
    return refuse(413, "the body is too long");
  if (problem != std::errc{} || end != text.data() + text.size())
    return refuse(400, "Content-Length is no number");
  if (request.body_bytes > kBodyBytesMost)
    return refuse(413, fmt::format("the body is longer than {} bytes", kBodyBytesMost));
  return {};
}

} // namespace

std::string_view Request::header(std::string_view name) const {
  const auto found = headers.find(std::string(name));
  return found == headers.end() ? std::string_view() : found->second;
}

std::expected<Request, Refusal> parse_head(std::string_view head) {
  std::string_view first = take(head, "\r\n");
  Request request;
  request.method = take(first, " ");
  const std::string_view target = take(first, " ");
  if (!is_token(request.method) || (first != "HTTP/1.1" && first != "HTTP/1.0"))
    return refuse(400, "this is no HTTP/1.1");
  if (!parse_target(target, request))
    return refuse(400, "the address is malformed");
  while (!head.empty())
    if (const auto parsed = parse_header(take(head, "\r\n"), request); !parsed)
      return std::unexpected(parsed.error());
  if (const auto parsed = parse_body_size(request); !parsed)
    return std::unexpected(parsed.error());
  return request;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kMarks = "-._~";
  std::string encoded;
  for (const char c : text)
    if ((std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<signed char>(c) > 0) ||
        kMarks.contains(c))
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  // A browser would take these for directories.
  return encoded == "." ? "%2E" : encoded == ".." ? "%2E%2E" : encoded;
}

} // namespace iotrail::serve
