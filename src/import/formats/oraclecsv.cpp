// SPDX-License-Identifier: BSD-3-Clause
#include "import/import_format.hpp"
#include "import/numbers.hpp"
#include "import/object_requests.hpp"

namespace iotrail::import {
namespace {

constexpr std::string_view kOracleCsvHeader = "time_s,object,bytes,next_request";

bool is_oracle_csv(std::string_view head, std::string_view) {
  return head.substr(0, head.find('\n')) == kOracleCsvHeader;
}

Result<void> read_oracle_csv(std::span<Input> inputs, TraceBuilder& trace) {
  for (Input& input : inputs) {
    ObjectRequests requests(input, trace);
    while (const auto line = input.next_line()) {
      if (trace.is_stopped())
        break;
      if (*line == kOracleCsvHeader || line->empty())
        continue;
      const auto parts = split(*line, ',');
      const auto at_s = to_number<std::uint32_t>(parts[0]);
      const auto object = parts.size() < 4 ? std::nullopt : to_number(parts[1]);
      const auto bytes = parts.size() < 4 ? std::nullopt : to_number(parts[2]);
      if (!at_s || !object || !bytes || !requests.add(*at_s, *object, *bytes))
        trace.malformed(input, "not four numbers: time, object, bytes, next request");
    }
    if (input.failure() != nullptr)
      return std::unexpected(*input.failure());
  }
  return {};
}

} // namespace

extern const ImportFormat kImportFormatOraclecsv = {
    .name = "oracle-csv",
    .doc = "`iotrail export --to oracle-csv`",
    .lacks = "processes, files, durations, reads apart from writes; all requests are reads, at "
             "whole seconds",
    .recognizes = is_oracle_csv,
    .read = read_oracle_csv,
};

} // namespace iotrail::import
