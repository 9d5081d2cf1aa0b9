// SPDX-License-Identifier: BSD-3-Clause
#include "report/documents/info.hpp"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "report/documents/account.hpp"
#include "report/section.hpp"
#include "report/trace_facts.hpp"
#include "report/warnings.hpp"

namespace iotrail::output {

namespace {

// Members of a manifest that have a table of their own, or are those of the reader's version.
constexpr std::string_view kNotInRow[] = {"sources", "counts",   "counters",
                                          "hooks",   "checksum", "schema"};

Value value_of(const nlohmann::ordered_json& json) {
  if (json.is_string())
    return json.get<std::string>();
  if (json.is_null())
    return {};
  return JsonText{json.dump()};
}

// The other members, as one row for programs. None if the manifest is lost.
Section manifest_row(const store::TraceReader& trace) {
  Section section{.id = "manifest"};
  Row row;
  const auto json = nlohmann::ordered_json::parse(store::to_json(trace.manifest()));
  for (const auto& [name, value] : json.items())
    if (std::ranges::find(kNotInRow, name) == std::end(kNotInRow)) {
      section.columns.push_back({.name = name});
      row.values.push_back(value_of(value));
    }
  if (!trace.damage().manifest)
    section.rows.push_back(std::move(row));
  section.all_rows = section.rows.size();
  return section;
}

void add_all_facts(const store::TraceReader& trace, Document& document) {
  document.facts = trace_facts(trace, {});
  std::ranges::move(recording_facts(trace), std::back_inserter(document.facts));
  if (std::string tags = tags_text(trace.manifest()); !tags.empty())
    document.facts.push_back({"tags", only(text_value("tags", std::move(tags)))});
}

} // namespace

Document make_info(const store::TraceReader& trace, bool is_full) {
  const store::Manifest& manifest = trace.manifest();
  Document document{.trace = trace.path().native(),
                    .title =
                        sentence("Trace {path}", {{"path", trace.path().native(), Meaning::path}}),
                    .all_columns = "--wide"};
  add_all_facts(trace, document);
  document.warnings = warning_sentences(trace);
  document.sections.push_back(layers_table(manifest));
  if (is_full) {
    document.sections.push_back(manifest_row(trace));
    document.sections.push_back(tallies_table(manifest));
    document.sections.push_back(events_table(manifest));
  }
  document.sections.push_back(counters_table(manifest));
  if (is_full)
    document.sections.push_back(hooks_table(manifest.hooks, true));
  if (std::string refusals = refusals_text(manifest); !refusals.empty())
    document.closing.push_back(only(text_value("not_recorded", std::move(refusals))));
  return document;
}

} // namespace iotrail::output
