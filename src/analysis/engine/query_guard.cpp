// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/query_guard.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "analysis/engine/sql_text.hpp"
#include "analysis/engine/statement.hpp"

namespace iotrail::analysis {

namespace {

using nlohmann::json;

std::unexpected<Error> fail_not_a_query(std::string why) {
  return fail("the query is refused", std::move(why),
              "A query is one statement that reads: SELECT, WITH, FROM, VALUES, PIVOT,\n  "
              "DESCRIBE, SHOW, SUMMARIZE or EXPLAIN. --unsafe-external-access allows all.");
}

// Functions with side effects on the engine, and one that runs SQL in a form that is not checked.
constexpr std::string_view kCommands[] = {"checkpoint",           "disable_logging",
                                          "enable_logging",       "force_checkpoint",
                                          "truncate_duckdb_logs", "json_execute_serialized_sql"};
constexpr std::string_view kRunsText = "query"; // and query_table, which only reads

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// Whether `sql` may call such a function. The engine has no other spelling of a name: it refuses
// escapes in U&"...".
bool may_have_command(std::string_view sql) {
  const std::string lower = in_lower_case(sql);
  return lower.contains(kRunsText) || std::ranges::any_of(kCommands, [&](std::string_view command) {
           return lower.contains(command);
         });
}

// The first value of the query's only row; empty: it failed, or NULL.
std::string first_text(duckdb_connection connection, const std::string& sql) {
  duckdb_result result{};
  std::string text;
  if (duckdb_query(connection, sql.c_str(), &result) == DuckDBSuccess)
    if (char* const value = duckdb_value_varchar(&result, 0, 0)) {
      text = value;
      duckdb_free(value);
    }
  duckdb_destroy_result(&result);
  return text;
}

// The tree of statements that the engine's parser makes of the text; it makes one of SELECT and its
// kin alone. nullopt: it is no such statement.
std::optional<json> parsed(duckdb_connection connection, std::string_view sql) {
  const json tree = json::parse(
      first_text(connection, fmt::format("SELECT json_serialize_sql({})", sql_literal(sql))),
      nullptr, false);
  if (!tree.is_object() || tree.value("error", true))
    return std::nullopt;
  return tree;
}

Result<void> check_text(duckdb_connection connection, std::string_view sql);

// The only argument of query(), if it is a text as it stands.
std::optional<std::string> text_to_run(const json& call) {
  const json arguments = call.value("children", json::array());
  if (arguments.size() != 1 || arguments[0].value("class", "") != "CONSTANT")
    return std::nullopt;
  const json value = arguments[0].value("value", json::object()).value("value", json());
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

Result<void> check_call(duckdb_connection connection, const json& call) {
  const std::string name = in_lower_case(call.value("function_name", ""));
  if (std::ranges::find(kCommands, name) != std::end(kCommands))
    return fail_not_a_query("a function in it does not read, but changes the engine");
  if (name != kRunsText)
    return {};
  const std::optional<std::string> text = text_to_run(call);
  if (!text)
    return fail_not_a_query("it computes the text for the function query(): write that text");
  return check_text(connection, *text);
}

Result<void> check_tree(duckdb_connection connection, const json& tree) {
  if (tree.is_object() && tree.contains("function_name"))
    if (Result<void> checked = check_call(connection, tree); !checked)
      return checked;
  if (tree.is_structured())
    for (const json& part : tree)
      if (Result<void> checked = check_tree(connection, part); !checked)
        return checked;
  return {};
}

Result<void> check_text(duckdb_connection connection, std::string_view sql) {
  const std::optional<json> tree = parsed(connection, sql);
  return tree ? check_tree(connection, *tree)
              : fail_not_a_query("it does not read, and nothing that it changes is kept");
}

// Removes blanks and comments, which may be nested, from the begin.
void skip_blanks(std::string_view& sql) {
  for (int depth = 0; !sql.empty();) {
    const bool opens = sql.starts_with("/*");
    if (opens || (depth > 0 && sql.starts_with("*/"))) {
      depth += opens ? 1 : -1;
      sql.remove_prefix(2);
    } else if (depth > 0 || std::isspace(static_cast<unsigned char>(sql.front())) != 0) {
      sql.remove_prefix(1);
    } else if (sql.starts_with("--")) {
      sql.remove_prefix(std::min(sql.find('\n'), sql.size()));
    } else {
      return;
    }
  }
}

bool skip_word(std::string_view& sql, std::string_view word) {
  skip_blanks(sql);
  const bool is_there = in_lower_case(sql.substr(0, word.size())) == word &&
                        (sql.size() == word.size() ||
                         std::isalnum(static_cast<unsigned char>(sql[word.size()])) == 0);
  if (is_there)
    sql.remove_prefix(word.size());
  return is_there;
}

// The first words of statements that change or write something, whatever follows.
constexpr std::string_view kWriters[] = {"alter",  "attach",   "comment", "copy",   "create",
                                         "delete", "detach",   "drop",    "export", "import",
                                         "insert", "install",  "load",    "merge",  "reset",
                                         "set",    "truncate", "update",  "vacuum"};
constexpr std::string_view kWritesFiles = "copy";

// The texts that EXPLAIN may stand before, without its options; only one of them is a statement.
std::vector<std::string_view> explained(std::string_view sql) {
  if (!skip_word(sql, "explain"))
    return {};
  (void)skip_word(sql, "analyze");
  std::vector<std::string_view> texts{sql};
  skip_blanks(sql);
  if (const auto end = sql.find(')'); sql.starts_with('(') && end != std::string_view::npos)
    texts.push_back(sql.substr(end + 1));
  return texts;
}

} // namespace

std::string_view without_end(std::string_view sql) {
  while (!sql.empty() &&
         (sql.back() == ';' || std::isspace(static_cast<unsigned char>(sql.back()))))
    sql.remove_suffix(1);
  return sql;
}

Result<void> check_begin(std::string_view sql) {
  for (const std::string_view word : kWriters)
    if (std::string_view rest = sql; skip_word(rest, word)) {
      Error error =
          fail_not_a_query("it does not read, and nothing that it changes is kept").error();
      if (word == kWritesFiles)
        error.hint = std::string(kReadsAlone);
      return std::unexpected(std::move(error));
    }
  return {};
}

// A PIVOT must be one statement in the text: its strings must not have a semicolon.
Result<void> check_statements(std::string_view sql, idx_t count) {
  if (count == 1)
    return {};
  if (count != 2 || without_end(sql).contains(';'))
    return fail_not_a_query(fmt::format("it has {} statements", count));
  if (may_have_command(sql)) // the first statement would run it before the second is checked
    return fail_not_a_query(
        "a function in it may change the engine; a PIVOT that lists its values (IN) may have it");
  return {};
}

Result<void> check_prepared(duckdb_connection connection, const std::string& sql, idx_t count,
                            duckdb_prepared_statement statement) {
  const duckdb_statement_type type = duckdb_prepared_statement_type(statement);
  if (type == DUCKDB_STATEMENT_TYPE_SELECT)
    return count == 1 && may_have_command(sql) ? check_text(connection, sql) : Result<void>();
  for (const std::string_view text : explained(sql))
    if (type == DUCKDB_STATEMENT_TYPE_EXPLAIN && parsed(connection, text))
      return check_text(connection, text);
  return fail_not_a_query("it does not read, and nothing that it changes is kept");
}

} // namespace iotrail::analysis
