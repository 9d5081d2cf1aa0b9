// SPDX-License-Identifier: BSD-3-Clause
#include "render/html/data.hpp"

#include <algorithm>
#include <map>

#include "render/html/picture_data.hpp"
#include "render/html/section_data.hpp"
#include "render/json/parts.hpp"
#include "render/text/value_text.hpp"

namespace iotrail::output {

namespace {

struct SizedSection {
  Section section;
  std::string json;

  bool can_shrink() const { return !section.rows.empty(); }
  void shrink() {
    section.rows.resize(section.rows.size() / 2);
    if (!section.children.empty())
      section.children.resize(section.rows.size());
    json = inert_json(section_data(section));
  }
};

bool is_smaller(const SizedSection& a, const SizedSection& b) {
  return (a.can_shrink() ? a.json.size() : 0) < (b.can_shrink() ? b.json.size() : 0);
}

// Shortens the largest tables until the document has at most `most_bytes`.
std::vector<SizedSection> shortened(const std::vector<Section>& sections, std::size_t most_bytes) {
  std::vector<SizedSection> fitting;
  std::size_t bytes = 0;
  for (const Section& section : sections) {
    fitting.push_back({section, inert_json(section_data(section))});
    bytes += fitting.back().json.size();
  }
  while (bytes > most_bytes) {
    const auto largest = std::ranges::max_element(fitting, is_smaller);
    if (!largest->can_shrink())
      break;
    bytes -= largest->json.size();
    largest->shrink();
    bytes += largest->json.size();
  }
  return fitting;
}

void put_document(Sink& sink, const Document& document, std::size_t most_bytes) {
  sink.put("{\"title\":");
  put_sentence_text(sink, document.title);
  sink.put(",\n\"facts\":");
  put_facts(sink, document.facts);
  sink.put(",\n\"warnings\":");
  put_sentence_texts(sink, document.warnings);
  sink.put(",\n\"sections\":");
  put_array(sink, shortened(document.sections, most_bytes),
            [&](const SizedSection& each) { sink.put(each.json); });
  sink.put(",\n\"closing\":");
  put_sentence_texts(sink, document.closing);
  sink.put('}');
}

void put_optional(Sink& sink, std::string_view name, const std::optional<Document>& document) {
  put_key(sink, name);
  if (document)
    put_document(sink, *document, kSmallDocumentBytes);
  else
    sink.put("null");
  sink.put(",\n");
}

// {"F01":"sizes"}
void put_places(Sink& sink, const std::vector<FindingPlace>& places) {
  sink.put("\"places\":{");
  std::map<std::string_view, std::string_view> sections;
  for (const FindingPlace& place : places)
    sections.emplace(place.finding, place.section);
  for (const auto& [finding, section] : sections) {
    sink.put(finding == sections.begin()->first ? "" : ",");
    put_key(sink, finding);
    put_json_text(sink, section);
  }
  sink.put("},\n");
}

} // namespace

std::string page_data(const Page& page) {
  std::string json;
  Sink sink(json);
  sink.put("{\"format\":1,\n");
  put_optional(sink, "answer", page.answer);
  put_optional(sink, "findings", page.findings);
  put_places(sink, page.places);
  put_optional(sink, "slowest", page.slowest);
  put_optional(sink, "cache", page.cache);
  put_optional(sink, "snapshots", page.snapshots);
  put_key(sink, "report");
  put_document(sink, page.report, kReportBytes);
  sink.put(",\n\"pictures\":");
  put_pictures(sink, page.pictures);
  sink.put('}');
  (void)sink.finish(); // a string cannot fail
  return inert_json(json);
}

} // namespace iotrail::output
