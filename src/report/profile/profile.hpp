// SPDX-License-Identifier: BSD-3-Clause
//
// The documents of `iotrail profile`: how a trace's files were accessed, and how much that varies
// between traces of the same work.
#pragma once

#include <string>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"
#include "report/profile/calibration.hpp"
#include "report/section.hpp"

namespace iotrail::output {

struct ProfileOptions {
  SectionOptions rows{};
  std::string selection{}; // how the user narrowed it down; empty: not at all
};

// An error if the trace has no access of a file at a known position.
Result<Document> make_profile(analysis::Engine& engine, const ProfileOptions& options);

// What calibration compares of a trace: the same error.
Result<ProfiledRun> read_profiled_run(analysis::Engine& engine);

// Of at least two runs.
Document make_calibration(const std::vector<ProfiledRun>& runs, const std::string& selection);

// The engine options with which these are fast.
analysis::EngineOptions profile_engine_options(analysis::EngineOptions options);

} // namespace iotrail::output
