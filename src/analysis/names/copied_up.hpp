// SPDX-License-Identifier: BSD-3-Clause
//
// overlayfs copies a file to another file system before it is changed. The copy is made without a
// name, or under a number in a directory of overlayfs. Programs know it by the name of the file.
#pragma once

#include <vector>

#include "analysis/names/file_paths.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

// Gives each copy that a recorded open made the path of the opened file.
void name_copies(const store::TraceReader& trace, std::vector<FilePath>& paths);

} // namespace iotrail::analysis
