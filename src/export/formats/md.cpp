// SPDX-License-Identifier: BSD-3-Clause
#include "export/format.hpp"
#include "text/printable.hpp"

namespace iotrail::output {
namespace {

// A reader may show raw markup, and a trace comes from strangers: no cell holds any.
std::string without_markup(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (std::string_view("\\`*_[]{}>|~#!").contains(c))
      escaped.append({'\\', c});
    else
      escaped += c;
  }
  return escaped;
}

// A table of GitHub Flavored Markdown. NULL is an empty cell.
class MarkdownOutput : public Output {
public:
  explicit MarkdownOutput(Sink& sink) : sink_(sink) {}
  void begin(std::span<const ResultColumn> columns) override;
  void row(std::span<const Cell> cells) override;
  void end() override {}

private:
  Sink& sink_;
};

void MarkdownOutput::begin(std::span<const ResultColumn> columns) {
  for (const ResultColumn& column : columns) {
    sink_.put("| ");
    sink_.put(without_markup(column.name));
    sink_.put(' ');
  }
  sink_.put("|\n");
  for (const ResultColumn& column : columns)
    sink_.put(column.kind == Kind::number ? "| ---: " : "| :--- ");
  sink_.put("|\n");
}

void MarkdownOutput::row(std::span<const Cell> cells) {
  for (const Cell& cell : cells) {
    sink_.put("| ");
    sink_.put(without_markup(cell_text(cell)));
    sink_.put(' ');
  }
  sink_.put("|\n");
}

} // namespace

extern const Format kFormatMd = {
    .name = "md",
    .doc = "A Markdown table, for an issue or a chat. Names hold no markup.",
    .gives = Gives::file_a_table,
    .make = [](Sink& sink, std::size_t) -> std::unique_ptr<Output> {
      return std::make_unique<MarkdownOutput>(sink);
    },
};

} // namespace iotrail::output
