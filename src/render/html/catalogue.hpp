// SPDX-License-Identifier: BSD-3-Clause
//
// A list of traces as a page without a script. Each row leads to another page.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/document.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

// `list`: of make_list(). `links`: of each row, the relative address of its page; "": none.
// `notes`: below the table.
void render_catalogue(const Document& list, std::span<const std::string> links,
                      std::string_view title, std::span<const std::string> notes, Sink& sink);

} // namespace iotrail::output
