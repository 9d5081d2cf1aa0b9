// SPDX-License-Identifier: BSD-3-Clause
//
// Renders a page: one HTML file that needs no network. ui/ has its looks and its script, which the
// build embeds. The documents are a block of JSON in it (data.hpp). A content security policy
// allows that script and that style alone.
#pragma once

#include <cstdint>
#include <string>

#include "report/page/page.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

// A file is opened without a network. A served page asks `iotrail serve` for more; the recording of
// one may still be running.
enum class PageUse : std::uint8_t { file, served, running };

void render_html(const Page& page, Sink& sink, PageUse use = PageUse::file);

// The content security policy that a page of this use has in itself.
std::string page_policy(PageUse use);

} // namespace iotrail::output
