// SPDX-License-Identifier: BSD-3-Clause
#include "report/explain/explain.hpp"

#include <algorithm>

#include "report/explain/explain_choice.hpp"
#include "report/explain/explain_missing.hpp"
#include "report/explain/explain_overview.hpp"
#include "report/explain/explain_parts.hpp"
#include "report/explain/explain_sector.hpp"
#include "report/explain/op_time.hpp"
#include "report/warnings.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

Operation operation_of(const SmallResult& rows, std::size_t row) {
  Operation operation;
  operation.id = rows.number(row, "op_id");
  operation.is_library = rows.text(row, "layer") == schema::layer_name(IOT_LAYER_app);
  const std::uint64_t begin_ns = rows.number(row, "ts_ns");
  operation.span = {begin_ns, begin_ns + rows.number(row, "duration_ns")};
  Sentence& title = operation.title;
  title.add("{call}", {text_value("call", rows.text(row, "what"))});
  if (!rows.is_null(row, "bytes"))
    title.add(" {bytes}", {bytes_value("bytes", rows.number(row, "bytes"))});
  if (std::string error = rows.text(row, "error"); !error.empty())
    title.add(" {error}", {text_value("error", std::move(error))});
  if (std::string path = rows.text(row, "path"); !path.empty())
    title.add(" of {path}", {text_value("path", std::move(path))});
  title.add(
      ", {duration_ns} by {process}, at second {at_second}, operation {op}",
      {ns_value("duration_ns", operation.span.length_ns()),
       text_value("process", process_text(rows, row)),
       {"at_second", static_cast<double>(rows.number(row, "since_ns")) / 1e9, Meaning::second},
       text_value("op", rows.text(row, "name"))});
  return operation;
}

// Beside the bar: how many bytes in how many requests, the error, which call it is.
std::vector<Sentence> remark(const Part& part) {
  if (part.requests > 0) {
    const NamedValue requests = count_value("requests", part.requests);
    if (number_of(part.bytes) == 0)
      return {sentence("{requests} without bytes", {requests})};
    return {sentence("{bytes} in {requests}", {{"bytes", part.bytes, Meaning::bytes}, requests})};
  }
  if (!part.error.empty())
    return {only(text_value("error", part.error))};
  if (is_known(part.bytes))
    return {only({"bytes", part.bytes, Meaning::bytes})};
  return {only(text_value("note", part.note))};
}

Value text_or_null(const std::string& text) {
  return text.empty() ? Value{} : Value{text};
}

Section parts_section(const Operation& operation) {
  Section section{
      .id = "parts",
      .title = operation.title,
      .columns = {{.name = "layer", .title = "layer"},
                  {.name = "_words", .title = "what", .meaning = Meaning::label},
                  {.name = "covered_ns", .title = "took", .meaning = Meaning::ns},
                  {.name = "spans", .title = "its begin to its end", .meaning = Meaning::spans},
                  {.name = "_remark", .meaning = Meaning::label},
                  {.name = "bytes", .meaning = Meaning::bytes},
                  {.name = "requests", .meaning = Meaning::count},
                  {.name = "error"},
                  {.name = "note"},
                  {.name = "what"}},
      .shown = {0, 1, 2, 3, 4}};
  const std::size_t shown = std::min(operation.parts.size(), kPartsShown);
  for (const Part& part : std::span(operation.parts).first(shown))
    section.rows.push_back(
        {{part.layer, part.words.empty() ? part.what : part.words,
          covered_ns(part.spans, operation.span), Spans{operation.span, part.spans}, remark(part),
          part.bytes, part.requests == 0 ? Value{} : Value{part.requests}, text_or_null(part.error),
          text_or_null(part.note), part.what}});
  section.all_rows = operation.parts.size() + operation.parts_left_out;
  if (const std::uint64_t more = section.all_rows - shown; more > 0)
    section.notes.push_back(sentence("and {more} more", {count_value("more", more)}));
  section.notes.push_back(time_sentence(operation.time, operation.span));
  section.notes.insert(section.notes.end(), operation.later.begin(), operation.later.end());
  return section;
}

// A row and a child for each; people see the children alone.
Section operations_section(const SmallResult& heads, const std::vector<Operation>& operations) {
  constexpr std::pair<std::string_view, std::string_view> kColumns[] = {
      {"op", "name"},     {"op_id", "op_id"}, {"layer", "layer"},
      {"call", "what"},   {"ts_ns", "ts_ns"}, {"since_ns", "since_ns"},
      {"path", "path"},   {"bytes", "bytes"}, {"duration_ns", "duration_ns"},
      {"error", "error"}, {"pid", "pid"},     {"comm", "comm"}};
  Section section{.id = "operations", .all_rows = heads.size()};
  for (const auto& [name, selected] : kColumns)
    section.columns.push_back({.name = std::string(name)});
  for (std::size_t i = 0; i < operations.size(); ++i) {
    Row row;
    for (const auto& [name, selected] : kColumns)
      row.values.push_back(heads.value(i, selected));
    section.rows.push_back(std::move(row));
    section.children.push_back(parts_section(operations[i]));
  }
  return section;
}

Result<Document> explain_operations(analysis::Engine& engine, const ExplainOptions& options) {
  const auto heads = SmallResult::query(engine, heads_sql(options));
  if (!heads)
    return std::unexpected(heads.error());
  if (heads->size() == 0)
    return std::unexpected(no_operation(engine, options, all_heads_sql(options)));
  std::vector<Operation> operations;
  for (std::size_t row = 0; row < heads->size(); ++row)
    operations.push_back(operation_of(*heads, row));
  if (Result<void> added = add_parts(engine, operations); !added)
    return std::unexpected(added.error());
  auto left_out = name_left_out(engine, options, *heads);
  if (!left_out)
    return std::unexpected(left_out.error());
  Document document;
  if (operations.size() > kWithoutOverview)
    document.sections.push_back(overview_section(*heads, operations));
  document.sections.push_back(operations_section(*heads, operations));
  if (!left_out->empty())
    document.sections.push_back({.id = "left_out", .notes = {std::move(*left_out)}});
  return document;
}

Result<Document> explain_one(Result<Section> section) {
  if (!section)
    return std::unexpected(section.error());
  Document document;
  document.sections.push_back(std::move(*section));
  return document;
}

Result<Document> explained(analysis::Engine& engine, const ExplainOptions& options) {
  if (options.sector)
    return explain_one(make_sector(engine, options));
  if (options.request)
    return explain_one(make_request(engine, options));
  return explain_operations(engine, options);
}

} // namespace

Result<Document> make_explanation(analysis::Engine& engine, const ExplainOptions& options) {
  Result<Document> document = explained(engine, options);
  if (!document)
    return document;
  document->warnings = answer_warnings(engine.trace());
  document->trace = engine.trace().path().native();
  return document;
}

} // namespace iotrail::output
