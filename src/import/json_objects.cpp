// SPDX-License-Identifier: BSD-3-Clause
#include "import/json_objects.hpp"

namespace iotrail::import {
namespace {

constexpr std::size_t kPieceBytes = 64U << 10U;
constexpr std::string_view kEvents = "\"traceEvents\"";

} // namespace

JsonObjects::JsonObjects(Input& input) : input_(input) {
  if (input.head().find(kEvents) != std::string_view::npos)
    skip_to_events();
}

std::optional<char> JsonObjects::take() {
  if (at_ == bytes_.size()) {
    bytes_ = input_.peek(kPieceBytes);
    input_.skip(bytes_.size());
    at_ = 0;
  }
  return at_ == bytes_.size() ? std::nullopt : std::optional(bytes_[at_++]);
}

void JsonObjects::skip_to_events() {
  std::string last;
  while (const auto c = take()) {
    last += *c;
    if (last.ends_with(kEvents))
      break;
    if (last.size() > 2 * kEvents.size())
      last.erase(0, kEvents.size());
  }
  while (const auto c = take())
    if (*c == '[')
      return;
}

std::optional<std::string_view> JsonObjects::next() {
  object_.clear();
  int depth = 0;
  bool is_text = false;
  bool is_escaped = false;
  while (const auto c = take()) {
    if (depth == 0 && *c == ']')
      return std::nullopt;
    if (depth == 0 && *c != '{')
      continue; // commas, blanks and the bracket that begins the array
    if (object_.size() < kObjectBytesMost)
      object_ += *c;
    if (is_text) {
      is_text = is_escaped || *c != '"';
      is_escaped = !is_escaped && *c == '\\';
    } else if (*c == '"') {
      is_text = true;
    } else if (*c == '{' || *c == '[') {
      ++depth;
    } else if ((*c == '}' || *c == ']') && --depth == 0) {
      return object_;
    }
  }
  return object_.empty() ? std::nullopt : std::optional<std::string_view>(object_);
}

} // namespace iotrail::import
