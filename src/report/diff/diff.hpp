// SPDX-License-Identifier: BSD-3-Clause
//
// The document of `iotrail diff`: the difference between two sets of traces, sorted by its effect on
// the time in I/O, with a statement of certainty for each. One run a side only shows the
// difference between these two runs, and the document says so.
#pragma once

#include "report/diff/condition.hpp"
#include "report/document.hpp"

namespace iotrail::output {

struct DiffOptions {
  DiffBy by = DiffBy::call;
  std::size_t rows = 12;   // 0: all
  std::string selection{}; // how the user narrowed it down; empty: not at all
};

Document diff_document(const Sides& sides, const std::vector<Judged>& judged,
                       const DiffOptions& options);

} // namespace iotrail::output
