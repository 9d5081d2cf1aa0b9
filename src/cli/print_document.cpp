// SPDX-License-Identifier: BSD-3-Clause
#include "cli/print_document.hpp"

#include "render/json/json.hpp"
#include "render/text/text.hpp"

namespace iotrail::cli {

Result<void> print_document(const Stream& out, const output::Document& document,
                            DocumentFormat format) {
  output::Sink sink(out.file);
  if (format == DocumentFormat::json)
    output::render_json(document, sink);
  else if (format == DocumentFormat::json_line)
    sink.put(output::json_line(document));
  else
    output::render_text(document, sink,
                        format == DocumentFormat::wide_text ? output::kAnyWidth : out.width());
  return sink.finish();
}

} // namespace iotrail::cli
