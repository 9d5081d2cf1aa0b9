// SPDX-License-Identifier: BSD-3-Clause
#include "export/arrow/arrow_file.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.hpp"
#include "export/arrow/arrow_column.hpp"
#include "export/arrow/arrow_metadata.hpp"
#include "text/sink.hpp"

namespace iotrail::output {
namespace {

using analysis::OwnedArrow;

constexpr std::string_view kMagic = "ARROW1";
constexpr std::string_view kBeginOfMessage = "\xff\xff\xff\xff";
// Of messages and buffers in the file. 8 would do; mapped values then begin as those in memory do.
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kBatchRows = 64U << 10U;
constexpr std::size_t kBatchBytes = 16U << 20U;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

class ArrowFile {
public:
  explicit ArrowFile(std::FILE* file) : sink_(file) {}

  Result<void> begin(const ArrowSchema& schema);
  void append(const ArrowArray& values);
  Result<void> end(const ArrowSchema& schema);
  bool is_broken() const { return sink_.is_broken(); }

private:
  void put(std::string_view bytes);
  void put_number(std::size_t number);
  void put_padding();
  std::size_t put_message(std::string_view metadata);
  void put_batch();
  std::size_t batch_bytes() const;

  Sink sink_;
  std::size_t at_ = 0; // bytes so far
  std::vector<ArrowColumn> columns_;
  std::size_t batch_rows_ = 0;
  std::vector<ArrowBlock> blocks_;
};

Result<void> ArrowFile::begin(const ArrowSchema& schema) {
  for (const ArrowSchema* field : std::span(schema.children, schema.n_children)) {
    auto column = ArrowColumn::make(*field);
    if (!column) {
      column.error().what = fmt::format("cannot write column '{}' as Arrow", as_utf8(field->name));
      return std::unexpected(column.error());
    }
    columns_.push_back(std::move(*column));
  }
  put(kMagic);
  put_padding();
  put_message(arrow_schema_message(schema));
  return {};
}

void ArrowFile::append(const ArrowArray& values) {
  const auto fits = [&] {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (!columns_[i].has_room_for(*values.children[i]))
        return false;
    return true;
  };
  if (!fits())
    put_batch();
  for (std::size_t i = 0; i < columns_.size(); ++i)
    columns_[i].append(*values.children[i]);
  batch_rows_ += static_cast<std::size_t>(values.length);
  if (batch_rows_ >= kBatchRows || batch_bytes() >= kBatchBytes)
    put_batch();
}

Result<void> ArrowFile::end(const ArrowSchema& schema) {
  put_batch();
  put(kBeginOfMessage);
  put_number(0); // the end of the messages
  const std::string footer = arrow_footer(schema, blocks_);
  put(footer);
  put_number(footer.size());
  put(kMagic);
  return sink_.finish();
}

void ArrowFile::put(std::string_view bytes) {
  sink_.put(bytes);
  at_ += bytes.size();
}

void ArrowFile::put_number(std::size_t number) {
  const auto value = static_cast<std::int32_t>(number);
  put({reinterpret_cast<const char*>(&value), sizeof value});
}

void ArrowFile::put_padding() {
  put(std::string(aligned(at_) - at_, '\0'));
}

// Returns the bytes that it takes with its begin and padding.
std::size_t ArrowFile::put_message(std::string_view metadata) {
  const std::size_t begin = at_;
  put(kBeginOfMessage);
  const std::size_t place = at_ + sizeof(std::int32_t);
  put_number(aligned(place + metadata.size()) - place);
  put(metadata);
  put_padding();
  return at_ - begin;
}

void ArrowFile::put_batch() {
  if (batch_rows_ == 0)
    return;
  ArrowBatch batch{.rows = static_cast<std::int64_t>(batch_rows_)};
  std::vector<std::string_view> buffers;
  for (const ArrowColumn& column : columns_)
    column.list(batch.nodes, buffers);
  std::size_t body = 0;
  for (const std::string_view buffer : buffers) {
    batch.buffers.push_back(
        {static_cast<std::int64_t>(body), static_cast<std::int64_t>(buffer.size())});
    body += aligned(buffer.size());
  }
  batch.body_bytes = static_cast<std::int64_t>(body);
  ArrowBlock block{};
  block.offset = static_cast<std::int64_t>(at_);
  block.metadata_bytes = static_cast<std::int32_t>(put_message(arrow_batch_message(batch)));
  block.body_bytes = batch.body_bytes;
  blocks_.push_back(block);
  for (const std::string_view buffer : buffers) {
    put(buffer);
    put_padding();
  }
  for (ArrowColumn& column : columns_)
    column.clear();
  batch_rows_ = 0;
}

std::size_t ArrowFile::batch_bytes() const {
  std::size_t sum = 0;
  for (const ArrowColumn& column : columns_)
    sum += column.bytes();
  return sum;
}

} // namespace

Result<std::uint64_t> write_arrow(analysis::Chunks& chunks, std::FILE* file) {
  OwnedArrow<ArrowSchema> schema;
  if (auto done = chunks.to_arrow(schema); !done)
    return std::unexpected(done.error());
  ArrowFile arrow(file);
  if (auto done = arrow.begin(*schema); !done)
    return std::unexpected(done.error());
  std::uint64_t rows = 0;
  while (!arrow.is_broken()) {
    const auto more = chunks.next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      break;
    OwnedArrow<ArrowArray> values;
    if (auto done = chunks.to_arrow(values); !done)
      return std::unexpected(done.error());
    arrow.append(*values);
    rows += chunks.rows();
  }
  if (auto done = arrow.end(*schema); !done)
    return std::unexpected(done.error());
  return rows;
}

} // namespace iotrail::output
