// SPDX-License-Identifier: BSD-3-Clause
//
// One block of a segment: up to 16,384 rows of one kind, stored column by column. The encoder knows
// nothing about files. The decoder trusts only checksums that it has computed itself.
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
using Column = std::variant<std::monostate, Numbers, Texts>; // monostate: not requested

// Rows to write. Each column holds Numbers or Texts, one value for each row. If `count` is set, a
// column of Numbers may hold a single value, which then is the value of all rows.
struct BlockRows {
  std::uint16_t kind = 0;
  std::vector<Column> columns;
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::size_t count = 0; // number of rows; 0: the size of the first column

  std::size_t rows() const;
};

// Not thread-safe.
class BlockEncoder {
public:
  BlockEncoder(const TraceId& trace_id, int compression_level);
  ~BlockEncoder();
  BlockEncoder(const BlockEncoder&) = delete;
  BlockEncoder& operator=(const BlockEncoder&) = delete;

  // Returns header and payload, valid until the next call. `rows` has at least one row.
  ByteSpan encode(const BlockRows& rows, std::uint32_t sequence, std::uint64_t rows_before);

private:
  // Whether zstd is worth its time, learnt from the blocks before. After each failure the column
  // skips zstd for twice as many blocks as before, up to a limit.
  struct Compression {
    unsigned skip = 0;
    unsigned penalty = 0;
    bool has_proved_itself = false; // in the last block that tried
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
  std::vector<ByteWriter> contents_; // one for each column
  ByteWriter block_;
};

// One column, as the directory of its block describes it.
struct ColumnEntry {
  Encoding encoding = Encoding::constant;
  std::uint16_t reference = 0;
  bool is_compressed = false;
  std::size_t raw_bytes = 0;
  ByteSpan stored;
};

// Decodes the columns at `positions`; the others stay monostate. `payload` must match the header's
// checksum. A position past the block's last column yields zeros or empty texts, by `types`: the
// block is older than the column.
Result<std::vector<Column>> decode_block(const BlockHeader& header, ByteSpan payload,
                                         std::span<const int> positions,
                                         std::span<const schema::Type> types);

// Bytes that the columns of text at `positions` take when decoded, as the payload's directory says;
// 0 for a payload that cannot be decoded.
std::uint64_t text_bytes(const BlockHeader& header, ByteSpan payload,
                         std::span<const int> positions);

} // namespace iotrail::store
