// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the tests of the store: a directory that is removed with the test, and records with
// made-up values.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/format/layout.hpp"
#include "store/format/manifest_text.hpp"
#include "store/reader/trace_reader.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::store::testing {

class TemporaryDirectory {
public:
  TemporaryDirectory() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "iotrail-store-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

// One record of any kind, as bytes for append().
class Record {
public:
  explicit Record(const schema::Event& event)
      : event_(event), words_((event.size_bytes + 7U) / 8U) {
    as_event().kind = event.id;
  }

  iot_event& as_event() { return *reinterpret_cast<iot_event*>(words_.data()); }
  const iot_event& as_event() const { return *reinterpret_cast<const iot_event*>(words_.data()); }

  void set(const schema::Field& field, std::uint64_t value) {
    std::memcpy(bytes() + field.offset, &value, schema::info(field.type).size_bytes);
  }
  // The value as a reader returns it: widened, signed values in two's complement.
  std::uint64_t get(const schema::Field& field) const {
    const schema::TypeInfo& type = schema::info(field.type);
    std::uint64_t value = 0;
    std::memcpy(&value, bytes() + field.offset, type.size_bytes);
    if (const unsigned unused = 64U - 8U * type.size_bytes; type.is_signed && unused > 0)
      value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
    return value;
  }

  const schema::Event& event() const { return event_; }

private:
  std::byte* bytes() { return reinterpret_cast<std::byte*>(words_.data()); }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(words_.data()); }

  const schema::Event& event_;
  std::vector<std::uint64_t> words_;
};

// Values of many magnitudes: extremes, small ones, multiples of a page, random ones.
inline std::uint64_t any_value(std::mt19937_64& random) {
  switch (random() % 6) {
  case 0:
    return 0;
  case 1:
    return ~std::uint64_t{0} >> (random() % 64);
  case 2:
    return std::uint64_t{1} << (random() % 64);
  case 3:
    return random() % 100 * 4096;
  case 4:
    return 0 - random() % 200;
  default:
    return random();
  }
}

inline Record random_record(const schema::Event& event, std::mt19937_64& random) {
  Record record(event);
  for (const schema::Field& field : event.fields)
    record.set(field, any_value(random));
  return record;
}

inline std::unique_ptr<TraceWriter> create(const std::filesystem::path& trace,
                                           WriterOptions options = {}) {
  Manifest manifest;
  manifest.state = State::RUNNING;
  auto writer = TraceWriter::create(trace, manifest, options);
  EXPECT_TRUE(writer.has_value()) << writer.error().message();
  return writer ? std::move(*writer) : nullptr;
}

inline std::unique_ptr<TraceReader> open(const std::filesystem::path& trace) {
  auto reader = TraceReader::open(trace);
  EXPECT_TRUE(reader.has_value()) << reader.error().message();
  return reader ? std::move(*reader) : nullptr;
}

// Rows of a table in the order of the blocks. Skips blocks that cannot be read.
inline std::vector<std::vector<std::uint64_t>> rows_of(const TraceReader& reader, iot_u16 kind) {
  std::vector<std::vector<std::uint64_t>> rows;
  for (const BlockInfo& block : reader.blocks()) {
    if (block.kind != kind)
      continue;
    const auto columns = reader.read(block);
    if (!columns)
      continue;
    for (std::size_t row = 0; row < block.rows; ++row) {
      rows.emplace_back();
      for (const Column& column : *columns)
        if (const auto* numbers = std::get_if<Numbers>(&column))
          rows.back().push_back((*numbers)[row]);
    }
  }
  return rows;
}

// Of events.
inline std::size_t readable_rows(const TraceReader& reader) {
  std::size_t rows = 0;
  for (const BlockInfo& block : reader.blocks())
    if (reader.read(block))
      rows += block.segment == 0 ? 0 : block.rows;
  return rows;
}

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void overwrite(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Writes an edited manifest with a matching checksum.
inline void overwrite_manifest(const std::filesystem::path& trace, std::string_view text) {
  overwrite(trace / "manifest.json", sealed_text(Json::parse(text)));
}

} // namespace iotrail::store::testing
