// SPDX-License-Identifier: BSD-3-Clause
//
// How many rows a trace has of what a rule needs: rules without enough of them are not run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "store/reader/trace_reader.hpp"
#include "value_text.hpp"

namespace iotrail::output {

// The layers at which programs ask for I/O; one of them satisfies the need `calls`.
inline constexpr std::string_view kCallLayers[] = {"syscall", "app", "vfs"};

// Of an event, of a layer, or of `calls`.
class RowCounts {
public:
  explicit RowCounts(const store::TraceReader& trace) {
    for (const store::BlockInfo& block : trace.blocks())
      if (const store::TableInfo* table = trace.table(block.kind)) {
        rows_[table->name] += block.rows;
        if (!table->is_dictionary())
          rows_[table->layer] += block.rows;
      }
  }

  std::uint64_t operator()(std::string_view name) const {
    if (name == "calls") { // asynchronous operations count as calls
      std::uint64_t rows = (*this)(schema::layer_name(IOT_LAYER_async));
      for (const std::string_view layer : kCallLayers)
        rows += (*this)(layer);
      return rows;
    }
    const auto found = rows_.find(name);
    return found == rows_.end() ? 0 : found->second;
  }

private:
  std::map<std::string, std::uint64_t, std::less<>> rows_;
};

} // namespace iotrail::output
