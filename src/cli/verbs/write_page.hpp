// SPDX-License-Identifier: BSD-3-Clause
//
// A page as a file, for verbs that make one.
#pragma once

#include <string>

#include "cli/messages.hpp"
#include "cli/output_file.hpp"
#include "cli/progress_bar.hpp"
#include "render/html/html.hpp"
#include "report/page/page.hpp"
#include "text/printable.hpp"
#include "text/sink.hpp"

namespace iotrail::cli {

inline Result<output::Page> make_page_with_bar(const Console& console, analysis::Engine& engine,
                                               const output::PageOptions& options) {
  return with_progress_bar(console.err, engine.progress(), output::page_steps(),
                           [&] { return output::make_page(engine, options); });
}

// Writes the new file `path`, and prints where it is.
inline Result<void> write_page_file(const Console& console, const output::Page& page,
                                    const std::string& path) {
  Result<void> written = write_output(console.out, path, [&](std::FILE* file) {
    output::Sink sink(file);
    output::render_html(page, sink);
    return sink.finish();
  });
  if (written)
    print_message(console.err, "the page is in " + output::printable(path));
  return written;
}

} // namespace iotrail::cli
