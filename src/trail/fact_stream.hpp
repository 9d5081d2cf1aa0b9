// SPDX-License-Identifier: BSD-3-Clause
//
// The facts of a trace, sorted by time.
#pragma once

#include <utility>
#include <vector>

#include "store/reader/event_stream.hpp"
#include "trail/path_files.hpp"
#include "trail/state/fact.hpp"
#include "trail/state/loss_times.hpp"

namespace iotrail::trail {

class FactStream {
public:
  // `needs_added_pages`: also facts of pages that came into the cache, which are many.
  FactStream(const store::TraceReader& trace, bool needs_added_pages);

  // false: the end.
  bool next();
  const Fact& fact() const { return fact_; }

  const LossTimes& loss_times() const { return loss_times_; }

private:
  // A table of the trace, and the roles of its columns.
  struct Source {
    iot_u16 kind;
    FactKind fact;
    std::vector<std::pair<std::size_t, std::uint64_t Fact::*>> columns;
  };

  static std::vector<Source> sources_of(const store::TraceReader& trace, bool needs_added_pages);
  static store::EventStream::Columns columns_of(const std::vector<Source>& sources);
  bool translate();
  bool translate_truncation();
  bool translate_sync();
  bool translate_async();

  std::vector<Source> sources_;
  store::EventStream events_;
  PathFiles paths_;
  Fact fact_;
  LossTimes loss_times_;
};

} // namespace iotrail::trail
