// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a trace, also an unfinished, truncated or damaged one. It returns all blocks with a good
// checksum, and counts the rest. open() reads only block headers; read() decodes columns.
// Thread-safe after open().
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "schema.hpp"
#include "store/format/block.hpp"
#include "store/format/manifest.hpp"

namespace iotrail::store {

// Rows of one table. In an event's table they are in the order of time within the block.
struct BlockInfo {
  iot_u16 kind;
  std::uint32_t rows;
  std::uint64_t first_ns; // smallest and largest time in the block; 0 if the table has no time
  std::uint64_t last_ns;
  std::uint32_t segment;
  std::uint32_t stored_bytes;
  std::uint64_t offset; // of the block in its segment
};

struct Damage {
  bool manifest = false;           // missing or not trusted; notices() say why
  std::uint64_t bytes_skipped = 0; // includes bytes that are known to be missing
  std::uint64_t blocks_skipped = 0;
  std::uint64_t rows_skipped = 0; // as far as readable headers say

  bool any_skipped() const {
    return bytes_skipped != 0 || blocks_skipped != 0 || rows_skipped != 0;
  }
  bool any() const { return manifest || any_skipped(); }
};

class TraceReader {
public:
  static Result<std::unique_ptr<TraceReader>> open(const std::filesystem::path& trace);
  ~TraceReader();

  const std::filesystem::path& path() const;
  const Manifest& manifest() const;
  std::span<const TableInfo> tables() const; // the schema of the trace
  const TableInfo* table(iot_u16 kind) const;
  const TableInfo* table(std::string_view name) const;

  std::span<const BlockInfo> blocks() const; // in the order of writing
  bool has_rows(iot_u16 kind) const;
  // Decodes the columns at these positions; others stay monostate. Fails if the block's checksum is
  // wrong. If the trace's schema is lost, a column that is newer than the block reads as zeros.
  Result<std::vector<Column>> read(const BlockInfo& block, std::span<const int> columns) const;
  Result<std::vector<Column>> read(const BlockInfo& block) const; // all columns

  std::uint64_t blocks_read() const; // so far, each as often as it was read

  // Reads every block, so that damage() is complete. Takes as long as reading the files.
  void read_all() const;
  // Compares the checksums of all blocks without decoding them, so that damage() reports decayed
  // bytes.
  void check_all() const;

  Damage damage() const; // found so far by open() and read()
  // Other findings, as sentences: no manifest, the schema of another version.
  std::span<const std::string> notices() const;

  // Adds a sentence to limits(): an analysis of the trace is incomplete, since it would need too
  // much memory. Thread-safe.
  void add_limit(std::string sentence) const;
  std::vector<std::string> limits() const; // found so far, without duplicates

private:
  struct Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace iotrail::store
