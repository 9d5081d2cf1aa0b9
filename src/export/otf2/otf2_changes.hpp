// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "export/otf2/otf2_archive.hpp"
#include "export/otf2/otf2_handles.hpp"
#include "export/otf2/otf2_span.hpp"

namespace iotrail::output {

// What a call did to handles, as events at its end: handles made, duplicated and destroyed, moved
// positions, changed flags, locks, deleted files. The span is in a region of the location.
void add_changes(Otf2Handles& handles, Otf2Archive& archive, const Otf2Span& span,
                 Otf2Location& location);

} // namespace iotrail::output
