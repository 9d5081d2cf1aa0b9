// SPDX-License-Identifier: BSD-3-Clause
//
// The events of a trace as iotrace prints them: parsed (an I/O with its latency and its file), or raw (submissions,
// completions and names separately).
#pragma once

#include "analysis/engine/engine.hpp"
#include "base/result.hpp"
#include "text/sink.hpp"

namespace iotrail::compat::iotrace {

enum class EventFormat { json, csv };

// `with_lru`: each I/O says which LRU caches it hits (lru_cache.hpp).
Result<void> put_parsed_events(analysis::Engine& engine, output::Sink& sink, EventFormat format,
                               bool with_lru);
Result<void> put_raw_events(analysis::Engine& engine, output::Sink& sink, EventFormat format);

} // namespace iotrail::compat::iotrace
