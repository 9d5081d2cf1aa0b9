// SPDX-License-Identifier: BSD-3-Clause
#include "report/snapshot_report.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/shell_word.hpp"
#include "report/sections.hpp"
#include "report/trace_facts.hpp"
#include "report/warnings.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

// Events of snapshots, and the views that show them.
constexpr std::pair<std::string_view, std::string_view> kSnapshotViews[] = {
    {"snapshot_file", "snapshot_files"},       {"snapshot_process", "snapshot_processes"},
    {"snapshot_system", "snapshot_machines"},  {"snapshot_disk", "snapshot_disks"},
    {"snapshot_mount", "snapshot_mounts"},     {"snapshot_network", "snapshot_interfaces"},
    {"snapshot_setting", "snapshot_settings"}, {"snapshot_vm_image", "vm_images"}};

Sentence title_of_snapshots(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  Sentence title = sentence(
      "{name}: snapshots in {duration_ns}, {events} rows",
      {{"name", trace.path().filename().string(), Meaning::command},
       ns_value("duration_ns", manifest.end_ns - std::min(manifest.end_ns, manifest.begin_ns)),
       count_value("events", manifest.events())});
  if (manifest.lost() > 0)
    return title.add(", {lost} lost", {count_value("lost", manifest.lost())});
  return title.add(manifest.is_counted() ? ", none lost" : "");
}

std::vector<Fact> facts_of_snapshots(const store::TraceReader& trace) {
  std::vector<Fact> facts = recording_facts(trace);
  const std::vector<std::string>& filters = trace.manifest().filters;
  if (!filters.empty())
    facts.insert(
        facts.begin(),
        {.name = "taken",
         .value = only(text_value("filters", fmt::format("{}", fmt::join(filters, "; "))))});
  return facts;
}

// Each on a line of its own, to be copied.
Section commands_for_snapshots(const store::TraceReader& trace) {
  const NamedValue name = text_value("trace", shell_word(trace.path().native()));
  Section next{.id = "next", .title = sentence("Next")};
  for (const std::string_view view : snapshot_views(trace))
    next.intro.push_back(
        sentence(fmt::format("iotrail query {{trace}} \"FROM {}\"", view), {name}));
  if (const store::TableInfo* files = trace.table("snapshot_file");
      files && trace.has_rows(files->kind))
    next.intro.push_back(sentence("iotrail snapshot --since {trace}", {name}));
  return next;
}

} // namespace

std::vector<std::string_view> snapshot_views(const store::TraceReader& trace) {
  std::vector<std::string_view> views;
  for (const auto& [event, view] : kSnapshotViews)
    if (const store::TableInfo* table = trace.table(event); table && trace.has_rows(table->kind))
      views.push_back(view);
  return views;
}

bool is_of_snapshots(const store::TraceReader& trace) {
  const std::vector<std::string>& layers = trace.manifest().layers;
  return layers.size() == 1 && layers.front() == schema::layer_name(IOT_LAYER_snapshot);
}

Result<Document> make_snapshot_report(analysis::Engine& engine,
                                      const SnapshotReportOptions& options) {
  const store::TraceReader& trace = engine.trace();
  Document document{.trace = trace.path().native(),
                    .title = title_of_snapshots(trace),
                    .facts = facts_of_snapshots(trace),
                    .all_columns = "--wide"};
  for (const SectionDefinition& definition : sections_of(&Ranks::snapshot)) {
    Section section =
        make_section(engine, definition, {.rows = options.rows, .all_rows = options.all_rows});
    if (section.failure)
      return std::unexpected(*section.failure);
    add_notes(trace, definition, section);
    document.sections.push_back(std::move(section));
  }
  document.sections.push_back(commands_for_snapshots(trace));
  document.warnings = warning_sentences(trace);
  return document;
}

} // namespace iotrail::output
