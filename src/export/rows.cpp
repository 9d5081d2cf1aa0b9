// SPDX-License-Identifier: BSD-3-Clause
#include <optional>
#include <type_traits>

#include "export/format.hpp"
#include "export/output.hpp"
#include "export/value_names.hpp"

namespace iotrail::output {

Result<std::uint64_t> write_rows(analysis::Rows& rows, const RowsOptions& options,
                                 std::FILE* file) {
  IOTRAIL_CHECK(options.format != nullptr);
  Sink sink(file);
  const std::unique_ptr<Output> output = options.format->make(sink, options.width);
  std::optional<ValueNames> names;
  if (options.trace != nullptr)
    names.emplace(*options.trace, rows.columns());
  std::uint64_t count = 0;
  output->begin(names ? names->columns() : rows.columns());
  while (!sink.is_broken()) {
    const auto more = rows.next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      break;
    output->row(names ? names->row(rows.row()) : rows.row());
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
