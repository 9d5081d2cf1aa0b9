// SPDX-License-Identifier: BSD-3-Clause
//
// A manifest as text: one JSON object whose last member is the checksum of all bytes before it. Written in ASCII, so that
// the texts in it, chosen by others, cannot give orders to a terminal.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.hpp"

namespace iotrail::store {

using Json = nlohmann::ordered_json;

// The object as it is stored, with its checksum. Names of files and arguments need not be UTF-8: what is not becomes U+FFFD.
std::string sealed_text(Json object);

// The text of an object without its closing brace, sealed.
std::string seal(std::string_view body);

// The object, if its checksum fits, its format is known and it is not deeper than any manifest. The format is looked at
// first: what another version seals in another way is refused with the code ENOTSUP.
Result<Json> parse_manifest(std::string_view text);

// Why a manifest is not believed: it is damaged, or was written by somebody else.
std::unexpected<Error> damaged_manifest(std::string why);

} // namespace iotrail::store
