// SPDX-License-Identifier: BSD-3-Clause
#include "cli/trace_facts.hpp"

#include "report/warnings.hpp"

namespace iotrail::cli {

bool has_ended(const store::Manifest& manifest) {
  return manifest.state != store::State::INITIALIZING && manifest.state != store::State::RUNNING;
}

bool is_damaged(const store::TraceReader& trace) {
  return has_ended(trace.manifest()) && !output::damage_sentences(trace).empty();
}

} // namespace iotrail::cli
