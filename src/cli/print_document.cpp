// SPDX-License-Identifier: BSD-3-Clause
#include "cli/print_document.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "render/json/json.hpp"
#include "render/text/text.hpp"
#include "report/answer/fitted.hpp"

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

output::Document on_one_screen(const Stream& out, output::Document answer,
                               std::size_t other_lines) {
  const std::size_t height = out.height();
  if (height == output::kAnyHeight)
    return answer;
  const std::size_t room = height - std::min(height, other_lines);
  return output::fitted(std::move(answer), room, [&](const output::Document& document) {
    std::string text;
    output::Sink sink(text);
    output::render_text(document, sink, out.width());
    if (!sink.finish()) // of a string: it always succeeds
      return std::size_t{0};
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  });
}

} // namespace iotrail::cli
