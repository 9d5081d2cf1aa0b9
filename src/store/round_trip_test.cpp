// SPDX-License-Identifier: BSD-3-Clause
//
// A reader returns exactly the written values: every kind, every column, dictionaries, the
// manifest.
#include <algorithm>
#include <array>
#include <random>

#include "base/clock.hpp"
#include "store/reader/trace_reader.hpp"
#include "store/test_support.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::store::testing {
namespace {

using Rows = std::vector<std::vector<std::uint64_t>>;

std::vector<std::uint64_t> values_of(const Record& record) {
  std::vector<std::uint64_t> values;
  for (const schema::Field& field : record.event().fields)
    values.push_back(record.get(field));
  return values;
}

TEST(RoundTrip, every_kind_with_any_values_comes_back) {
  const TemporaryDirectory directory;
  std::mt19937_64 random(7);
  std::map<iot_u16, Rows> expected;
  auto writer = create(directory / "t.iotrail", {.block_rows = 500, .buffered_bytes = 300'000});
  for (int i = 0; i < 60'000; ++i) {
    const schema::Event& event = schema::kEvents[random() % std::size(schema::kEvents)];
    if (event.is_dictionary())
      continue;
    const Record record = random_record(event, random);
    writer->append(record.as_event());
    expected[event.id].push_back(values_of(record));
  }
  Manifest manifest;
  ASSERT_TRUE(writer->finish(manifest).has_value());

  const auto reader = open(directory / "t.iotrail");
  EXPECT_EQ(reader->manifest().state, State::COMPLETE);
  for (auto& [kind, rows] : expected) {
    Rows found = rows_of(*reader, kind);
    EXPECT_EQ(reader->manifest().counts.at(reader->table(kind)->name), rows.size());
    std::ranges::sort(found);
    std::ranges::sort(rows);
    EXPECT_EQ(found, rows) << reader->table(kind)->name;
  }
  const Damage damage = reader->damage();
  EXPECT_EQ(damage.bytes_skipped + damage.blocks_skipped + damage.rows_skipped, 0U);
}

// A pattern of values in one column that lasts for a while: plans of one block then meet values of
// another pattern.
class Habit {
public:
  std::uint64_t next(std::mt19937_64& random, std::uint64_t left_neighbour) {
    if (random() % 900 == 0) {
      habit_ = random() % 8;
      first_ = any_value(random);
    }
    ++count_;
    switch (habit_) {
    case 0:
      return first_;
    case 1:
      return first_ + random() % 5;
    case 2:
      return first_ + count_ * 4096;
    case 3:
      return left_neighbour;
    case 4:
      return left_neighbour - random() % 3;
    case 5:
      return first_ - random() % 1000 * 512;
    case 6:
      return random() % 50 == 0 ? any_value(random) : first_;
    default:
      return any_value(random);
    }
  }

private:
  std::uint64_t habit_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t count_ = 0;
};

TEST(RoundTrip, columns_may_change_their_habits_from_block_to_block) {
  const TemporaryDirectory directory;
  std::mt19937_64 random(10);
  const schema::Event& event = *schema::find_event("syscall_read");
  std::vector<Habit> habits(event.fields.size());
  Rows expected;
  auto writer = create(directory / "t.iotrail", {.block_rows = 300});
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    Record record(event);
    std::uint64_t value = 0;
    for (std::size_t field = 0; field < event.fields.size(); ++field) {
      value = habits[field].next(random, value);
      record.set(event.fields[field], value);
    }
    // Times that are nearly in order, far from it, or arbitrary.
    if (i % 20'000 > 2000)
      record.as_event().ts_ns = i * 1000 + random() % (i < 30'000 ? 3000 : 300'000);
    writer->append(record.as_event());
    expected.push_back(values_of(record));
  }
  Manifest manifest;
  ASSERT_TRUE(writer->finish(manifest).has_value());
  // The reader returns blocks in the order of writing, and rows of equal times in the order of
  // appending.
  for (std::size_t first = 0; first < expected.size(); first += 300)
    std::stable_sort(expected.begin() + static_cast<std::ptrdiff_t>(first),
                     expected.begin() + static_cast<std::ptrdiff_t>(first + 300),
                     [](const auto& a, const auto& b) { return a[0] < b[0]; });
  EXPECT_EQ(rows_of(*open(directory / "t.iotrail"), event.id), expected);
}

TEST(RoundTrip, rows_of_a_block_are_in_order_of_time) {
  const TemporaryDirectory directory;
  std::mt19937_64 random(8);
  auto writer = create(directory / "t.iotrail");
  const schema::Event& event = *schema::find_event("syscall_read");
  for (int i = 0; i < 40'000; ++i) {
    Record record(event);
    // Spans arrive when they end: in order, except some that took longer.
    record.as_event().ts_ns =
        1'000'000'000U + static_cast<std::uint64_t>(i) * 1000U - random() % 100'000U;
    writer->append(record.as_event());
  }
  Manifest manifest;
  ASSERT_TRUE(writer->finish(manifest).has_value());
  const auto reader = open(directory / "t.iotrail");
  std::size_t rows = 0;
  for (const BlockInfo& block : reader->blocks()) {
    const auto columns = reader->read(block, std::array{0});
    ASSERT_TRUE(columns.has_value());
    const auto& times = std::get<Numbers>((*columns)[0]);
    EXPECT_TRUE(std::ranges::is_sorted(times));
    EXPECT_EQ(times.front(), block.first_ns);
    EXPECT_EQ(times.back(), block.last_ns);
    EXPECT_TRUE(std::holds_alternative<std::monostate>((*columns)[1]));
    rows += times.size();
  }
  EXPECT_EQ(rows, 40'000U);
}

TEST(RoundTrip, dictionaries_come_back_and_precede_their_references) {
  const TemporaryDirectory directory;
  auto writer = create(directory / "t.iotrail");
  EXPECT_EQ(writer->string_id(""), 0U);
  EXPECT_EQ(writer->string_id("a.db"), 1U);
  EXPECT_EQ(writer->string_id("b.db"), 2U);
  EXPECT_EQ(writer->string_id("a.db"), 1U);
  writer->add(rows::processes{5, 42, 1, "cp", "/bin/cp", "cp a b", 0, "/c"});
  writer->add(rows::losses{10, 20, IOT_source_kernel, 0, IOT_COUNTER_kernel_ring_full, 3});
  ASSERT_TRUE(writer->flush().has_value());

  const auto reader = open(directory / "t.iotrail");
  EXPECT_EQ(reader->manifest().state, State::RUNNING);
  std::map<std::string, std::vector<Column>> tables;
  for (const BlockInfo& block : reader->blocks())
    tables[reader->table(block.kind)->name] = reader->read(block).value();
  EXPECT_EQ(std::get<Texts>(tables["strings"][1]), (Texts{"a.db", "b.db"}));
  EXPECT_EQ(std::get<Numbers>(tables["processes"][1]), Numbers{42});
  EXPECT_EQ(std::get<Texts>(tables["processes"][5]), Texts{"cp a b"});
  EXPECT_EQ(std::get<Texts>(tables["processes"][7]), Texts{"/c"});
  EXPECT_EQ(std::get<Numbers>(tables["losses"][5]), Numbers{3});
}

TEST(RoundTrip, a_file_gets_its_generation_once_that_is_known) {
  const TemporaryDirectory directory;
  auto writer = create(directory / "t.iotrail");
  const iot_u32 file = writer->file_id({8, 100, 0}, 0100644, "/a");
  EXPECT_EQ(writer->file_id({8, 100, 0}, 0, ""), file);
  EXPECT_EQ(writer->file_id({8, 100, 7}, 0, ""), file) << "the generation completes the entry";
  EXPECT_EQ(writer->file_id({8, 100, 0}, 0, ""), file);
  const iot_u32 next = writer->file_id({8, 100, 9}, 0100644, "/b");
  EXPECT_NE(next, file) << "the inode number was used again";
  EXPECT_EQ(writer->file_id({8, 100, 0}, 0, ""), next) << "not known means the newest";
  EXPECT_EQ(writer->file_id({8, 100, 7}, 0, ""), file);
  EXPECT_NE(writer->file_id({9, 100, 7}, 0, ""), file) << "another device";
  ASSERT_TRUE(writer->flush().has_value());

  const auto reader = open(directory / "t.iotrail");
  const TableInfo& files = *reader->table("files");
  const auto columns = reader->read(reader->blocks()[0]).value();
  const auto column = [&](std::string_view name) {
    return columns[static_cast<std::size_t>(files.column(name))];
  };
  EXPECT_EQ(std::get<Numbers>(column("generation")), (Numbers{7, 9, 7}));
  EXPECT_EQ(std::get<Texts>(column("path")), (Texts{"/a", "/b", ""}));
}

TEST(RoundTrip, a_file_takes_the_first_name_that_arrives_while_its_row_waits) {
  const TemporaryDirectory directory;
  auto writer = create(directory / "t.iotrail");
  const iot_u32 file = writer->file_id({8, 100, 7}, 0100644, "");
  EXPECT_EQ(writer->file_id({8, 100, 7}, 0100644, "/a"), file);
  EXPECT_EQ(writer->file_id({8, 100, 7}, 0100644, "/b"), file);
  ASSERT_TRUE(writer->flush().has_value());
  EXPECT_EQ(writer->file_id({8, 100, 7}, 0100644, "/c"), file) << "the row has left";
  ASSERT_TRUE(writer->flush().has_value());

  const auto reader = open(directory / "t.iotrail");
  ASSERT_EQ(reader->blocks().size(), 1U);
  const auto columns = reader->read(reader->blocks()[0]).value();
  const int path = reader->table("files")->column("path");
  EXPECT_EQ(std::get<Texts>(columns[static_cast<std::size_t>(path)]), Texts{"/a"});
}

TEST(RoundTrip, rows_that_wait_go_out_by_tick) {
  const TemporaryDirectory directory;
  auto writer = create(directory / "t.iotrail", {.flush_interval_ns = 1000});
  Record record(*schema::find_event("block_complete"));
  writer->append(record.as_event());
  writer->tick(1'000'000);
  EXPECT_EQ(writer->stats().blocks, 0U);
  writer->tick(1'001'000);
  for (int i = 0; writer->stats().rows.empty() && i < 10'000; ++i) // rows count after their block
    usleep(1000);
  EXPECT_EQ(writer->stats().rows, (std::map<iot_u16, std::uint64_t>{{record.event().id, 1}}));
}

TEST(RoundTrip, a_record_of_an_unknown_kind_is_counted) {
  const TemporaryDirectory directory;
  auto writer = create(directory / "t.iotrail");
  for (const iot_u16 kind : std::to_array<iot_u16>({0, 0x0fff, 0xffff, 0x0f01})) {
    iot_event record{};
    record.kind = kind;
    writer->append(record);
  }
  EXPECT_EQ(writer->stats().rows_unknown, 4U);
}

// One pass over the records finds constant columns: one different bit in one row must be found.
TEST(RoundTrip, a_column_is_constant_but_for_a_bit_of_a_row) {
  constexpr std::size_t kRows = 9;
  const TemporaryDirectory directory;
  std::mt19937_64 random(12);
  std::map<iot_u16, Rows> expected;
  auto writer = create(directory / "t.iotrail", {.block_rows = kRows});
  for (const schema::Event& event : schema::kEvents) {
    if (event.is_dictionary())
      continue;
    for (const schema::Field& field : event.fields) {
      const Record same = random_record(event, random);
      Record other = same;
      const unsigned bits = 8U * schema::info(field.type).size_bytes;
      other.set(field, other.get(field) ^ std::uint64_t{1} << random() % bits);
      const std::size_t odd = random() % kRows;
      Rows block;
      for (std::size_t row = 0; row < kRows; ++row) {
        const Record& record = row == odd ? other : same;
        writer->append(record.as_event());
        block.push_back(values_of(record));
      }
      std::ranges::stable_sort(block, {}, [](const auto& row) { return row[0]; });
      std::ranges::copy(block, std::back_inserter(expected[event.id]));
    }
  }
  Manifest manifest;
  ASSERT_TRUE(writer->finish(manifest).has_value());
  const auto reader = open(directory / "t.iotrail");
  for (const auto& [kind, rows] : expected)
    EXPECT_EQ(rows_of(*reader, kind), rows) << reader->table(kind)->name;
}

// Requests cross the ends of blocks of 100 rows, and the buffers together run out of room.
TEST(RoundTrip, rows_filled_in_place_come_back_in_order) {
  const TemporaryDirectory directory;
  std::mt19937_64 random(11);
  std::map<iot_u16, Rows> expected;
  auto writer = create(directory / "t.iotrail", {.block_rows = 100, .buffered_bytes = 200'000});
  std::uint64_t ts_ns = 1;
  for (int i = 0; i < 1000; ++i) {
    const schema::Event& event = schema::kEvents[random() % std::size(schema::kEvents)];
    if (event.is_dictionary())
      continue;
    const std::size_t wanted = 1 + random() % 150;
    const std::span<std::byte> rows = writer->append_rows(event.id, wanted);
    ASSERT_TRUE(!rows.empty() && rows.size() % event.size_bytes == 0);
    ASSERT_LE(rows.size(), wanted * event.size_bytes);
    for (std::size_t at = 0; at < rows.size(); at += event.size_bytes) {
      Record record = random_record(event, random);
      record.as_event().ts_ns = ++ts_ns;
      std::memcpy(&rows[at], &record.as_event(), event.size_bytes);
      expected[event.id].push_back(values_of(record));
    }
  }
  EXPECT_TRUE(writer->append_rows(0x0fff, 7).empty());
  EXPECT_EQ(writer->stats().rows_unknown, 7U);
  Manifest manifest;
  ASSERT_TRUE(writer->finish(manifest).has_value());
  const auto reader = open(directory / "t.iotrail");
  for (const auto& [kind, rows] : expected)
    EXPECT_EQ(rows_of(*reader, kind), rows) << reader->table(kind)->name;
}

// They have the same XXH3 of 128 bits with the secret that everybody knows.
TEST(RoundTrip, texts_made_to_have_one_hash_are_two) {
  const TemporaryDirectory directory;
  const auto writer = create(directory / "t.iotrail");
  constexpr std::string_view kMade =
      "b8fe6c3923a44bbe5f7349e9f1c46dca626974366f7270756c31676775766f3"
      "26b66766e32726f6863376d756c72766677693073377233773073303063306a"
      "6d61343631396f6333377338766f657368706363366d31646134686b3674706"
      "23738306468766971383464776f6d6838686b70726961357aecf09d8ee0e225"
      "4d";
  std::string made;
  for (std::size_t at = 0; at < kMade.size(); at += 2)
    made += static_cast<char>(std::stoi(std::string(kMade.substr(at, 2)), nullptr, 16));
  const iot_u32 other = writer->string_id("/var/lib/postgresql/15/main/base/PG_VERSION");
  EXPECT_NE(writer->string_id(made), other);
}

TEST(RoundTrip, segments_follow_one_another) {
  const TemporaryDirectory directory;
  std::mt19937_64 random(9);
  auto writer = create(directory / "t.iotrail", {.block_rows = 100, .segment_bytes = 4096});
  const schema::Event& event = *schema::find_event("cache_add");
  for (int i = 0; i < 2000; ++i)
    writer->append(random_record(event, random).as_event());
  Manifest manifest;
  ASSERT_TRUE(writer->finish(manifest).has_value());
  EXPECT_TRUE(std::filesystem::exists(directory / "t.iotrail/events-0003.seg"));
  EXPECT_EQ(rows_of(*open(directory / "t.iotrail"), event.id).size(), 2000U);
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "t.iotrail"))
    if (entry.path().extension() == ".seg")
      bytes += entry.file_size();
  EXPECT_EQ(bytes, manifest.events_bytes);
}

} // namespace
} // namespace iotrail::store::testing
