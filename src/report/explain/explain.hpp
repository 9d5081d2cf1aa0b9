// SPDX-License-Identifier: BSD-3-Clause
//
// What `explain` says: operations one by one, each with what it did on every layer, where its time went, and the fate of
// its bytes. Or, the other way round, which operations caused what lies in a sector of a device, or what a request carried.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "report/document.hpp"

namespace iotrail::output {

// So many operations can be explained at once: each takes memory and queries of its own.
inline constexpr std::uint64_t kMostExplained = 1000;

struct ExplainOptions {
  std::uint64_t slowest = 3; // how many, if neither of those below
  std::vector<std::string>
      operations{};               // calls (call:read) or classes, for which --op is not given
  bool are_library_calls = false; // those are calls into the C library
  std::uint64_t since_ns = 0;     // that began then or later, since the recording's begin
  std::uint64_t until_ns = 0;     // that began before; 0: any
  std::string op{};               // as other verbs print it, or its number; empty: not given
  std::optional<std::uint64_t>
      at_ns{}; // those that were under way then, since the recording's begin
  std::optional<std::uint64_t> sector{};  // of 512 bytes
  std::string device{};                   // on which that sector is; empty: any
  std::optional<std::uint64_t> request{}; // of the kernel, with at_ns: what it was used for then
  std::string selection{}; // in words, what the engine was asked to look at alone; empty: all
};

// Fails where there is no such operation or request, and says which is next to it.
Result<Document> make_explanation(analysis::Engine& engine, const ExplainOptions& options);

} // namespace iotrail::output
