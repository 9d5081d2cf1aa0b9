// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <type_traits>

#include "export/csv.hpp"
#include "export/json.hpp"
#include "export/output.hpp"
#include "export/table_output.hpp"
#include "export/words.hpp"

namespace iotrail::output {

namespace {

template <class T> std::unique_ptr<Output> make(Sink& sink, std::size_t width) {
  if constexpr (std::is_constructible_v<T, Sink&, std::size_t>)
    return std::make_unique<T>(sink, width);
  else
    return std::make_unique<T>(sink);
}

constexpr Format kFormats[] = {
    {"text", "A table with aligned columns, for people.", make<TableOutput>},
    {"csv", "Comma-separated values (RFC 4180) with a header line.", make<CsvOutput>},
    {kJsonDocument, "One JSON array of objects.", make<JsonOutput>},
    {"jsonl", "One JSON object per line.", make<JsonLinesOutput>},
};

} // namespace

std::span<const Format> formats() {
  return kFormats;
}

const Format* find_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &Format::name);
  return found == std::end(kFormats) ? nullptr : found;
}

Result<std::uint64_t> write_rows(analysis::Rows& rows, const RowsOptions& options,
                                 std::FILE* file) {
  IOTRAIL_CHECK(options.format != nullptr);
  Sink sink(file);
  const std::unique_ptr<Output> output = options.format->make(sink, options.width);
  std::optional<Words> words;
  if (options.trace != nullptr)
    words.emplace(*options.trace, rows.columns());
  std::uint64_t count = 0;
  output->begin(words ? words->columns() : rows.columns());
  while (!sink.is_broken()) {
    const auto more = rows.next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      break;
    output->row(words ? words->row(rows.row()) : rows.row());
    ++count;
  }
  output->end();
  if (auto done = sink.finish(); !done)
    return std::unexpected(done.error());
  return count;
}

std::string cell_text(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return {};
        else
          return fmt::format("{}", value);
      },
      cell);
}

} // namespace iotrail::output
