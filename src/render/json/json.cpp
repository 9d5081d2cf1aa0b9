// SPDX-License-Identifier: BSD-3-Clause
#include "render/json/json.hpp"

#include <algorithm>

#include "export/json.hpp"
#include "render/json/parts.hpp"
#include "render/text/value_text.hpp"

namespace iotrail::output {

namespace {

// A column that only people or the section itself use.
bool is_internal(const Column& column) {
  return column.name.starts_with('_');
}

void put_spans(Sink& sink, const Spans& spans) {
  sink.put('[');
  for (std::size_t i = 0; i < spans.parts.size(); ++i)
    sink.print("{}[{},{}]", i == 0 ? "" : ",", spans.parts[i].begin_ns, spans.parts[i].end_ns);
  sink.put(']');
}

struct PutValue {
  Sink& sink;
  void operator()(const std::string& text) const { put_json_text(sink, text); }
  void operator()(const JsonText& json) const {
    put_json_cell(sink, std::string_view(json.text), Kind::nested);
  }
  void operator()(const Spans& spans) const { put_spans(sink, spans); }
  void operator()(const std::vector<Sentence>&) const { sink.put("null"); }
  void operator()(auto plain) const { put_json_cell(sink, plain, Kind::number); }
};

void put_value(Sink& sink, const Value& value) {
  std::visit(PutValue{sink}, value);
}

void put_sentence(Sink& sink, const Sentence& sentence) {
  sink.put("{\"text\":");
  put_json_text(sink, sentence_text(sentence));
  sink.put(",\"values\":{");
  for (std::size_t i = 0; i < sentence.values.size(); ++i) {
    sink.put(i == 0 ? "" : ",");
    put_key(sink, sentence.values[i].name);
    put_value(sink, sentence.values[i].value);
  }
  sink.put("}}");
}

void put_sentences(Sink& sink, const std::vector<Sentence>& sentences) {
  put_array(sink, sentences, [&](const Sentence& each) { put_sentence(sink, each); });
}

void put_cells(Sink& sink, const Section& section, const Row& row) {
  bool is_first = true;
  for (std::size_t i = 0; i < section.columns.size(); ++i) {
    if (is_internal(section.columns[i]))
      continue;
    sink.put(is_first ? "" : ",");
    is_first = false;
    put_key(sink, section.columns[i].name);
    put_value(sink, row.values[i]);
  }
}

// The parts of the row, and what is said about it.
void put_child(Sink& sink, const Section& child) {
  sink.put(",\"title\":");
  put_sentence(sink, child.title);
  sink.put(",\n");
  put_key(sink, child.id);
  put_array(sink, child.rows, [&](const Row& row) {
    sink.put('{');
    put_cells(sink, child, row);
    sink.put('}');
  });
  sink.print(",\"all_{}\":{},\"notes\":", child.id, child.all_rows);
  put_sentences(sink, child.notes);
}

void put_row(Sink& sink, const Section& section, const Row& row) {
  const auto number = static_cast<std::size_t>(&row - section.rows.data());
  sink.put('{');
  put_cells(sink, section, row);
  if (number < section.children.size())
    put_child(sink, section.children[number]);
  sink.put('}');
}

// null: the trace does not allow the section.
void put_rows(Sink& sink, const Section& section) {
  sink.put(",\n");
  put_key(sink, section.id);
  if (section.failure && section.rows.empty())
    sink.put("null");
  else
    put_array(sink, section.rows, [&](const Row& row) { put_row(sink, section, row); });
}

// The columns that both people and programs get.
void put_columns(Sink& sink, const Section& section) {
  sink.put('[');
  bool is_first = true;
  for (const std::size_t shown : section.shown) {
    const Column& column = section.columns[shown];
    if (is_internal(column))
      continue;
    sink.put(is_first ? "{\"name\":" : ",{\"name\":");
    is_first = false;
    put_json_text(sink, column.name);
    sink.put(",\"title\":");
    put_json_text(sink, column.title);
    sink.print(",\"meaning\":\"{}\",\"is_sum\":{}}}", meaning_name(column.meaning), column.is_sum);
  }
  sink.put(']');
}

// How many operations each row's recorded one stands for; omitted if all were recorded.
void put_scale_factors(Sink& sink, const Section& section) {
  if (std::ranges::none_of(section.columns, &Column::is_sum) ||
      std::ranges::all_of(section.rows, [](const Row& row) { return row.scale_factor == 1; }))
    return;
  sink.put(",\"scale_factors\":[");
  for (std::size_t i = 0; i < section.rows.size(); ++i)
    sink.print("{}{}", i == 0 ? "" : ",", section.rows[i].scale_factor);
  sink.put(']');
}

void put_facts(Sink& sink, const std::vector<Fact>& facts) {
  put_array(sink, facts, [&](const Fact& fact) {
    sink.put("{\"name\":");
    put_json_text(sink, fact.name);
    sink.put(",\"value\":");
    put_sentence(sink, fact.value);
    sink.put('}');
  });
}

void put_description(Sink& sink, const Section& section) {
  sink.put("{\"id\":");
  put_json_text(sink, section.id);
  sink.put(",\"title\":");
  put_sentence(sink, section.title);
  sink.put(",\"view\":");
  put_json_text(sink, section.view);
  sink.print(",\"shown_rows\":{},\"all_rows\":{}", section.rows.size(), section.all_rows);
  sink.put(",\"columns\":");
  put_columns(sink, section);
  put_scale_factors(sink, section);
  if (!section.facts.empty()) {
    sink.put(",\"facts\":");
    put_facts(sink, section.facts);
  }
  std::vector<Sentence> notes = section.intro;
  notes.insert(notes.end(), section.notes.begin(), section.notes.end());
  sink.put(",\"notes\":");
  put_sentences(sink, notes);
  sink.put('}');
}

void put_not_shown(Sink& sink, const Document& document) {
  std::vector<const Section*> failed;
  for (const Section& section : document.sections)
    if (section.failure)
      failed.push_back(&section);
  put_array(sink, failed, [&](const Section* section) {
    sink.put("{\"section\":");
    put_json_text(sink, section->id);
    sink.put(",\"why\":");
    put_json_text(sink, fmt::format("{}: {}", section->failure->what, section->failure->why));
    sink.put('}');
  });
}

} // namespace

void render_json(const Document& document, Sink& sink) {
  sink.put("{\"trace\":");
  put_json_text(sink, document.trace);
  if (!document.title.empty()) {
    sink.put(",\n\"title\":");
    put_sentence(sink, document.title);
  }
  for (const Section& section : document.sections)
    if (!section.columns.empty())
      put_rows(sink, section);
  sink.put(",\n\"sections\":");
  put_array(sink, document.sections,
            [&](const Section& section) { put_description(sink, section); });
  sink.put(",\n\"facts\":");
  put_facts(sink, document.facts);
  sink.put(",\n\"not_shown\":");
  put_not_shown(sink, document);
  sink.put(",\n\"warnings\":");
  put_array(sink, document.warnings,
            [&](const Sentence& warning) { put_json_text(sink, sentence_text(warning)); });
  sink.put(",\n\"notes\":");
  put_sentences(sink, document.closing);
  sink.put("}\n");
}

std::string json_line(const Document& document) {
  std::string line;
  Sink sink(line);
  render_json(document, sink);
  (void)sink.finish();    // a string cannot fail
  std::erase(line, '\n'); // texts have it as \n
  return line + "\n";
}

} // namespace iotrail::output
