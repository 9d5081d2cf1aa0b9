// SPDX-License-Identifier: BSD-3-Clause
//
// What a recording counted, as tables made from its manifest alone. They need no query, so that
// `record`, `info` and `list` load no SQL engine.
#pragma once

#include "report/document.hpp"
#include "store/format/manifest.hpp"

namespace iotrail::output {

// The events of each requested layer; of a sample also an estimate for all calls.
Section layers_table(const store::Manifest& manifest);
// The account of each source: produced == written + lost.
Section tallies_table(const store::Manifest& manifest);
Section events_table(const store::Manifest& manifest);
// The counters that are not 0.
Section counters_table(const store::Manifest& manifest);
// The hook of each event; `with_reasons`: for people also why preferred hooks, or all, were refused.
Section hooks_table(const std::vector<store::HookReport>& hooks, bool with_reasons);

} // namespace iotrail::output
