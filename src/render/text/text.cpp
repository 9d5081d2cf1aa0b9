// SPDX-License-Identifier: BSD-3-Clause
#include "render/text/text.hpp"

#include <algorithm>

#include "render/text/table_text.hpp"
#include "render/text/value_text.hpp"
#include "text/printable.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kIndent = "  ";
constexpr std::size_t kFactIndent = 12;
constexpr std::size_t kCommandLines = 2; // a command line can be long; two lines identify it

std::size_t room(std::size_t width, std::size_t indent) {
  return width == kAnyWidth ? width : width - std::min(width, indent);
}

bool is_command(const Fact& fact) {
  return fact.value.values.size() == 1 && fact.value.values.front().meaning == Meaning::command;
}

// A command is one line, however long: its reader copies it.
std::vector<std::string> lines_of(const Sentence& sentence, std::size_t width) {
  const bool is_shell =
      sentence.values.size() == 1 && sentence.values.front().meaning == Meaning::shell;
  std::string text = shortened_fact(sentence_text(sentence), width);
  return is_shell ? std::vector{std::move(text)} : wrapped(text, width);
}

std::vector<std::string> fact_lines(const Fact& fact, std::size_t width) {
  return is_command(fact) && width != kAnyWidth
             ? wrapped(shortened_end(sentence_text(fact.value), kCommandLines * width), width)
             : lines_of(fact.value, width);
}

void render_fact(const Fact& fact, Sink& sink, std::size_t width) {
  std::string_view name = fact.name;
  for (const std::string& line : fact_lines(fact, room(width, kFactIndent))) {
    sink.print("{}{:<10}{}\n", kIndent, name, line);
    name = {};
  }
}

// Lines below the first are indented.
void render_title(const Sentence& title, Sink& sink, std::size_t width) {
  std::string_view indent;
  for (const std::string& line : lines_of(title, room(width, kIndent.size()))) {
    sink.print("{}{}\n", indent, line);
    indent = kIndent;
  }
}

void render_sentences(const std::vector<Sentence>& sentences, Sink& sink, std::size_t width) {
  for (const Sentence& sentence : sentences)
    for (const std::string& line : lines_of(sentence, room(width, kIndent.size())))
      sink.print("{}{}\n", kIndent, line);
}

void render_warnings(const std::vector<Sentence>& warnings, Sink& sink, std::size_t width) {
  for (const Sentence& warning : warnings)
    for (const std::string& line : wrapped(sentence_text(warning), width))
      sink.print("{}\n", line);
  sink.put(warnings.empty() ? "" : "\n");
}

bool has_text(const Section& section) {
  const bool is_title_all = section.shown.empty() && !section.title.empty();
  return section.failure || has_table(section) || is_title_all || !section.if_empty.empty() ||
         !section.children.empty() || !section.facts.empty() || !section.intro.empty() ||
         !section.notes.empty();
}

void render_section(const Section& section, Sink& sink, std::size_t width,
                    std::string_view all_columns) {
  if (!section.title.empty())
    render_title(section.title, sink, width);
  for (const Fact& fact : section.facts)
    render_fact(fact, sink, width);
  render_sentences(section.intro, sink, width);
  if (section.failure)
    sink.print("{}not shown: {}\n", kIndent, printable_message(*section.failure));
  else if (has_table(section))
    render_table(section, sink, width, all_columns);
  else if (!section.if_empty.empty())
    sink.print("{}{}\n", kIndent, section.if_empty);
  render_sentences(section.notes, sink, width);
  for (const Section& child : section.children) {
    sink.put(&child == &section.children.front() ? "" : "\n");
    render_section(child, sink, width, all_columns);
  }
}

} // namespace

void render_text(const Document& document, Sink& sink, std::size_t width) {
  bool is_first = true;
  if (document.title.empty()) {
    render_warnings(document.warnings, sink, width);
  } else {
    render_title(document.title, sink, width);
    for (const Fact& fact : document.facts)
      render_fact(fact, sink, width);
    render_sentences(document.warnings, sink, width);
    is_first = false;
  }
  for (const Section& section : document.sections)
    if (has_text(section)) {
      sink.put(is_first ? "" : "\n");
      render_section(section, sink, width, document.all_columns);
      is_first = false;
    }
  for (const Sentence& sentence : document.closing) {
    sink.put('\n');
    for (const std::string& line : lines_of(sentence, width))
      sink.print("{}\n", line);
  }
}

} // namespace iotrail::output
