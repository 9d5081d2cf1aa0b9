// SPDX-License-Identifier: BSD-3-Clause
#include "render/html/section_data.hpp"

#include <algorithm>

#include "base/utf8.hpp"
#include "render/json/parts.hpp"
#include "render/text/value_text.hpp"
#include "text/printable.hpp"

namespace iotrail::output {

namespace {

constexpr std::uint64_t kExactInScript = 1ULL << 53U; // larger integers are digits in a text
constexpr std::uint64_t kSpanGaps =
    150; // spans closer than this part of the whole are drawn as one

// Texts look as in the text report.
void put_shown_text(Sink& sink, std::string_view text) {
  std::string shown = printable(text.substr(0, kTextBytes + 1));
  if (shown.size() > kTextBytes) {
    std::size_t end = kTextBytes;
    while ((static_cast<unsigned char>(shown[end]) & 0xc0U) == 0x80U) // within a character
      --end;
    shown.resize(end);
    shown += "\u2026";
  }
  put_json_text(sink, shown);
}

// [[begin, end], ...] since the begin of the whole, with [0, length of the whole] first.
void put_shown_spans(Sink& sink, const Spans& spans) {
  const std::uint64_t begin = spans.whole.begin_ns;
  const std::uint64_t gap = spans.whole.length_ns() / kSpanGaps;
  std::vector<Span> joined;
  std::vector<Span> parts = spans.parts;
  std::ranges::sort(parts, {}, &Span::begin_ns);
  for (const Span& part : parts) {
    const Span clipped{std::clamp(part.begin_ns, begin, spans.whole.end_ns),
                       std::clamp(part.end_ns, begin, spans.whole.end_ns)};
    if (!joined.empty() && clipped.begin_ns <= joined.back().end_ns + gap)
      joined.back().end_ns = std::max(joined.back().end_ns, clipped.end_ns);
    else
      joined.push_back(clipped);
  }
  sink.print("[[0,{}]", spans.whole.length_ns());
  for (const Span& span : joined)
    sink.print(",[{},{}]", span.begin_ns - begin, span.end_ns - begin);
  sink.put(']');
}

struct PutShown {
  Sink& sink;
  void operator()(const std::string& text) const { put_shown_text(sink, text); }
  void operator()(const JsonText& json) const { put_shown_text(sink, json.text); }
  void operator()(const Spans& spans) const { put_shown_spans(sink, spans); }
  void operator()(const std::vector<Sentence>& sentences) const {
    put_sentence_text(sink, sentences.empty() ? Sentence{} : sentences.front());
  }
  void operator()(std::uint64_t number) const { put_integer(number, number <= kExactInScript); }
  void operator()(std::int64_t number) const {
    constexpr auto kMost = static_cast<std::int64_t>(kExactInScript);
    put_integer(number, number >= -kMost && number <= kMost);
  }
  void operator()(auto plain) const { put_json_cell(sink, plain, Kind::number); }

  void put_integer(auto number, bool is_exact) const {
    const std::string_view quote = is_exact ? "" : "\"";
    sink.print("{0}{1}{0}", quote, number);
  }
};

// The script knows no time zone of the report, and no names of signals.
bool is_text_only(Meaning meaning) {
  return meaning == Meaning::date || meaning == Meaning::status;
}

void put_row(Sink& sink, const Section& section, const Row& row) {
  sink.put('[');
  for (std::size_t i = 0; i < row.values.size(); ++i) {
    sink.put(i == 0 ? "" : ",");
    if (is_text_only(section.columns[i].meaning) && is_known(row.values[i]))
      put_json_text(sink, value_text(row.values[i], section.columns[i].meaning));
    else
      std::visit(PutShown{sink}, row.values[i]);
  }
  sink.put(']');
}

std::string_view omit_name(Omit omit) {
  constexpr std::string_view kNames[] = {"never", "if_unknown", "if_zero", "if_at_most_one"};
  return kNames[static_cast<std::size_t>(omit)];
}

void put_column(Sink& sink, const Column& column) {
  sink.put("{\"name\":");
  put_json_text(sink, column.name);
  sink.put(",\"title\":");
  put_json_text(sink, column.title);
  sink.print(",\"meaning\":\"{}\",\"omit\":\"{}\",\"suppress_repeats\":{},\"zero_is_dash\":{},"
             "\"is_sum\":{},\"instead\":",
             is_text_only(column.meaning) ? "text" : meaning_name(column.meaning),
             omit_name(column.omit), column.suppress_repeats, column.zero_is_dash, column.is_sum);
  put_json_text(sink, column.instead);
  sink.put('}');
}

void put_shown_columns(Sink& sink, const Section& section) {
  sink.put('[');
  for (std::size_t i = 0; i < section.shown.size(); ++i)
    sink.print("{}{}", i == 0 ? "" : ",", section.shown[i]);
  sink.put(']');
}

void put_factors(Sink& sink, const Section& section) {
  sink.put('[');
  if (std::ranges::any_of(section.rows, [](const Row& row) { return row.scale_factor != 1; }))
    for (std::size_t i = 0; i < section.rows.size(); ++i)
      sink.print("{}{}", i == 0 ? "" : ",", section.rows[i].scale_factor);
  sink.put(']');
}

void put_section(Sink& sink, const Section& section) {
  sink.put("{\"id\":");
  put_json_text(sink, section.id);
  sink.put(",\"title\":");
  put_sentence_text(sink, section.title);
  sink.put(",\"view\":");
  put_json_text(sink, section.view);
  sink.put(",\"if_empty\":");
  put_json_text(sink, section.if_empty);
  sink.put(",\"failure\":");
  put_shown_text(sink, section.failure ? section.failure->message() : "");
  sink.put(",\"facts\":");
  put_facts(sink, section.facts);
  sink.put(",\"intro\":");
  put_sentence_texts(sink, section.intro);
  sink.put(",\"notes\":");
  put_sentence_texts(sink, section.notes);
  sink.put(",\n\"columns\":");
  put_array(sink, section.columns, [&](const Column& column) { put_column(sink, column); });
  sink.put(",\"shown\":");
  put_shown_columns(sink, section);
  sink.print(",\"all_rows\":{},\"scale_factors\":", section.all_rows);
  put_factors(sink, section);
  sink.put(",\"rows\":");
  put_array(sink, section.rows, [&](const Row& row) { put_row(sink, section, row); });
  sink.put(",\"children\":");
  put_array(sink, section.children, [&](const Section& child) { put_section(sink, child); });
  sink.put('}');
}

} // namespace

// `<` begins markup even in a script of data; U+2028 and U+2029 are line ends to old readers.
std::string inert_json(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i)
    if (json[i] == '<')
      text += "\\u003c";
    else if (json.substr(i, 3) == "\u2028" || json.substr(i, 3) == "\u2029")
      text += json[i + 2] == '\xa8' ? (i += 2, "\\u2028") : (i += 2, "\\u2029");
    else
      text += json[i];
  return text;
}

void put_shown_value(Sink& sink, const Value& value) {
  std::visit(PutShown{sink}, value);
}

void put_sentence_text(Sink& sink, const Sentence& sentence) {
  put_shown_text(sink, sentence_text(sentence));
}

void put_sentence_texts(Sink& sink, const std::vector<Sentence>& sentences) {
  put_array(sink, sentences, [&](const Sentence& each) { put_sentence_text(sink, each); });
}

void put_facts(Sink& sink, const std::vector<Fact>& facts) {
  put_array(sink, facts, [&](const Fact& fact) {
    sink.put("{\"name\":");
    put_json_text(sink, fact.name);
    sink.put(",\"value\":");
    put_sentence_text(sink, fact.value);
    sink.put('}');
  });
}

std::string section_data(const Section& section) {
  std::string json;
  Sink sink(json);
  put_section(sink, section);
  (void)sink.finish(); // a string cannot fail
  return json;
}

} // namespace iotrail::output
