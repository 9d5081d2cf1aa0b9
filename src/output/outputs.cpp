// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <type_traits>

#include "output/csv.hpp"
#include "output/json.hpp"
#include "output/output.hpp"
#include "output/table.hpp"

namespace iotrail::output {

namespace {

template <class T> std::unique_ptr<Output> make(Sink& sink) {
  return std::make_unique<T>(sink);
}

constexpr Format kFormats[] = {
    {"text", "A table with aligned columns, for people.", make<TableOutput>},
    {"csv", "Comma-separated values (RFC 4180) with a header line.", make<CsvOutput>},
    {"json", "One JSON array of objects.", make<JsonOutput>},
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

Result<std::uint64_t> write_rows(analysis::Rows& rows, const Format& format, std::FILE* file) {
  Sink sink(file);
  const std::unique_ptr<Output> output = format.make(sink);
  std::uint64_t count = 0;
  output->begin(rows.columns());
  while (!sink.is_broken()) {
    const auto more = rows.next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      break;
    output->row(rows.row());
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
