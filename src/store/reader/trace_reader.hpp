// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a trace, also one that is unfinished, truncated or damaged: whatever has a good checksum is returned, the
// rest is counted. Opening reads block headers only; columns are decoded when asked for. Safe to use from several
// threads at once after open().
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

// Rows of one table; of an event, in order of time within the block.
struct BlockInfo {
  iot_u16 kind;
  std::uint32_t rows;
  std::uint64_t first_ns; // smallest and largest time in the block; 0 where the table has none
  std::uint64_t last_ns;
  std::uint32_t segment;
  std::uint32_t stored_bytes;
  std::uint64_t offset; // of the block in its segment
};

struct Damage {
  bool manifest = false;           // it is missing or not believed; notices() say why
  std::uint64_t bytes_skipped = 0; // also those that are known to be missing
  std::uint64_t blocks_skipped = 0;
  std::uint64_t rows_skipped = 0; // as far as a readable header tells

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
  std::span<const TableInfo> tables() const; // of the trace's own schema
  const TableInfo* table(iot_u16 kind) const;
  const TableInfo* table(std::string_view name) const;

  std::span<const BlockInfo> blocks() const; // in the order in which they were written
  bool has_rows(iot_u16 kind) const;
  // Columns by position in the table; others stay monostate. Fails when the block's checksum does. Where the trace's
  // schema is lost, a column that the block is too old to have reads as zeros.
  Result<std::vector<Column>> read(const BlockInfo& block, std::span<const int> columns) const;
  Result<std::vector<Column>> read(const BlockInfo& block) const; // all columns

  // Reads every block, so that damage() tells of all there is. Takes as long as reading the files does.
  void read_all() const;
  // Compares the checksums of all blocks, so that damage() tells of what decays; decodes none.
  void check_all() const;

  Damage damage() const; // found so far: by open() and by each read()
  // What else the reader had to put up with, in sentences: no manifest, another version's schema.
  std::span<const std::string> notices() const;

  // What is worked out from the trace ends somewhere, since it would need too much memory: a sentence about that, for limits().
  // Safe from several threads.
  void add_limit(std::string sentence) const;
  std::vector<std::string> limits() const; // found so far, each once

private:
  struct Impl;
  explicit TraceReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace iotrail::store
