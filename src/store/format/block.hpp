// SPDX-License-Identifier: BSD-3-Clause
//
// One block of a segment: up to 16,384 rows of one kind, column by column. The encoder knows nothing of files, the
// decoder trusts nothing but checksums it has computed itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "schema.hpp"
#include "store/format/column.hpp"
#include "store/format/layout.hpp"

struct ZSTD_CCtx_s;

namespace iotrail::store {

using Numbers = std::vector<std::uint64_t>; // signed columns: two's complement
using Texts = std::vector<std::string>;
using Column = std::variant<std::monostate, Numbers, Texts>; // monostate: not asked for

// Rows on their way to the disk: each column holds Numbers or Texts, one for each row; where `count` is given, Numbers may
// be a single one, which all rows have.
struct BlockRows {
  std::uint16_t kind = 0;
  std::vector<Column> columns;
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::size_t count = 0; // of rows; 0: the first column tells

  std::size_t rows() const;
};

// Not for several threads at once.
class BlockEncoder {
public:
  BlockEncoder(const TraceId& trace_id, int compression_level);
  ~BlockEncoder();
  BlockEncoder(const BlockEncoder&) = delete;
  BlockEncoder& operator=(const BlockEncoder&) = delete;

  // Header and payload, valid until the next call. At least one row.
  ByteSpan encode(const BlockRows& rows, std::uint32_t sequence, std::uint64_t rows_before);

private:
  // Whether zstd is worth its time for a column is learnt from the blocks before: after each failure it is left out
  // for twice as many blocks as before, up to a limit.
  struct Compression {
    unsigned skip = 0;
    unsigned penalty = 0;
    bool has_proved_itself = false; // the last time
  };

  void finish_column(std::uint16_t kind, std::size_t column, const ColumnPlan& plan);
  ByteSpan compress(Compression& state, ByteSpan raw);
  ByteSpan try_zstd(ByteSpan raw);

  std::uint64_t seed_;
  int level_;
  std::unique_ptr<ZSTD_CCtx_s, std::size_t (*)(ZSTD_CCtx_s*)> zstd_;
  std::map<std::pair<std::uint16_t, std::size_t>, Compression> compression_;
  std::map<std::uint16_t, ColumnPlans> plans_; // by kind
  Packer packer_;
  std::vector<std::byte> compressed_;
  ByteWriter directory_;
  std::vector<ByteWriter> contents_; // of the columns
  ByteWriter block_;
};

// A column as its block's directory tells.
struct ColumnEntry {
  Encoding encoding = Encoding::constant;
  std::uint16_t reference = 0;
  bool is_compressed = false;
  std::size_t raw_bytes = 0;
  ByteSpan stored;
};

// Columns of `payload`, whose checksum is that of the header, by position; the others stay monostate. A position past the
// block's last column yields zeros or empty texts as `types` says: the block is older than the column.
Result<std::vector<Column>> decode_block(const BlockHeader& header, ByteSpan payload,
                                         std::span<const int> positions,
                                         std::span<const schema::Type> types);

} // namespace iotrail::store
