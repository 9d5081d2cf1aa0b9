// SPDX-License-Identifier: BSD-3-Clause
//
// The pictures of a page as JSON for its script.
#pragma once

#include "report/page/pictures.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

// A picture beyond its `most_bytes` gets wider bins, then loses its smallest series.
void put_pictures(Sink& sink, const Pictures& pictures);

} // namespace iotrail::output
