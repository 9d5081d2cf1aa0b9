// SPDX-License-Identifier: BSD-3-Clause
//
// The sections of the document of `iotrail diff`.
#pragma once

#include "report/diff/diff.hpp"

namespace iotrail::output {

inline constexpr std::size_t kRunsForLikely = 4; // a side: fewer cannot give a chance below 5 %

// Appends ", 4.06 s before, 1.90 s after: x 0.47 (...)".
void add_compared(Sentence& text, const Compared& compared, Meaning meaning);

Section runs_section(const Sides& sides); // for programs
Section conditions_section(const std::vector<Judged>& judged);
// The groups by their change of time, with sentences for the largest ones.
Section changes_section(const Sides& sides, const DiffOptions& options);

} // namespace iotrail::output
