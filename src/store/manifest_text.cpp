// SPDX-License-Identifier: BSD-3-Clause
#include "store/manifest_text.hpp"

#include <algorithm>
#include <cerrno>

#include <xxhash.h>

#include "store/manifest.hpp"

namespace iotrail::store {
namespace {

constexpr int kDepthMax =
    8; // the deepest of ours: a column's name in the list of a table in the list of all

std::string seal_of(std::string_view body) {
  return fmt::format(",\n \"checksum\": \"{:016x}\"\n}}\n", XXH3_64bits(body.data(), body.size()));
}

// No text and no seal differ in a byte and still fit: the seal's own bytes are compared one by one.
bool is_sealed(std::string_view text) {
  const std::size_t seal_bytes = seal_of("").size();
  if (text.size() < seal_bytes)
    return false;
  const std::string_view body = text.substr(0, text.size() - seal_bytes);
  return text.substr(body.size()) == seal_of(body);
}

// Of arrays and objects in one another; braces inside of texts do not count.
int depth_of(std::string_view json) {
  int depth = 0;
  int deepest = 0;
  bool is_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"')
      is_text = !is_text;
    else if (is_text)
      i += c == '\\' ? 1 : 0;
    else if (c == '[' || c == '{')
      deepest = std::max(deepest, ++depth);
    else if (c == ']' || c == '}')
      --depth;
  }
  return deepest;
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
  // What is nested without end would be written with a stack without end.
  Json json = depth_of(text) > kDepthMax ? Json() : Json::parse(text, nullptr, false);
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
