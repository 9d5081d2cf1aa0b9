// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/lazy_relations.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace iotrail::analysis {

namespace {

bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || (c >= 'A' && c <= 'Z');
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return small;
}

// Walks over SQL in small letters word by word, or by words and marks. The tokens are parts of the
// SQL: a session looks at each of some hundred thousand letters of views.
class SqlWords {
public:
  explicit SqlWords(std::string_view small_sql) : sql_(small_sql) {}

  // The next word, quoted or not; empty: the end.
  std::string_view next() {
    std::string_view token = next_token();
    while (is_mark_ && !token.empty())
      token = next_token();
    return token;
  }

  // The same, or one of the marks `(`, `)`, `,` and `;`.
  std::string_view next_token() {
    is_mark_ = false;
    while (at_ < sql_.size()) {
      const char c = sql_[at_];
      if (is_of_word(c))
        return plain();
      if (c == '(' || c == ')' || c == ',' || c == ';') {
        is_mark_ = true;
        return sql_.substr(at_++, 1);
      }
      if (c == '\'')
        skip_quoted();
      else if (is_comment())
        skip_line();
      else if (c == '"') {
        if (const std::string_view quoted = skip_quoted(); !quoted.empty())
          return quoted;
      } else
        ++at_;
    }
    return {};
  }

  // Goes behind the next semicolon, or to the end, and makes no words of what lies before.
  void skip_statement() {
    while (at_ < sql_.size()) {
      const char c = sql_[at_];
      if (c == '\'' || c == '"') {
        skip_quoted();
      } else if (is_comment()) {
        skip_line();
      } else {
        ++at_;
        if (c == ';')
          return;
      }
    }
  }

  // After a token: where it ends.
  std::size_t position() const { return at_; }

  // After a word: whether a call follows.
  bool is_call() const {
    std::size_t after = at_;
    while (after < sql_.size() &&
           (sql_[after] == ' ' || sql_[after] == '\t' || sql_[after] == '\n'))
      ++after;
    return after < sql_.size() && sql_[after] == '(';
  }

private:
  bool is_comment() const {
    return sql_[at_] == '-' && at_ + 1 < sql_.size() && sql_[at_ + 1] == '-';
  }
  void skip_line() { at_ = std::min(sql_.find('\n', at_), sql_.size()); }

  // Skips from one quote to the next, or to the end, and returns the text between them.
  std::string_view skip_quoted() {
    const std::size_t begin = at_ + 1;
    const std::size_t end = std::min(sql_.find(sql_[at_], begin), sql_.size());
    at_ = std::min(end + 1, sql_.size());
    return sql_.substr(begin, end - begin);
  }

  std::string_view plain() {
    const std::size_t begin = at_;
    while (at_ < sql_.size() && is_of_word(sql_[at_]))
      ++at_;
    return sql_.substr(begin, at_ - begin);
  }

  std::string_view sql_;
  std::size_t at_ = 0;
  bool is_mark_ = false;
};

template <std::size_t kSize>
bool is_one_of(const std::array<std::string_view, kSize>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// A macro's name gets a `(` at its end, like a call in references_in().
std::vector<std::string> names_made_by(std::string_view sql) {
  std::vector<std::string> names;
  const std::string small = in_small_letters(sql);
  SqlWords words(small);
  for (auto word = words.next(); !word.empty(); word = words.next()) {
    if (word == "create") {
      const bool is_macro = words.next() == "macro";
      if (const auto name = words.next(); !name.empty()) {
        names.emplace_back(name);
        names.back() += is_macro ? "(" : "";
      }
    }
    words.skip_statement();
  }
  return names;
}

// Finds the names of relations by their place: after FROM and JOIN, and in the list after FROM.
class ReferenceFinder {
public:
  // In small letters.
  explicit ReferenceFinder(std::string_view small_sql) : words_(small_sql) {}

  std::vector<std::string> found() {
    for (auto token = words_.next_token(); !token.empty(); token = words_.next_token())
      read(token);
    std::erase_if(names_, [&](const std::string& name) {
      return std::ranges::find(own_names_, name) != own_names_.end();
    });
    return std::move(names_);
  }

private:
  static bool begins_list(std::string_view word) {
    static constexpr std::array<std::string_view, 7> kWords = {
        "from", "join", "table", "pivot", "unpivot", "summarize", "describe"};
    return is_one_of(kWords, word);
  }
  static bool ends_list(std::string_view word) {
    static constexpr std::array<std::string_view, 9> kWords = {
        "select", "where", "group", "order", "having", "qualify", "limit", "window", "union"};
    return is_one_of(kWords, word);
  }

  void read(std::string_view token) {
    if (token == "(") {
      note_own_name();
      in_list_.push_back(expects_name_);
    } else if (token == ")") {
      if (in_list_.size() > 1)
        in_list_.pop_back();
      expects_name_ = false;
    } else if (token == ",") {
      expects_name_ = in_list_.back();
    } else if (token != ";") {
      read_word(token);
    }
    last_ = {token, last_[0], last_[1], last_[2]};
  }

  void read_word(std::string_view word) {
    const bool ends = ends_list(word);
    if (words_.is_call()) {
      names_.emplace_back(word);
      names_.back() += '(';
    } else if (expects_name_ && !ends) {
      names_.emplace_back(word);
    }
    const bool is_first = last_[0].empty();
    expects_name_ = begins_list(word) || (word == "desc" && is_first); // elsewhere a sort order
    if (expects_name_)
      in_list_.back() = true;
    else if (ends)
      in_list_.back() = false;
  }

  // "name AS (", "name AS MATERIALIZED (": a common table expression.
  void note_own_name() {
    std::size_t as = last_[0] == "materialized" ? 1 : 0;
    as += as == 1 && last_[1] == "not" ? 1 : 0;
    if (last_[as] == "as")
      own_names_.push_back(last_[as + 1]);
  }

  SqlWords words_;
  std::vector<std::string> names_;
  std::vector<std::string_view> own_names_;
  std::vector<bool> in_list_ = {false}; // by depth of parentheses: in a list of relations
  bool expects_name_ = false;
  std::array<std::string_view, 4> last_; // tokens, the last one first
};

} // namespace

std::vector<std::string> names_in(std::string_view sql) {
  std::vector<std::string> names;
  const std::string small = in_small_letters(sql);
  SqlWords words(small);
  for (auto word = words.next(); !word.empty(); word = words.next())
    if (!words.is_call())
      names.emplace_back(word);
  return names;
}

std::vector<std::string> names_of_conditions(std::string_view sql) {
  constexpr std::string_view kBegins[] = {"where", "group", "having", "order", "qualify"};
  std::vector<std::string> names = names_in(sql);
  names.erase(names.begin(), std::ranges::find_first_of(names, kBegins));
  return names;
}

std::vector<std::string> references_in(std::string_view sql) {
  const std::string small = in_small_letters(sql);
  return ReferenceFinder(small).found();
}

std::vector<std::string_view> statements_of(std::string_view sql) {
  std::vector<std::string_view> statements;
  SqlWords words(sql);
  for (std::size_t begin = 0; begin < sql.size(); begin = words.position()) {
    words.skip_statement();
    statements.push_back(sql.substr(begin, words.position() - begin));
  }
  return statements;
}

// Whether DESCRIBE and `next` list all relations: DESCRIBE NAME and DESCRIBE SELECT do not.
static bool describes_all(std::string_view next) {
  static constexpr std::array<std::string_view, 5> kAll = {"all", "tables", "databases", "schemas",
                                                           "variables"};
  return next.empty() || next == ")" || next == ";" || is_one_of(kAll, next);
}

bool lists_relations(std::string_view sql) {
  const std::string small = in_small_letters(sql);
  SqlWords words(small);
  std::string_view before;
  bool describes = false; // the word before says so
  for (auto word = words.next_token();; word = words.next_token()) {
    if (describes && describes_all(word))
      return true;
    if (word.empty())
      return false;
    if (word == "show") // shown_path_at() is not this word
      return true;
    for (const std::string_view begin :
         {"show_", "information_schema", "duckdb_", "pg_", "sqlite_", "pragma"})
      if (word.starts_with(begin))
        return true;
    describes = word == "describe" || (word == "desc" && before.empty()); // else a sort order
    before = word;
  }
}

void LazyRelations::add_entry(std::span<const std::string> names, Definition definition) {
  if (std::ranges::any_of(names, [&](const auto& name) { return entry_of_.contains(name); }))
    return;
  for (const std::string& name : names)
    entry_of_.emplace(name, entries_.size());
  entries_.push_back({std::move(definition)});
}

void LazyRelations::add(std::string what, std::string sql, std::string fallback_sql) {
  const std::vector<std::string> names = names_made_by(sql);
  add_entry(
      names,
      {.what = std::move(what), .sql = std::move(sql), .fallback_sql = std::move(fallback_sql)});
}

void LazyRelations::add_file(std::string_view sql, std::span<const std::string> kept) {
  for (const std::string_view statement : statements_of(sql)) {
    const std::vector<std::string> names = names_made_by(statement);
    if (names.empty() && entries_.empty())
      continue;
    if (names.empty()) { // fills the table before it
      entries_.back().definition.sql += statement;
      continue;
    }
    Definition made{
        .what = "the view " + names.front(), .sql = std::string(statement), .fallback_sql = {}};
    constexpr std::string_view kCreate = "CREATE VIEW ";
    const auto at = made.sql.find(kCreate);
    const bool is_kept = std::ranges::find(kept, names.front()) != kept.end();
    if (is_kept && at != std::string::npos) {
      made.fallback_sql = made.sql;
      made.sql.replace(at, kCreate.size(), "CREATE TABLE ");
    }
    add_entry(names, std::move(made));
  }
}

void LazyRelations::take(Entry& entry, std::vector<Definition>& taken) {
  if (std::exchange(entry.is_taken, true))
    return;
  take(entry.definition.sql, taken);
  taken.push_back(std::move(entry.definition));
}

void LazyRelations::take(std::string_view statement, std::vector<Definition>& taken) {
  for (const std::string& name : references_in(statement))
    if (const auto found = entry_of_.find(name); found != entry_of_.end())
      take(entries_[found->second], taken);
}

std::vector<std::string_view> LazyRelations::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, entry] : entry_of_)
    names.push_back(name);
  return names;
}

bool LazyRelations::names_one_not_taken(std::string_view message) const {
  const auto is_not_taken = [&](const std::string& name) {
    const auto found = entry_of_.find(name);
    return found != entry_of_.end() && !entries_[found->second].is_taken;
  };
  return std::ranges::any_of(names_in(message), [&](const std::string& name) {
    return is_not_taken(name) || is_not_taken(name + '(');
  });
}

std::vector<LazyRelations::Definition> LazyRelations::take_for(std::string_view statement) {
  std::vector<Definition> taken;
  take(statement, taken);
  return taken;
}

std::vector<LazyRelations::Definition> LazyRelations::take_all(bool prefers_fallback) {
  for (Entry& entry : entries_)
    if (Definition& made = entry.definition; prefers_fallback && !made.fallback_sql.empty())
      made.sql = std::exchange(made.fallback_sql, {});
  std::vector<Definition> taken;
  for (Entry& entry : entries_)
    take(entry, taken);
  return taken;
}

} // namespace iotrail::analysis
