// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "import/import_format.hpp"
#include "import/object_requests.hpp"

namespace iotrail::import {
namespace {

constexpr std::size_t kOracleBytes = 24;

struct OracleRecord {
  std::uint32_t at_s;
  std::uint64_t object;
  std::uint32_t bytes;
  std::int64_t next; // the number of the next request of the object, from 0; -1: none
};

// The record is packed.
OracleRecord oracle_record(std::string_view bytes) {
  OracleRecord record{};
  std::memcpy(&record.at_s, bytes.data(), 4);
  std::memcpy(&record.object, bytes.data() + 4, 8);
  std::memcpy(&record.bytes, bytes.data() + 12, 4);
  std::memcpy(&record.next, bytes.data() + 16, 8);
  return record;
}

// Nothing names the format: but it is no text, time does not run back, and each next request comes
// later.
bool is_oracle(std::string_view head, std::string_view) {
  const auto is_text = [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\r' || c == '\t';
  };
  if (std::ranges::all_of(head, is_text))
    return false;
  std::uint32_t last_s = 0;
  std::int64_t number = 0;
  for (; head.size() >= kOracleBytes; head.remove_prefix(kOracleBytes), ++number) {
    const OracleRecord record = oracle_record(head);
    const bool is_next = record.next == -1 || record.next == INT64_MAX || record.next > number;
    if (record.at_s < last_s || record.bytes == 0 || !is_next)
      return false;
    last_s = record.at_s;
  }
  return number > 0 && (head.empty() || number > 100);
}

Result<void> read_oracle(std::span<Input> inputs, TraceBuilder& trace) {
  for (Input& input : inputs) {
    ObjectRequests requests(input, trace);
    for (std::string_view bytes = input.peek(kOracleBytes); !bytes.empty() && !trace.is_stopped();
         bytes = input.peek(kOracleBytes)) {
      if (bytes.size() < kOracleBytes) {
        trace.malformed(input, "the last record is cut");
        break;
      }
      const OracleRecord record = oracle_record(bytes);
      if (!requests.add(record.at_s, record.object, record.bytes))
        trace.malformed(input, "a request of 0 bytes");
      input.skip(kOracleBytes);
    }
    if (input.failure() != nullptr)
      return std::unexpected(*input.failure());
  }
  return {};
}

} // namespace

extern const ImportFormat kImportFormatOracle = {
    .name = "oracleGeneral",
    .doc = "libCacheSim and its traces (binary)",
    .lacks = "processes, files, durations, reads apart from writes; all requests are reads, at "
             "whole seconds",
    .recognizes = is_oracle,
    .read = read_oracle,
};

} // namespace iotrail::import
