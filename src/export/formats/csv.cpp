// SPDX-License-Identifier: BSD-3-Clause
#include "export/format.hpp"
#include "text/printable.hpp"

namespace iotrail::output {
namespace {

void put_text(Sink& sink, std::string_view text) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos)
    return sink.put(text);
  sink.put('"');
  for (const char c : text) {
    if (c == '"')
      sink.put('"');
    sink.put(c);
  }
  sink.put('"');
}

// A program gets the bytes as they are, a terminal only printable characters.
void put_field(Sink& sink, std::string_view text) {
  if (sink.is_terminal())
    put_text(sink, printable_lines(text));
  else
    put_text(sink, text);
}

// RFC 4180 with LF as line end. NULL is an empty field and an empty text is "", so that they
// differ.
class CsvOutput : public Output {
public:
  explicit CsvOutput(Sink& sink) : sink_(sink) {}
  void begin(std::span<const ResultColumn> columns) override;
  void row(std::span<const Cell> cells) override;
  void end() override {}

private:
  Sink& sink_;
};

void CsvOutput::begin(std::span<const ResultColumn> columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0)
      sink_.put(',');
    put_field(sink_, columns[i].name);
  }
  sink_.put('\n');
}

void CsvOutput::row(std::span<const Cell> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0)
      sink_.put(',');
    if (const auto* text = std::get_if<std::string_view>(&cells[i]))
      put_field(sink_, *text);
    else
      sink_.put(cell_text(cells[i]));
  }
  sink_.put('\n');
}

} // namespace

extern const Format kFormatCsv = {
    .name = "csv",
    .doc = "Comma-separated values (RFC 4180) with a header line.",
    .gives = Gives::file_a_table,
    .make = [](Sink& sink, std::size_t) -> std::unique_ptr<Output> {
      return std::make_unique<CsvOutput>(sink);
    },
};

} // namespace iotrail::output
