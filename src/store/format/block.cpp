// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/block.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include <zstd.h>

namespace iotrail::store {
namespace {

constexpr std::uint8_t kCompressed = 0x80; // flag in the encoding's byte of the directory
// Below this size, zstd's header costs more than it saves.
constexpr std::size_t kCompressBytesMin = 64;
// Tried first if zstd did not shrink the column in its last block.
constexpr std::size_t kProbeBytes = 4096;
constexpr unsigned kPenaltyMin = 4; // blocks
constexpr unsigned kPenaltyMax = 64;

std::size_t length(const Column& column) {
  if (const auto* numbers = std::get_if<Numbers>(&column))
    return numbers->size();
  const auto* texts = std::get_if<Texts>(&column);
  return texts ? texts->size() : 0;
}

} // namespace

std::size_t BlockRows::rows() const {
  return count > 0 || columns.empty() ? count : length(columns[0]);
}

BlockEncoder::BlockEncoder(const TraceId& trace_id, int compression_level)
    : seed_(block_seed(trace_id)), level_(compression_level),
      zstd_(ZSTD_createCCtx(), ZSTD_freeCCtx) {}

BlockEncoder::~BlockEncoder() = default;

ByteSpan BlockEncoder::encode(const BlockRows& rows, std::uint32_t sequence,
                              std::uint64_t rows_before) {
  std::vector<NumbersView> views;
  for (const Column& column : rows.columns) {
    const auto* numbers = std::get_if<Numbers>(&column);
    views.push_back(numbers ? NumbersView(*numbers) : NumbersView());
  }
  ColumnPlans& kept = plans_[rows.kind];
  const std::span<ColumnPlan> plans = kept.update(views, rows.rows());

  directory_.clear();
  contents_.resize(std::max(contents_.size(), plans.size()));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    contents_[i].clear();
    if (plans[i].encoding == Encoding::text)
      write_texts(std::get<Texts>(rows.columns[i]), contents_[i]);
    else
      write_numbers(views, plans, i, packer_, contents_[i]);
    finish_column(rows.kind, i, plans[i]);
  }

  block_.clear();
  block_.write(BlockHeader{}); // reserved; written below, when sizes and checksum are known
  block_.append(directory_.bytes());
  for (std::size_t i = 0; i < plans.size(); ++i)
    block_.append(contents_[i].bytes());
  kept.report(block_.size());
  const ByteSpan payload = block_.bytes().subspan(sizeof(BlockHeader));
  BlockHeader header;
  header.kind = rows.kind;
  header.columns = static_cast<std::uint16_t>(rows.columns.size());
  header.rows = static_cast<std::uint32_t>(rows.rows());
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.first_ns = rows.first_ns;
  header.last_ns = rows.last_ns;
  header.rows_before = rows_before;
  header.sequence = sequence;
  header.payload_checksum = payload_checksum(payload, seed_);
  seal(header, seed_);
  block_.overwrite(0, header);
  return block_.bytes();
}

// Compresses the column's bytes if that saves enough, and adds the column to the directory.
void BlockEncoder::finish_column(std::uint16_t kind, std::size_t column, const ColumnPlan& plan) {
  ByteWriter& content = contents_[column];
  const std::size_t raw_bytes = content.size();
  const ByteSpan compressed = compress(compression_[{kind, column}], content.bytes());
  auto code = static_cast<std::uint8_t>(plan.encoding);
  if (!compressed.empty()) {
    code |= kCompressed;
    content.clear();
    content.append(compressed);
  }
  directory_.write(code);
  if (leans_on_another(plan.encoding))
    directory_.varint(plan.reference);
  directory_.varint(content.size());
  if (!compressed.empty())
    directory_.varint(raw_bytes);
}

// Empty: store the bytes as they are.
ByteSpan BlockEncoder::compress(Compression& state, ByteSpan raw) {
  if (raw.size() < kCompressBytesMin || !zstd_)
    return {};
  if (state.skip > 0) {
    --state.skip;
    return {};
  }
  // A sample of the column decides: most columns are packed too tightly for zstd to shrink.
  const bool is_likely = state.has_proved_itself || raw.size() < 2 * kProbeBytes ||
                         !try_zstd(raw.subspan(raw.size() / 2, kProbeBytes)).empty();
  const ByteSpan compressed = is_likely ? try_zstd(raw) : ByteSpan();
  state.has_proved_itself = !compressed.empty();
  state.penalty = compressed.empty() ? std::clamp(state.penalty * 2, kPenaltyMin, kPenaltyMax) : 0;
  state.skip = state.penalty;
  return compressed;
}

// Empty if zstd saves less than a quarter: too little for its time.
ByteSpan BlockEncoder::try_zstd(ByteSpan raw) {
  compressed_.resize(std::max(compressed_.size(), ZSTD_compressBound(raw.size())));
  const std::size_t size = ZSTD_compressCCtx(zstd_.get(), compressed_.data(), compressed_.size(),
                                             raw.data(), raw.size(), level_);
  if (ZSTD_isError(size) || size > raw.size() - raw.size() / 4)
    return {};
  return ByteSpan(compressed_).first(size);
}

namespace {

std::unexpected<Error> not_a_block(const char* why) {
  return fail("block of the trace cannot be decoded", why);
}

constexpr std::size_t bytes_of_value(bool is_text) {
  return is_text ? kTextBytesBeside : kNumberBytes;
}

Result<std::vector<ColumnEntry>> read_directory(const BlockHeader& header, ByteSpan payload) {
  std::vector<ColumnEntry> entries(header.columns);
  std::vector<std::size_t> sizes(header.columns);
  ByteReader in(payload);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto code = in.read<std::uint8_t>();
    ColumnEntry& entry = entries[i];
    entry.encoding = static_cast<Encoding>(code & ~kCompressed);
    entry.is_compressed = (code & kCompressed) != 0;
    if (leans_on_another(entry.encoding))
      entry.reference = static_cast<std::uint16_t>(
          std::min<std::uint64_t>(in.varint(), std::numeric_limits<std::uint16_t>::max()));
    sizes[i] = in.varint();
    entry.raw_bytes = entry.is_compressed ? in.varint() : sizes[i];
    if (entry.raw_bytes > kColumnBytesMax)
      return not_a_block("a column is larger than the format allows");
  }
  for (std::size_t i = 0; i < entries.size(); ++i)
    entries[i].stored = in.take(sizes[i]);
  if (!in.ok())
    return not_a_block("its directory of columns does not fit its size");
  return entries;
}

// Bytes of a column of numbers, at most: a word for each row, the widths of its frames, and what
// precedes them.
constexpr std::size_t number_bytes_max(std::size_t rows) {
  constexpr std::size_t kBytesBefore = 4096;
  return kBytesBefore + rows * kNumberBytes + rows / kFrameValues;
}

// Checked before decoding: a few compressed kilobytes can become gigabytes. A column that is newer
// than the block is filled with defaults, which takes memory too.
bool fits_in_memory(std::size_t rows, std::span<const ColumnEntry> entries,
                    std::span<const schema::Type> types) {
  std::size_t bytes = 0;
  for (const ColumnEntry& entry : entries) {
    const bool is_text = entry.encoding == Encoding::text;
    if (!is_text && entry.raw_bytes > number_bytes_max(rows))
      return false;
    bytes += entry.raw_bytes + rows * bytes_of_value(is_text);
  }
  for (std::size_t i = entries.size(); i < types.size(); ++i)
    bytes += rows * bytes_of_value(types[i] == schema::Type::text);
  return bytes <= kBlockBytesMax;
}

// Decodes columns of one block, each at most once.
class Decoder {
public:
  Decoder(std::size_t rows, std::vector<ColumnEntry> entries)
      : rows_(rows), entries_(std::move(entries)), numbers_(entries_.size()),
        is_decoded_(entries_.size()) {}

  std::size_t columns() const { return entries_.size(); }

  Result<Column> column(std::size_t i) {
    if (entries_[i].encoding == Encoding::text) {
      Texts texts;
      std::vector<std::byte> buffer;
      const auto raw = decompressed(entries_[i], buffer);
      if (!raw || !read_texts(*raw, rows_, texts))
        return not_a_block("a column of text is malformed");
      return texts;
    }
    if (!decode(i))
      return not_a_block("a column of numbers is malformed");
    return numbers_[i].values;
  }

private:
  bool decode(std::size_t i) {
    if (is_decoded_[i])
      return true;
    const ColumnEntry& entry = entries_[i];
    const DecodedNumbers* reference = nullptr;
    if (leans_on_another(entry.encoding)) {
      // Only one step: a reference column has no reference itself, so that no circle is possible.
      const std::size_t on = entry.reference;
      if (on >= entries_.size() || leans_on_another(entries_[on].encoding) ||
          entries_[on].encoding == Encoding::text || !decode(on))
        return false;
      reference = &numbers_[on];
    }
    std::vector<std::byte> buffer;
    const auto raw = decompressed(entry, buffer);
    if (!raw || !read_numbers(entry.encoding, *raw, rows_, reference, numbers_[i]))
      return false;
    return is_decoded_[i] = true;
  }

  static std::optional<ByteSpan> decompressed(const ColumnEntry& entry,
                                              std::vector<std::byte>& buffer) {
    if (!entry.is_compressed)
      return entry.stored;
    buffer.resize(entry.raw_bytes);
    const std::size_t size =
        ZSTD_decompress(buffer.data(), buffer.size(), entry.stored.data(), entry.stored.size());
    if (ZSTD_isError(size) || size != entry.raw_bytes)
      return std::nullopt;
    return ByteSpan(buffer);
  }

  std::size_t rows_;
  std::vector<ColumnEntry> entries_;
  std::vector<DecodedNumbers> numbers_;
  std::vector<bool> is_decoded_;
};

} // namespace

Result<std::vector<Column>> decode_block(const BlockHeader& header, ByteSpan payload,
                                         std::span<const int> positions,
                                         std::span<const schema::Type> types) {
  auto entries = read_directory(header, payload);
  if (!entries)
    return std::unexpected(entries.error());
  if (!fits_in_memory(header.rows, *entries, types))
    return not_a_block("its columns together are larger than the format allows");
  Decoder decoder(header.rows, std::move(*entries));
  std::vector<Column> columns(types.size());
  for (const int position : positions) {
    const auto i = static_cast<std::size_t>(position);
    IOTRAIL_CHECK(i < columns.size());
    const bool is_text = types[i] == schema::Type::text;
    if (i >= decoder.columns()) {
      columns[i] = is_text ? Column(Texts(header.rows)) : Column(Numbers(header.rows));
      continue;
    }
    auto column = decoder.column(i);
    if (!column)
      return std::unexpected(column.error());
    if (std::holds_alternative<Texts>(*column) != is_text)
      return not_a_block("a column's type is not that of the schema");
    columns[i] = std::move(*column);
  }
  return columns;
}

std::uint64_t text_bytes(const BlockHeader& header, ByteSpan payload,
                         std::span<const int> positions) {
  const auto entries = read_directory(header, payload);
  std::uint64_t bytes = 0;
  for (const int position : positions)
    if (const auto i = static_cast<std::size_t>(position);
        entries && i < entries->size() && (*entries)[i].encoding == Encoding::text)
      bytes += (*entries)[i].raw_bytes;
  return bytes;
}

} // namespace iotrail::store
