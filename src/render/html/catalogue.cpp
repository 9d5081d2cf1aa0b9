// SPDX-License-Identifier: BSD-3-Clause
#include "render/html/catalogue.hpp"

#include "render/html/escaped_html.hpp"
#include "render/html/html.hpp"
#include "render/html/ui.hpp"
#include "render/text/value_text.hpp"
#include "text/printable.hpp"

namespace iotrail::output {

namespace {

bool is_number(Meaning meaning) {
  return meaning == Meaning::count || meaning == Meaning::bytes;
}

// Every row has it, or the column says nothing.
bool is_empty(const Section& section, std::size_t column) {
  if (section.columns[column].omit == Omit::never)
    return false;
  for (const Row& row : section.rows)
    if (is_known(row.values[column]) && number_of(row.values[column]) != 0)
      return false;
    else if (!text_of(row.values[column]).empty() &&
             section.columns[column].omit == Omit::if_unknown)
      return false;
  return true;
}

void put_cell(const Column& column, const Value& value, std::string_view link, Sink& sink) {
  const std::string text = escaped_html(value_text(value, column.meaning));
  if (!link.empty())
    sink.print("<td class=\"path\"><a href=\"{}\">{}</a></td>", escaped_html(link), text);
  else
    sink.print("<td{}><span>{}</span></td>",
               is_number(column.meaning)            ? " class=\"number\""
               : column.meaning == Meaning::command ? " class=\"command\""
                                                    : "",
               text);
}

void put_table(const Section& section, std::span<const std::string> links, Sink& sink) {
  std::vector<std::size_t> shown;
  for (const std::size_t column : section.shown)
    if (!is_empty(section, column))
      shown.push_back(column);
  sink.put("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Traces\">\n"
           "<table>\n<thead><tr>");
  for (const std::size_t column : shown)
    sink.print("<th scope=\"col\"{}>{}</th>",
               is_number(section.columns[column].meaning) ? " class=\"number\"" : "",
               escaped_html(section.columns[column].title));
  sink.put("</tr></thead>\n<tbody>\n");
  for (std::size_t row = 0; row < section.rows.size(); ++row) {
    sink.put("<tr>");
    for (const std::size_t column : shown)
      put_cell(section.columns[column], section.rows[row].values[column],
               column == shown.front() && row < links.size() ? links[row] : "", sink);
    sink.put("</tr>\n");
  }
  sink.put("</tbody></table></div>\n");
}

void put_paragraph(std::string_view text, Sink& sink) {
  sink.print("<p class=\"note\">{}</p>\n", escaped_html(printable(text)));
}

} // namespace

void render_catalogue(const Document& list, std::span<const std::string> links,
                      std::string_view title, std::span<const std::string> notes, Sink& sink) {
  const std::string shown_title = escaped_html(printable(title));
  sink.print("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n"
             "<style>{}</style>\n</head>\n<body class=\"alone\">\n<main id=\"content\">\n"
             "<section><h1>{}</h1>\n",
             page_policy(PageUse::served), shown_title, page_files().style, shown_title);
  for (const Section& section : list.sections) {
    if (!section.rows.empty())
      put_table(section, links, sink);
    for (const Sentence& note : section.notes)
      put_paragraph(sentence_text(note), sink);
  }
  for (const std::string& note : notes)
    put_paragraph(note, sink);
  sink.put("</section>\n</main>\n</body>\n</html>\n");
}

} // namespace iotrail::output
