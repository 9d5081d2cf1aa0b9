// SPDX-License-Identifier: BSD-3-Clause
//
// The schema inside a manifest: what the rows of the trace's blocks are.
#pragma once

#include <vector>

#include "store/format/manifest.hpp"
#include "store/format/manifest_text.hpp"

namespace iotrail::store {

// Of this version.
Json schema_json();

// Whatever is accepted can be trusted: names are of small letters, digits and underscores, no two tables share a kind or a name,
// no two columns of a table a name, and there are not too many of either.
Result<std::vector<TableInfo>> tables_from_json(const Json& schema);

} // namespace iotrail::store
