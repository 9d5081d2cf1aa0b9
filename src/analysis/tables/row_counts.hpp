// SPDX-License-Identifier: BSD-3-Clause
//
// How many rows a trace has of what a rule needs: rules without enough of them are not run. What is
// damaged does not count: no query reads it either.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

// The layers at which programs ask for I/O; one of them satisfies the need `calls`.
inline constexpr std::string_view kCallLayers[] = {"syscall", "app", "vfs"};

// Counts what `rows:` of a rule names (analysis/findings/rule.hpp). A count is never too small. It reads a column
// when that is first asked for.
class RowCounts {
public:
  // `trace` must outlive this object.
  explicit RowCounts(const store::TraceReader& trace);

  std::uint64_t operator()(std::string_view name) const;

private:
  std::uint64_t rows_of(std::string_view name) const;
  std::uint64_t bytes_of(std::string_view name) const;
  bool may_wait_for(std::string_view reason) const;
  std::set<std::string_view> find_reasons() const;

  const store::TraceReader& trace_;
  std::map<std::string, std::uint64_t, std::less<>> rows_;
  mutable std::map<std::string, std::uint64_t, std::less<>> bytes_;
  mutable std::optional<std::set<std::string_view>> reasons_; // of waits
};

} // namespace iotrail::analysis
