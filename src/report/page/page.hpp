// SPDX-License-Identifier: BSD-3-Clause
//
// What `iotrail report --html` shows, as values: the documents that `report`, `findings`,
// `report --full` and `explain` print, and pictures.
#pragma once

#include <optional>
#include <string>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"
#include "report/page/pictures.hpp"

namespace iotrail::output {

struct Page {
  std::optional<Document> answer{};   // the first screen
  std::optional<Document> findings{}; // those that matter
  Document report{};
  Pictures pictures{};
  std::optional<Document> slowest{}; // single operations, as `iotrail explain` shows them
};

struct PageOptions {
  std::uint64_t rows = 0;  // in each table; 0: a default that suits a page
  std::string selection{}; // how the user narrowed the trace down, in words; empty: not at all
};

// Steps of the engine's progress in make_page().
std::uint64_t page_steps();

// An engine with findings_engine_options() computes shared views once. The page of a trace of
// `stat` has its report alone.
Result<Page> make_page(analysis::Engine& engine, const PageOptions& options);

} // namespace iotrail::output
