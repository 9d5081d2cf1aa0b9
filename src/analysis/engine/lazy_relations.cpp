// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/lazy_relations.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace iotrail::analysis {

namespace {

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Walks over SQL word by word.
class SqlWords {
public:
  explicit SqlWords(std::string_view sql) : sql_(sql) {}

  // The next word in lower case, quoted or not; nullopt: the end.
  std::optional<std::string> next() {
    while (at_ < sql_.size()) {
      const char c = sql_[at_];
      if (c == '\'')
        skip_quoted();
      else if (sql_.substr(at_).starts_with("--"))
        at_ = std::min(sql_.find('\n', at_), sql_.size());
      else if (c == '"')
        return in_small_letters(skip_quoted());
      else if (is_of_word(c))
        return plain();
      else
        ++at_;
    }
    return std::nullopt;
  }

  // After a word: whether a call follows.
  bool is_call() const {
    const std::size_t after = sql_.find_first_not_of(" \t\n", at_);
    return after != std::string_view::npos && sql_[after] == '(';
  }

private:
  // Skips from one quote to the next, or to the end, and returns the text between them.
  std::string_view skip_quoted() {
    const std::size_t begin = at_ + 1;
    const std::size_t end = std::min(sql_.find(sql_[at_], begin), sql_.size());
    at_ = std::min(end + 1, sql_.size());
    return sql_.substr(begin, end - begin);
  }

  std::string plain() {
    const std::size_t begin = at_;
    while (at_ < sql_.size() && is_of_word(sql_[at_]))
      ++at_;
    return in_small_letters(sql_.substr(begin, at_ - begin));
  }

  static std::string in_small_letters(std::string_view text) {
    std::string small(text);
    std::ranges::transform(small, small.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return small;
  }

  std::string_view sql_;
  std::size_t at_ = 0;
};

std::vector<std::string> relations_made_by(std::string_view sql) {
  std::vector<std::string> names;
  SqlWords words(sql);
  std::string before;
  std::string last;
  while (auto word = words.next()) {
    if (before == "create" && (last == "view" || last == "table"))
      names.push_back(*word);
    before = std::exchange(last, std::move(*word));
  }
  return names;
}

} // namespace

std::vector<std::string> names_in(std::string_view sql) {
  std::vector<std::string> names;
  SqlWords words(sql);
  while (auto word = words.next())
    if (!words.is_call())
      names.push_back(std::move(*word));
  return names;
}

std::vector<std::string> names_of_conditions(std::string_view sql) {
  constexpr std::string_view kBegins[] = {"where", "group", "having", "order", "qualify"};
  std::vector<std::string> names = names_in(sql);
  names.erase(names.begin(), std::ranges::find_first_of(names, kBegins));
  return names;
}

bool lists_relations(std::string_view sql) {
  SqlWords words(sql);
  auto word = words.next();
  if (word == "desc") // elsewhere a sort order
    return true;
  for (; word; word = words.next()) {
    if (word == "show") // shown_path_at() is not this word
      return true;
    for (const std::string_view begin :
         {"show_", "describe", "information_schema", "duckdb_", "pg_", "sqlite_", "pragma"})
      if (word->starts_with(begin))
        return true;
  }
  return false;
}

void LazyRelations::add(std::string what, std::string sql, std::string fallback_sql) {
  const std::vector<std::string> names = relations_made_by(sql);
  if (std::ranges::any_of(names, [&](const auto& name) { return entry_of_.contains(name); }))
    return;
  for (const std::string& name : names)
    entry_of_.emplace(name, entries_.size());
  entries_.push_back({{std::move(what), std::move(sql), std::move(fallback_sql)}});
}

void LazyRelations::take(Entry& entry, std::vector<Definition>& taken) {
  if (std::exchange(entry.is_taken, true))
    return;
  take(entry.definition.sql, taken);
  taken.push_back(std::move(entry.definition));
}

void LazyRelations::take(std::string_view statement, std::vector<Definition>& taken) {
  for (const std::string& name : names_in(statement))
    if (const auto found = entry_of_.find(name); found != entry_of_.end())
      take(entries_[found->second], taken);
}

std::vector<std::string_view> LazyRelations::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, entry] : entry_of_)
    names.push_back(name);
  return names;
}

std::vector<LazyRelations::Definition> LazyRelations::take_for(std::string_view statement) {
  if (lists_relations(statement))
    return take_all();
  std::vector<Definition> taken;
  take(statement, taken);
  return taken;
}

std::vector<LazyRelations::Definition> LazyRelations::take_all() {
  std::vector<Definition> taken;
  for (Entry& entry : entries_)
    take(entry, taken);
  return taken;
}

} // namespace iotrail::analysis
