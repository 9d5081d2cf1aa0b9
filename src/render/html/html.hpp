// SPDX-License-Identifier: BSD-3-Clause
//
// Renders a page: one HTML file that needs no network. ui/ has its looks and its script, which the
// build embeds. The documents are a block of JSON in it (data.hpp). A content security policy
// allows that script and that style alone.
#pragma once

#include "report/page/page.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

void render_html(const Page& page, Sink& sink);

} // namespace iotrail::output
