// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/manifest_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <xxhash.h>

#include "store/format/manifest.hpp"

namespace iotrail::store {
namespace {

constexpr int kDepthMax =
    8; // the deepest of ours: a column's name in the list of a table in the list of all

// The parser compares each name with all earlier ones of its object, so that shape_of() must refuse
// too many names before.
constexpr std::size_t kMembersMax = 1U << 16U;

std::string seal_of(std::string_view body) {
  return fmt::format(",\n \"checksum\": \"{:016x}\"\n}}\n", XXH3_64bits(body.data(), body.size()));
}

// Any changed byte breaks the seal: the seal itself is compared byte by byte.
bool is_sealed(std::string_view text) {
  const std::size_t seal_bytes = seal_of("").size();
  if (text.size() < seal_bytes)
    return false;
  const std::string_view body = text.substr(0, text.size() - seal_bytes);
  return text.substr(body.size()) == seal_of(body);
}

// The measures on which the parser's time and stack depend.
struct Shape {
  int depth =
      0; // of arrays and objects in one another; looked at up to one more than the deepest of ours
  std::size_t largest = 0; // members of the largest object
  std::size_t members = 0; // members of all objects
};

// Ignores braces and colons inside texts. Stops as soon as the nesting is too deep.
Shape shape_of(std::string_view json) {
  Shape shape;
  std::array<std::size_t, kDepthMax + 1> members{}; // of the open object at each depth
  int depth = 0;
  bool is_text = false;
  for (std::size_t i = 0; i < json.size() && depth >= 0 && shape.depth <= kDepthMax; ++i) {
    const char c = json[i];
    if (c == '"') {
      is_text = !is_text;
    } else if (is_text) {
      i += c == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      shape.depth = std::max(shape.depth, ++depth);
      if (depth <= kDepthMax)
        members[static_cast<std::size_t>(depth)] = 0;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ':') {
      ++shape.members;
      shape.largest = std::max(shape.largest, ++members[static_cast<std::size_t>(depth)]);
    }
  }
  return shape;
}

std::unexpected<Error> future_version(std::int64_t version) {
  return std::unexpected(
      Error{fmt::format("its format version is {}", version),
            fmt::format("this iotrail reads versions up to {}", Manifest::kFormatVersion),
            "read it with the version of iotrail that recorded it, or a newer one", ENOTSUP});
}

} // namespace

std::unexpected<Error> damaged_manifest(std::string why) {
  return fail("the manifest is damaged", std::move(why),
              "the events may still be whole: iotrail report reads them without it");
}

std::string seal(std::string_view body) {
  return std::string(body) + seal_of(body);
}

std::string sealed_text(Json object) {
  object.erase("checksum");
  std::string text = object.dump(1, ' ', true, Json::error_handler_t::replace);
  text.resize(text.size() - std::string_view("\n}").size());
  return seal(text);
}

Result<Json> parse_manifest(std::string_view text) {
  const Shape shape = shape_of(text);
  if (shape.largest > Manifest::kNamesMax || shape.members > kMembersMax)
    return damaged_manifest("it has more tags, counters or other names than any recording");
  // The parser and the writer recurse: unbounded nesting would overflow the stack.
  Json json = shape.depth > kDepthMax ? Json() : Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("format_version") ||
      !json["format_version"].is_number_integer())
    return damaged_manifest("it is not JSON with a format_version");
  const auto version = json["format_version"].get<std::int64_t>();
  if (version > Manifest::kFormatVersion)
    return future_version(version);
  if (!json.contains("checksum"))
    return damaged_manifest("it has no checksum");
  if (!is_sealed(text))
    return damaged_manifest("its checksum does not fit");
  if (version < 1)
    return damaged_manifest(fmt::format("format version {}", version));
  return json;
}

} // namespace iotrail::store
