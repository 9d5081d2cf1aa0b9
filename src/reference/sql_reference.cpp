// SPDX-License-Identifier: BSD-3-Clause
#include "reference/sql_reference.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "analysis/engine/sql_text.hpp"
#include "analysis/findings/rule.hpp"
#include "base/nearest_name.hpp"
#include "reference/schema_print.hpp"
#include "report/small_result.hpp"
#include "schema.hpp"
#include "text/markdown.hpp"
#include "text/printable.hpp"
#include "text/table.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kComment = "--";
constexpr std::size_t kColumnIndent = 3; // of a line that begins a column, after the dashes

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

void append(std::string& text, std::string_view more) {
  text += text.empty() || more.empty() ? "" : " ";
  text += more;
}

// One line of a comment: a new column, the continuation of one, or prose.
void add_line(Relation& relation, std::string_view line) {
  const auto indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view text = trimmed(line);
  if (indent < kColumnIndent || text.starts_with("columns as in"))
    return append(relation.doc, text);
  if (indent > kColumnIndent && !relation.columns.empty())
    return append(relation.columns.back().doc, text);
  const auto gap = text.find("  ");
  relation.columns.push_back({std::string(text.substr(0, gap)),
                              std::string(gap == text.npos ? "" : trimmed(text.substr(gap)))});
}

// Removes and returns the name: "events" in "-- TABLE events: all events".
std::string take_name(std::string_view& line, std::string_view word) {
  if (!line.starts_with(word))
    return {};
  line.remove_prefix(word.size());
  const auto end = line.starts_with("TABLE(") ? line.find("):") + 1 : line.find(':');
  std::string name(line.substr(0, end));
  line.remove_prefix(std::min(end + 1, line.size()));
  return name;
}

// "layers" for "CREATE VIEW layers AS", "p50(x)" for "CREATE MACRO p50(x) AS ..."
std::string created_name(std::string_view line, RelationKind& kind) {
  for (const std::string_view begin : {"CREATE VIEW ", "CREATE TABLE ", "CREATE MACRO "})
    if (line.starts_with(begin)) {
      line.remove_prefix(begin.size());
      kind = begin.contains("MACRO") ? RelationKind::function : RelationKind::view;
      return std::string(
          line.substr(0, kind == RelationKind::function ? line.find(')') + 1 : line.find(' ')));
    }
  return {};
}

// Reads the comments of one file of views. A comment belongs to the CREATE below it. A first
// comment without a CREATE below it belongs to the view with the name of the file.
class CommentReader {
public:
  explicit CommentReader(const analysis::ViewFile& file) : file_(file) {}

  std::vector<Relation> read() {
    std::string_view sql = file_.sql;
    while (!sql.empty()) {
      const auto end = std::min(sql.find('\n'), sql.size());
      line(sql.substr(0, end));
      sql.remove_prefix(std::min(end + 1, sql.size()));
    }
    end_block();
    return std::move(relations_);
  }

private:
  void line(std::string_view text) {
    if (text.starts_with(kComment)) {
      block_.push_back(text.substr(kComment.size()));
      return;
    }
    RelationKind kind{};
    if (const std::string name = created_name(text, kind); !name.empty())
      add(kind, name, block_.empty() && name == file_.name ? top_ : block_);
    else if (!text.empty())
      block_.clear();
    end_block();
  }

  void add(RelationKind kind, std::string name, const std::vector<std::string_view>& lines) {
    if (lines.empty())
      return;
    Relation relation{kind, std::move(name), "", {}};
    for (const std::string_view text : lines)
      add_line(relation, text);
    relations_.push_back(std::move(relation));
    block_.clear();
  }

  void end_block() {
    if (block_.empty())
      return;
    std::string_view first = block_.front().substr(std::min<std::size_t>(1, block_.front().size()));
    std::string name = take_name(first, "TABLE ");
    const RelationKind kind = name.empty() ? RelationKind::function : RelationKind::view;
    if (name.empty())
      name = take_name(first, "FUNCTION ");
    if (!name.empty()) {
      block_.front() = first;
      add(kind, name, block_);
    } else if (top_.empty()) {
      top_ = block_;
    }
    block_.clear();
  }

  const analysis::ViewFile& file_;
  std::vector<std::string_view> block_; // comment lines since the last other line
  std::vector<std::string_view> top_;
  std::vector<Relation> relations_;
};

// Columns that their name or their field's documentation explains fully.
bool is_self_evident(schema::Meaning meaning) {
  using schema::Meaning;
  constexpr Meaning kSelfEvident[] = {Meaning::number, Meaning::text,  Meaning::bytes,
                                      Meaning::pages,  Meaning::inode, Meaning::mode};
  const bool is_name = !schema::value_table(meaning).empty();
  return is_name || std::ranges::find(kSelfEvident, meaning) != std::end(kSelfEvident);
}

// The documentation of the field, with its unit or the names of its flags.
std::string field_doc(const schema::Field& field) {
  std::string doc(field.doc);
  if (schema::is_flag_set(field.meaning))
    append(doc, fmt::format("flags_text('{}', {}) names them.", schema::value_table(field.meaning),
                            schema::column_name(field.name)));
  else if (!is_self_evident(field.meaning))
    append(doc, schema::kMeanings[static_cast<std::size_t>(field.meaning)].doc);
  return doc;
}

bool has_operation(const schema::Event& event) {
  return std::ranges::find(event.fields, schema::Role::operation, &schema::Field::role) !=
         event.fields.end();
}

Relation event_relation(const schema::Event& event) {
  Relation relation{event.is_dictionary() ? RelationKind::dictionary : RelationKind::event,
                    std::string(event.name),
                    event_doc(event),
                    {}};
  for (const schema::Field& field : event.fields)
    relation.columns.push_back({std::string(schema::column_name(field.name)), field_doc(field)});
  if (has_operation(event))
    relation.columns.push_back(
        {"class", "The operation in the flags: 'read', 'write', 'flush', ..."});
  return relation;
}

// Functions made of rows of the schema (analysis/word_tables.cpp).
void add_schema_functions(std::vector<Relation>& relations) {
  std::string places;
  for (const schema::PlaceInfo& place : schema::kPlaces)
    places += fmt::format("{}'{}': {}", places.empty() ? "" : "; ", place.name, place.doc);
  relations.push_back(
      {RelationKind::function,
       "layer_at(place)",
       fmt::format("The layer at that place of layer_list; NULL of 'beside'. {}.", places),
       {}});
  for (const schema::TraitInfo& trait : schema::kTraits)
    relations.push_back({RelationKind::function,
                         fmt::format("{}(class)", trait.name),
                         fmt::format("True for what {}.", trait.doc),
                         {}});
}

std::string first_sentence(std::string_view doc) {
  auto end = std::min(doc.find(". "), doc.find(": "));
  if (end == doc.npos && doc.ends_with('.'))
    end = doc.size() - 1;
  return std::string(doc.substr(0, end));
}

bool documents(const RelationColumn& column, std::string_view name) {
  std::string_view names = column.names;
  while (!names.empty()) {
    const auto end = std::min(names.find(", "), names.size());
    if (names.substr(0, end) == name)
      return true;
    names.remove_prefix(std::min(end + 2, names.size()));
  }
  return false;
}

constexpr std::string_view kAsIn = "as in ";

// "layers" for "columns as in layers", "operations" for "as in the view operations, and"; empty:
// the text names no other relation.
std::string_view model_of(std::string_view doc) {
  const auto at = doc.find(kAsIn);
  if (at == doc.npos)
    return {};
  doc.remove_prefix(at + kAsIn.size());
  constexpr std::string_view kTheView = "the view ";
  if (doc.starts_with(kTheView))
    doc.remove_prefix(kTheView.size());
  return doc.substr(0, doc.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"));
}

constexpr std::pair<RelationKind, std::string_view> kChapters[] = {
    {RelationKind::view, "Views and small tables"}, {RelationKind::function, "Functions"}};

} // namespace

std::string column_doc(std::span<const Relation> relations, const Relation& relation,
                       std::string_view column) {
  const auto found = std::ranges::find_if(
      relation.columns, [&](const RelationColumn& row) { return documents(row, column); });
  const bool is_documented = found != relation.columns.end();
  if (is_documented && !found->doc.starts_with(kAsIn))
    return found->doc;
  const auto model = std::ranges::find(
      relations, model_of(is_documented ? found->doc : relation.doc), &Relation::name);
  const std::string doc =
      model == relations.end() || &*model == &relation ? "" : column_doc(relations, *model, column);
  return doc.empty() && is_documented ? found->doc : doc;
}

std::vector<Relation> sql_relations() {
  std::vector<Relation> relations;
  for (const analysis::ViewFile& file : analysis::view_files())
    std::ranges::move(CommentReader(file).read(), std::back_inserter(relations));
  add_schema_functions(relations);
  // `losses` is both a view and a dictionary: the view has more columns, so it wins.
  for (const schema::Event& event : schema::kEvents)
    if (std::ranges::find(relations, event.name, &Relation::name) == relations.end())
      relations.push_back(event_relation(event));
  std::ranges::stable_sort(relations, {}, &Relation::kind);
  return relations;
}

// The unit follows from the name (findings/rule.hpp).
static std::string unit_of(std::string_view column) {
  constexpr std::pair<std::string_view, std::string_view> kUnits[] = {
      {"_ns", "A duration in nanoseconds."},
      {"bytes", "Bytes."},
      {"share", "A part of 1."},
      {"ratio", "A factor."}};
  for (const auto& [end, doc] : kUnits)
    if (column.ends_with(end))
      return std::string(doc);
  return {};
}

std::vector<Relation> finding_relations() {
  std::vector<Relation> relations;
  for (const analysis::Rule& rule : analysis::finding_rules())
    relations.push_back(
        {RelationKind::view,
         "finding_" + rule.name,
         fmt::format("Finding {}, {}. A row says: {}", rule.id, rule.title, rule.sentence),
         {{"subject", "What the finding is about: a path, a device, a program."},
          {"could_save_ns", "The most nanoseconds that the run can become shorter by; 0: unknown."},
          {"op_id", "One operation of it, the slowest; NULL: none."},
          {"merges", "The cause that it shares with findings of other rules; NULL: none."}}});
  return relations;
}

std::string sql_markdown() {
  std::string out =
      "# SQL over a trace\n\nMade from `schema/` and the comments in `src/analysis/views/`. "
      "`iotrail query TRACE SQL` asks; `--tables` and `--describe NAME` print what is here, with "
      "the rows of that trace. Each event is a table too: its columns are in "
      "[events.md](events.md). The language is DuckDB's.\n";
  const std::vector<Relation> relations = sql_relations();
  for (const auto& [kind, title] : kChapters) {
    out += fmt::format("\n## {}\n", title);
    for (const Relation& relation : relations) {
      if (relation.kind != kind)
        continue;
      out += fmt::format("\n### {}\n\n{}\n", relation.name, relation.doc);
      if (!relation.columns.empty())
        out += "\n| column | |\n|---|---|\n";
      for (const RelationColumn& column : relation.columns)
        out += fmt::format("| `{}` | {} |\n", column.names, markdown_cell(column.doc));
    }
  }
  return out;
}

// Printed instead of a number of rows, which only stored relations have.
static std::string kind_text(RelationKind kind) {
  switch (kind) {
  case RelationKind::function:
    return "function";
  case RelationKind::view:
    return "view";
  default:
    return "-";
  }
}

Result<void> print_relations(analysis::Engine& engine, Sink& sink, std::size_t width) {
  const auto counts = SmallResult::query(engine, "SELECT name, row_count FROM tables");
  if (!counts)
    return std::unexpected(counts.error());
  std::map<std::string, std::string> rows;
  for (std::size_t row = 0; row < counts->size(); ++row)
    rows[counts->text(row, "name")] = human_count(counts->number(row, "row_count"));
  TextTable table(
      {{"name", Align::left}, {"rows", Align::right}, {"what it is", Align::left, Fit::end}});
  for (const Relation& relation : sql_relations()) {
    const auto found = rows.find(relation.name);
    const auto arguments = relation.name.find('('); // --tables NAME has them
    table.add({relation.name.substr(0, arguments) + (arguments == std::string::npos ? "" : "()"),
               found != rows.end() ? found->second : kind_text(relation.kind),
               first_sentence(relation.doc)});
  }
  table.print(sink, "", width);
  sink.print("\nColumns, and more on each: iotrail query TRACE --tables NAME\n"
             "Each rule of finding_rules has a view, too: FROM finding_NAME\n");
  return sink.finish();
}

static Result<void> fail_unknown(std::string_view name, const std::vector<Relation>& relations) {
  std::vector<std::string_view> names;
  for (const Relation& relation : relations)
    names.push_back(std::string_view(relation.name).substr(0, relation.name.find('(')));
  return fail_usage(fmt::format("there is no table, view or function '{}'", name),
                    "`iotrail query TRACE --tables` lists them", did_you_mean(name, names));
}

Result<void> print_relation(analysis::Engine& engine, std::string_view name, Sink& sink,
                            std::size_t width) {
  std::vector<Relation> relations = sql_relations();
  const std::size_t findings = relations.size();
  std::ranges::move(finding_relations(), std::back_inserter(relations));
  const auto found = std::ranges::find_if(relations, [&](const Relation& relation) {
    return relation.name == name || relation.name.starts_with(std::string(name) + "(");
  });
  if (found == relations.end())
    return fail_unknown(name, relations);
  for (const std::string& line : wrapped(fmt::format("{}: {}", found->name, found->doc), width))
    sink.print("{}\n", line);
  if (found->kind == RelationKind::function)
    return sink.finish();
  const bool is_finding = found - relations.begin() >= static_cast<std::ptrdiff_t>(findings);
  const auto columns =
      SmallResult::query(engine, fmt::format("DESCRIBE FROM {}", analysis::sql_name(name)));
  if (!columns)
    return std::unexpected(columns.error());
  TextTable table(
      {{"column", Align::left}, {"type", Align::left}, {"meaning", Align::left, Fit::wrap}});
  for (std::size_t row = 0; row < columns->size(); ++row) {
    const std::string column = columns->text(row, "column_name");
    std::string doc = column_doc(relations, *found, column);
    if (doc.empty() && is_finding)
      doc = unit_of(column);
    table.add({column, columns->text(row, "column_type"), std::move(doc)});
  }
  sink.put('\n');
  table.print(sink, "  ", width);
  return sink.finish();
}

} // namespace iotrail::output
