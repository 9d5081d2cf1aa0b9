// SPDX-License-Identifier: BSD-3-Clause
//
// The document of `iotrail cache`: how large a page cache should be for what a trace did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/cache/cache_simulator.hpp"
#include "report/cache/page_sequence.hpp"
#include "report/document.hpp"

namespace iotrail::output {

struct CacheOptions {
  std::string device{};               // as in PageSequence
  std::vector<std::uint64_t> sizes{}; // bytes
  std::vector<double> shares{};       // sizes too: of the working set, from 0 to 1
  // Without either: halves of the working set.
  std::vector<analysis::Policy> policies{}; // beside LRU
  std::uint64_t most_pages = 0; // simulated ones; with more, a sample of so many; 0: by the memory
  std::string selection{};      // how the user narrowed it down; empty: not at all
};

// An error if the trace has no page that it could simulate.
Result<Document> make_cache_report(analysis::Engine& engine, const CacheOptions& options);

} // namespace iotrail::output
