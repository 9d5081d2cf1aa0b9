// SPDX-License-Identifier: BSD-3-Clause
//
// A manifest as text: one JSON object with the checksum of all bytes before it as its last member.
// It is ASCII: texts in it come from other programs and must not control a terminal.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.hpp"

namespace iotrail::store {

using Json = nlohmann::ordered_json;

// The text to store, with its checksum. File names and arguments need not be UTF-8: other bytes
// become U+FFFD.
std::string sealed_text(Json object);

// Seals the text of an object, given without its closing brace.
std::string seal(std::string_view body);

// Parses the object if its checksum is right, its format known and its nesting not too deep. It
// looks at the format first: another version may seal in another way. Its error then has the code
// ENOTSUP.
Result<Json> parse_manifest(std::string_view text);

// Why the manifest is not trusted: damaged, or written by another program.
std::unexpected<Error> damaged_manifest(std::string why);

} // namespace iotrail::store
