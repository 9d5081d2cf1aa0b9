// SPDX-License-Identifier: BSD-3-Clause
//
// The schema inside a manifest: the tables and columns of the trace's blocks.
#pragma once

#include <vector>

#include "store/format/manifest.hpp"
#include "store/format/manifest_text.hpp"

namespace iotrail::store {

// The schema of this version.
Json schema_json();

// Callers can trust the result. All names consist of small letters, digits and underscores. No two
// tables share a kind or a name, no two columns of a table share a name. The number of both is
// bounded.
Result<std::vector<TableInfo>> tables_from_json(const Json& schema);

} // namespace iotrail::store
