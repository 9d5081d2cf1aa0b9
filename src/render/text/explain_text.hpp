// SPDX-License-Identifier: BSD-3-Clause
//
// What `explain` prints: operations one by one, each with what it did on every layer beside a bar of time, where its time
// went in one sentence, and what became of its bytes; or, the other way round, which operations caused what lies on a
// place of a device, or what a request carried.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "analysis/engine/engine.hpp"
#include "text/text_width.hpp"

namespace iotrail::output {

struct ExplainOptions {
  std::size_t width = kPlainWidth;
  std::uint64_t slowest = 3; // how many, if neither of those below
  std::string op{};          // as other verbs print it, or its number; empty: not given
  std::optional<std::uint64_t>
      at_ns{}; // those that were under way then, since the recording's begin
  std::optional<std::uint64_t> sector{};  // of 512 bytes
  std::string device{};                   // on which that sector is; empty: any
  std::optional<std::uint64_t> request{}; // of the kernel, with at_ns: what it was used for then
  std::string selection{}; // in words, what the engine was asked to look at alone; empty: all
};

// Fails where there is no such operation or request, and says which is next to it.
Result<void> write_explanation(analysis::Engine& engine, const ExplainOptions& options,
                               std::FILE* file);

} // namespace iotrail::output
