// SPDX-License-Identifier: BSD-3-Clause
//
// The text report: what was recorded and what is missing from it, then what each layer did, what became of the bytes
// on their way down, and which files, processes and calls it was. All numbers come from the SQL views.
#pragma once

#include <cstdio>

#include "analysis/engine.hpp"

namespace iotrail::output {

Result<void> write_report(analysis::Engine& engine, std::FILE* file);

} // namespace iotrail::output
