// SPDX-License-Identifier: BSD-3-Clause
//
// The manifest of an anonymized trace.
#pragma once

#include <string>
#include <string_view>

#include "anonymize/pseudonyms.hpp"
#include "base/result.hpp"
#include "store/format/layout.hpp"
#include "store/format/manifest.hpp"

namespace iotrail::anonymize {

// Another trace has another number, which still is the same for the same trace.
store::TraceId anonymous_id(std::string_view trace_id, const Pseudonyms& names);

store::Manifest anonymous_manifest(const store::Manifest& manifest, const Pseudonyms& names);

// The text of the manifest, with the schema of `stored`, the original's text. Members that this
// version does not know are left out. Where `stored` is damaged, the schema is this version's.
std::string manifest_text(const store::Manifest& manifest, std::string_view stored);

} // namespace iotrail::anonymize
