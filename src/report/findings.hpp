// SPDX-License-Identifier: BSD-3-Clause
//
// What slows the I/O of a trace: the rows of the rules in src/analysis/findings/, as sentences. A
// rule is judged only if what it needs was recorded, so that silence means: looked at, and fine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"

namespace iotrail::output {

struct Finding {
  const analysis::Rule* rule = nullptr;
  std::string subject;
  Sentence sentence;
  Sentence advice;
  std::uint64_t could_save_ns = 0; // at most; 0: unknown
  std::uint64_t op_id = 0;         // the slowest operation of it; 0: none
  std::string merges{};            // its cause, which other findings may have too; empty: its own
  std::vector<Finding> also{};     // of the same cause
};

struct NotJudged {
  const analysis::Rule* rule = nullptr;
  std::string why;
};

struct Judgement {
  std::vector<Finding> findings; // by severity, then by what they could save
  std::vector<NotJudged> not_judged;
  std::size_t rules = 0; // number of rules applied, and of those not judged
  std::uint64_t run_ns = 0;
};

// Options of an engine for judge(): it keeps the rows that several rules read.
analysis::EngineOptions findings_engine_options(analysis::EngineOptions options = {});

// `only`: ids of the rules to apply; empty: all. Fails for an id that no rule has, or if the trace
// cannot be read. A rule with a query that fails is not judged.
Result<Judgement> judge(analysis::Engine& engine, const std::vector<std::string>& only = {});

// False for what is true and hardly worth a change: less than 1 % of the run could be saved.
bool matters(const Finding& finding, const Judgement& judgement);

// For programs: each finding as a row.
Section findings_section(const Judgement& judgement);

// The document of `iotrail findings`. `all`: also those that hardly matter, and the rules that were
// not judged, one by one.
Document findings_document(const store::TraceReader& trace, const Judgement& judgement, bool all);

} // namespace iotrail::output
