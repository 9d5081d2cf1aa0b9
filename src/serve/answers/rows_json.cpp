// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "base/utf8.hpp"
#include "export/value_names.hpp"
#include "render/json/parts.hpp"
#include "render/text/value_text.hpp"
#include "report/warnings.hpp"
#include "serve/answers/answers.hpp"
#include "serve/answers/open_engine.hpp"
#include "text/printable.hpp"

namespace iotrail::serve {

namespace {

constexpr std::size_t kCellBytes = 4096;
constexpr std::uint64_t kExactInScript = 1ULL << 53U;

// Ends `text` before its last character if that is cut.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most)
    return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U)
    --most;
  return text.substr(0, most);
}

struct PutCell {
  output::Sink& sink;
  analysis::Kind kind;
  bool& is_cut;

  void operator()(std::string_view text) const {
    is_cut = is_cut || text.size() > kCellBytes;
    output::put_json_text(sink, output::printable(cut(text, kCellBytes)));
  }
  void operator()(std::uint64_t number) const { put_integer(number, number <= kExactInScript); }
  void operator()(std::int64_t number) const {
    constexpr auto kMost = static_cast<std::int64_t>(kExactInScript);
    put_integer(number, number >= -kMost && number <= kMost);
  }
  void operator()(auto plain) const { output::put_json_cell(sink, plain, kind); }

  void put_integer(auto number, bool is_exact) const {
    const std::string_view quote = is_exact ? "" : "\"";
    sink.print("{0}{1}{0}", quote, number);
  }
};

void put_columns(output::Sink& sink, std::span<const analysis::ResultColumn> columns) {
  sink.put("{\"columns\":[");
  for (const analysis::ResultColumn& column : columns) {
    sink.put(&column == &columns.front() ? "" : ",");
    output::put_json_text(sink, output::printable(cut(column.name, kCellBytes)));
  }
  sink.put("],\n\"rows\":[");
}

void put_row(output::Sink& sink, std::span<const analysis::ResultColumn> columns,
             std::span<const analysis::Cell> cells, bool& is_cut) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    sink.put(i == 0 ? "[" : ",");
    std::visit(PutCell{sink, columns[i].kind, is_cut}, cells[i]);
  }
  sink.put(']');
}

// Returns whether something was left out.
Result<bool> put_rows(analysis::Rows& rows, const store::TraceReader& trace, const Limits& limits,
                      std::string& json) {
  output::ValueNames names(trace, rows.columns());
  bool is_cut = false;
  {
    output::Sink sink(json);
    put_columns(sink, names.columns());
    (void)sink.finish(); // a string cannot fail
  }
  for (std::uint64_t count = 0;; ++count) {
    const auto more = rows.next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      return is_cut;
    if (count == limits.rows)
      return true;
    std::string row = count == 0 ? "\n" : ",\n";
    output::Sink sink(row);
    put_row(sink, names.columns(), names.row(rows.row()), is_cut);
    (void)sink.finish();
    if (json.size() + row.size() > limits.bytes)
      return true;
    json += row;
  }
}

} // namespace

Result<std::string> rows_json(const TracePath& trace, const std::string& sql,
                              const Limits& limits) {
  const auto engine = open_engine(trace, limits, {.time_limit_ns = limits.time_ns});
  if (!engine)
    return std::unexpected(engine.error());
  auto rows = (*engine)->query(sql);
  if (!rows)
    return std::unexpected(rows.error());
  std::string json;
  const auto is_truncated = put_rows(*rows, (*engine)->trace(), limits, json);
  if (!is_truncated)
    return std::unexpected(is_truncated.error());
  output::Sink sink(json);
  sink.print("],\n\"truncated\":{},\n\"warnings\":", *is_truncated);
  output::put_array(sink, output::answer_warnings((*engine)->trace()),
                    [&](const output::Sentence& warning) {
                      output::put_json_text(sink, output::sentence_text(warning));
                    });
  sink.put("}\n");
  (void)sink.finish();
  return json;
}

} // namespace iotrail::serve
