// SPDX-License-Identifier: BSD-3-Clause
//
// What `iotrail report --html` shows, as values: the documents that `report`, `findings`,
// `report --full`, `explain`, `cache` and a report on snapshots print, and pictures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"
#include "report/page/pictures.hpp"

namespace iotrail::output {

// The section of the report that shows a finding best.
struct FindingPlace {
  std::string finding; // "F01"
  std::string section; // "sizes"
};

struct Page {
  std::optional<Document> answer{};   // the first screen
  std::optional<Document> findings{}; // those that matter
  std::vector<FindingPlace> places{}; // of all findings
  Document report{};
  Pictures pictures{};
  std::optional<Document> slowest{};   // single operations, as `iotrail explain` shows them
  std::optional<Document> cache{};     // misses by the size of the page cache
  std::optional<Document> snapshots{}; // what snapshots of the trace found
};

struct PageOptions {
  std::uint64_t rows = 0;  // in each table; 0: a default that suits a page
  std::string selection{}; // how the user narrowed the trace down, in words; empty: not at all
};

// Steps of the engine's progress in make_page().
std::uint64_t page_steps();

// Options of an engine for make_page(): it computes shared views once.
analysis::EngineOptions page_engine_options(analysis::EngineOptions options = {});

// The page of a trace of `stat`, or of snapshots alone, has its report alone.
Result<Page> make_page(analysis::Engine& engine, const PageOptions& options);

} // namespace iotrail::output
