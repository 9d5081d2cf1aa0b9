// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <flatbuffers/flatbuffers.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "analysis/engine/engine.hpp"
#include "export/arrow/arrow_file.hpp"
#include "export/arrow/arrow_metadata.hpp"
#include "test_trace.hpp"

namespace iotrail::output {
namespace {

struct CloseArrowFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseArrowFile>;

Result<std::uint64_t> write_answer(const std::string& sql, std::FILE* file) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const auto engine = analysis::Engine::open(trace.path());
  if (!engine)
    return std::unexpected(engine.error());
  auto chunks = (*engine)->query_for_arrow(sql);
  if (!chunks)
    return std::unexpected(chunks.error());
  return write_arrow(*chunks, file);
}

constexpr flatbuffers::voffset_t place_of(unsigned field) {
  return static_cast<flatbuffers::voffset_t>(4 + 2 * field);
}

const flatbuffers::Table* table_in(const flatbuffers::Table* table, unsigned field) {
  return table->GetPointer<const flatbuffers::Table*>(place_of(field));
}

template <class T>
const flatbuffers::Vector<const T*>* structs_in(const flatbuffers::Table* table, unsigned field) {
  return table->GetPointer<const flatbuffers::Vector<const T*>*>(place_of(field));
}

// A file as a reader meets it, from its end on.
class ReadFile {
public:
  explicit ReadFile(const std::string& sql) {
    const OpenFile file(std::tmpfile());
    const auto written = write_answer(sql, file.get());
    EXPECT_TRUE(written.has_value()) << written.error().message();
    rows_ = written.value_or(0);
    bytes_.resize(static_cast<std::size_t>(std::ftell(file.get())));
    std::rewind(file.get());
    EXPECT_EQ(std::fread(bytes_.data(), 1, bytes_.size(), file.get()), bytes_.size());
    EXPECT_TRUE(bytes_.starts_with(std::string_view("ARROW1\0\0", 8)));
    EXPECT_TRUE(bytes_.ends_with("ARROW1"));
    const std::size_t end = bytes_.size() - 10;
    const std::size_t begin = end - at<std::uint32_t>(end);
    EXPECT_EQ(begin % 8, 0U);
    footer_ = flatbuffers::GetRoot<flatbuffers::Table>(bytes_.data() + begin);
  }

  std::uint64_t rows() const { return rows_; }
  const flatbuffers::Vector<const ArrowBlock*>& blocks() const {
    return *structs_in<ArrowBlock>(footer_, 3);
  }
  const flatbuffers::Table* batch(const ArrowBlock& block) const {
    const auto offset = static_cast<std::size_t>(block.offset);
    EXPECT_EQ(offset % 64, 0U);
    EXPECT_EQ(at<std::uint32_t>(offset), 0xffffffffU);
    EXPECT_EQ(at<std::uint32_t>(offset + 4) + 8, static_cast<std::uint32_t>(block.metadata_bytes));
    const auto* message = flatbuffers::GetRoot<flatbuffers::Table>(bytes_.data() + offset + 8);
    EXPECT_EQ(message->GetField<std::uint8_t>(place_of(1), 0), 3); // a batch
    EXPECT_EQ(message->GetField<std::int64_t>(place_of(3), 0), block.body_bytes);
    return table_in(message, 2);
  }
  std::string_view buffer(const ArrowBlock& block, unsigned number) const {
    const ArrowBuffer* buffer = structs_in<ArrowBuffer>(batch(block), 2)->Get(number);
    EXPECT_EQ(buffer->offset % 64, 0);
    EXPECT_LE(buffer->offset + buffer->bytes, block.body_bytes);
    return std::string_view(bytes_).substr(
        static_cast<std::size_t>(block.offset + block.metadata_bytes + buffer->offset),
        static_cast<std::size_t>(buffer->bytes));
  }
  std::string name(unsigned column) const {
    const auto* fields =
        table_in(footer_, 1)
            ->GetPointer<const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>*>(
                place_of(1));
    return fields->Get(column)->GetPointer<const flatbuffers::String*>(place_of(0))->str();
  }

private:
  template <class T> T at(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  std::string bytes_;
  const flatbuffers::Table* footer_ = nullptr;
  std::uint64_t rows_ = 0;
};

TEST(arrow, batches_have_all_values_at_aligned_places) {
  const ReadFile file("SELECT range AS n FROM range(200000)");
  EXPECT_EQ(file.rows(), 200'000U);
  EXPECT_EQ(file.blocks().size(), 4U);
  std::int64_t rows = 0;
  std::int64_t sum = 0;
  for (const ArrowBlock* block : file.blocks()) {
    rows += file.batch(*block)->GetField<std::int64_t>(place_of(0), 0);
    const std::string_view values = file.buffer(*block, 1);
    for (std::size_t i = 0; i < values.size(); i += 8) {
      std::int64_t value = 0;
      std::memcpy(&value, values.data() + i, sizeof value);
      sum += value;
    }
  }
  EXPECT_EQ(rows, 200'000);
  EXPECT_EQ(sum, 199'999LL * 100'000);
}

// The filter makes chunks with numbers of rows that end within a byte.
TEST(arrow, null_is_a_bit_that_is_not_set) {
  const ReadFile file("SELECT CASE WHEN range % 7 > 0 THEN range END AS n FROM range(70000) "
                      "WHERE range % 10 > 2 OR range % 7 = 0");
  ASSERT_EQ(file.blocks().size(), 1U);
  const ArrowBlock& block = *file.blocks().Get(0);
  const ArrowNode* node = structs_in<ArrowNode>(file.batch(block), 1)->Get(0);
  EXPECT_EQ(node->nulls, 10'000);
  std::int64_t set = 0;
  for (const char byte : file.buffer(block, 0))
    set += std::popcount(static_cast<unsigned char>(byte));
  EXPECT_EQ(set, node->rows - node->nulls);
}

TEST(arrow, an_answer_without_rows_has_a_schema) {
  const ReadFile file("SELECT 1 AS n, 'x' AS text WHERE false");
  EXPECT_EQ(file.rows(), 0U);
  EXPECT_EQ(file.blocks().size(), 0U);
  EXPECT_EQ(file.name(1), "text");
}

TEST(arrow, names_of_columns_are_different_and_utf8) {
  const ReadFile file("SELECT 1 AS \"a\xff\", 2 AS b, 3 AS b");
  EXPECT_EQ(file.name(0), "a\\xff");
  EXPECT_EQ(file.name(1), "b");
  EXPECT_EQ(file.name(2), "b_1");
}

TEST(arrow, a_type_that_is_not_written_is_refused_with_the_cast) {
  const OpenFile file(std::tmpfile());
  const auto written = write_answer("SELECT ['x'::ENUM('x')] AS words", file.get());
  ASSERT_FALSE(written.has_value());
  EXPECT_TRUE(written.error().message().contains("column 'words'")) << written.error().message();
  EXPECT_TRUE(written.error().message().contains("CAST")) << written.error().message();
}

TEST(arrow, a_full_disk_is_an_error) {
  const OpenFile file(std::fopen("/dev/full", "w"));
  const auto written = write_answer("FROM range(1000000)", file.get());
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ENOSPC);
}

} // namespace
} // namespace iotrail::output
