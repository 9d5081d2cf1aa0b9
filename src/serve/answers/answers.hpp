// SPDX-License-Identifier: BSD-3-Clause
//
// Answers of one trace as text, each with an engine of its own. They only read. Texts of the trace
// are printable in all of them: hidden characters are \x1b and the like.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "analysis/engine/engine.hpp"
#include "base/result.hpp"

namespace iotrail::serve {

// Of one query, and of one engine.
struct Limits {
  std::uint64_t time_ns = 10'000'000'000;
  std::uint64_t memory_bytes = 1ULL << 30U;
  std::uint64_t rows = 1000; // of an answer to SQL
  std::size_t bytes = 1U << 20U;
  // A query that cannot be ended in time; should end the process.
  analysis::OnOverdue on_overdue{};
};

// A part of a trace; all times since its begin.
struct Part {
  std::uint64_t since_ns = 0;
  std::uint64_t until_ns = 0; // 0: the end
  std::string process{};
  std::string file{};

  std::string words() const; // "--since 1.5s --process db"
};

using TracePath = std::filesystem::path;

// {"columns":["path"],"rows":[["/a"]],"truncated":false,"warnings":[]}. Numbers have names as in
// `iotrail query`. An integer above 2^53 is a text. `truncated`: rows, or ends of texts, are missing.
Result<std::string> rows_json(const TracePath& trace, const std::string& sql, const Limits& limits);

// The page of `iotrail report --html`, which knows that it is served.
Result<std::string> page_html(const TracePath& trace, const Part& part, bool is_running,
                              const Limits& limits);
// Its data alone.
Result<std::string> page_json(const TracePath& trace, const Part& part, const Limits& limits);
// What it shows in bins of time: {"run_ns":1,"list":[...]}.
Result<std::string> pictures_json(const TracePath& trace, const Part& part, const Limits& limits);

// The first screen of `iotrail report`, or all its tables, as text.
Result<std::string> report_text(const TracePath& trace, const Part& part, bool is_full,
                                const Limits& limits);
Result<std::string> findings_text(const TracePath& trace, bool all, const Limits& limits);

struct ExplainRequest {
  std::uint64_t slowest = 3;
  std::string op{};        // "1.42"; empty: the slowest
  std::string operation{}; // only this call or class; empty: all
};
Result<std::string> explain_text(const TracePath& trace, const ExplainRequest& request,
                                 const Part& part, const Limits& limits);

// What can be asked in SQL: all relations, or the columns of one.
Result<std::string> schema_text(const TracePath& trace, const std::string& name,
                                const Limits& limits);

} // namespace iotrail::serve
