// SPDX-License-Identifier: BSD-3-Clause
//
// Damage of any kind: the reader returns all blocks with a good checksum, counts the rest and never
// crashes.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include <nlohmann/json.hpp>

#include "store/format/block.hpp"
#include "store/reader/segment_index.hpp"
#include "store/test_support.hpp"

namespace iotrail::store::testing {
namespace {

const schema::Event& kEvent = *schema::find_event("block_complete");

constexpr std::size_t kBlockRows = 5;

// Keeps only the part of the schema that the trace uses, so that opening the trace thousands of
// times takes seconds.
void shorten_manifest(const std::filesystem::path& trace) {
  auto json = nlohmann::ordered_json::parse(contents(trace / "manifest.json"));
  auto tables = nlohmann::ordered_json::array();
  for (auto& table : json["schema"])
    if (table["name"] == kEvent.name || table["name"] == "strings" || table["name"] == "cache_add")
      tables.push_back(table);
  json["schema"] = tables;
  overwrite_manifest(trace, json.dump());
}

// A finished trace of small blocks, with one row of the dictionary for each.
std::filesystem::path make_trace(const TemporaryDirectory& directory, std::size_t blocks) {
  const auto trace = directory / "t.iotrail";
  std::mt19937_64 random(3);
  auto writer = create(trace, {.block_rows = kBlockRows});
  for (std::size_t i = 0; i < blocks * kBlockRows; ++i) {
    if (i % kBlockRows == 0)
      writer->string_id("text " + std::to_string(i));
    writer->append(random_record(kEvent, random).as_event());
  }
  Manifest manifest;
  EXPECT_TRUE(writer->finish(manifest).has_value());
  shorten_manifest(trace);
  return trace;
}

TEST(Recovery, a_segment_cut_at_any_byte_yields_its_whole_blocks) {
  const TemporaryDirectory directory;
  const auto trace = make_trace(directory, 3);
  const auto segment = trace / "events-0001.seg";
  const std::string whole = contents(segment);
  std::vector<std::uint64_t> ends; // end of each block
  for (const IndexedBlock& block :
       index_segment(std::as_bytes(std::span(whole)),
                     *trace_id_from_hex(open(trace)->manifest().trace_id))
           .blocks)
    ends.push_back(block.offset + sizeof(BlockHeader) + block.header.payload_bytes);
  ASSERT_EQ(ends.size(), 3U);
  ASSERT_EQ(ends.back(), whole.size());

  for (std::size_t size = 0; size < whole.size(); ++size) {
    overwrite(segment, std::string_view(whole).substr(0, size));
    const auto reader = open(trace);
    ASSERT_NE(reader, nullptr) << size;
    const auto expected =
        std::ranges::count_if(ends, [&](std::uint64_t end) { return end <= size; });
    ASSERT_EQ(readable_rows(*reader), static_cast<std::size_t>(expected) * kBlockRows) << size;
    ASSERT_EQ(reader->damage().rows_skipped, static_cast<std::size_t>(3 - expected) * kBlockRows)
        << size;
    const std::uint64_t good = expected > 0 ? ends[static_cast<std::size_t>(expected) - 1]
                               : size >= sizeof(SegmentHeader) ? sizeof(SegmentHeader)
                                                               : 0;
    ASSERT_EQ(reader->damage().bytes_skipped, whole.size() - good) << size;
  }
}

TEST(Recovery, a_flipped_bit_anywhere_costs_one_block_and_is_reported) {
  const TemporaryDirectory directory;
  const auto trace = make_trace(directory, 3);
  for (const char* name : {"events-0001.seg", "dictionary.seg"}) {
    const std::string whole = contents(trace / name);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
      overwrite(trace / name, damaged);
      const auto reader = open(trace);
      ASSERT_NE(reader, nullptr) << name << " " << i;
      const std::size_t rows = readable_rows(*reader);
      ASSERT_GE(rows, 2 * kBlockRows) << name << " " << i;
      const Damage damage = reader->damage();
      ASSERT_GT(damage.bytes_skipped, 0U) << name << " " << i;
      ASSERT_EQ(damage.blocks_skipped, i < sizeof(SegmentHeader) ? 0U : 1U) << name << " " << i;
      if (name == std::string_view("events-0001.seg")) {
        ASSERT_EQ(damage.rows_skipped, 3 * kBlockRows - rows) << i;
      }
    }
    overwrite(trace / name, whole);
  }
}

TEST(Recovery, a_damaged_manifest_never_hides_the_events) {
  const TemporaryDirectory directory;
  const auto trace = make_trace(directory, 1);
  const std::string whole = contents(trace / "manifest.json");
  std::mt19937_64 random(4);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = whole.substr(0, random() % whole.size());
    if (i % 2 == 0)
      damaged[random() % (damaged.size() + 1)] = static_cast<char>(random());
    overwrite(trace / "manifest.json", damaged);
    const auto reader = open(trace);
    ASSERT_NE(reader, nullptr);
    ASSERT_EQ(readable_rows(*reader), kBlockRows);
    ASSERT_EQ(reader->notices().size(), 1U);
    ASSERT_EQ(reader->manifest().state, State::INCOMPLETE);
    ASSERT_TRUE(reader->damage().manifest);
  }
  std::filesystem::remove(trace / "manifest.json");
  EXPECT_EQ(readable_rows(*open(trace)), kBlockRows);
}

TEST(Recovery, a_flipped_bit_anywhere_in_the_manifest_is_reported) {
  const TemporaryDirectory directory;
  const auto trace = make_trace(directory, 1);
  const std::string whole = contents(trace / "manifest.json");
  ASSERT_TRUE(manifest_from_json(whole).has_value());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    ASSERT_FALSE(manifest_from_json(damaged).has_value()) << i;
  }
  for (const std::string& other : {whole + "\n", whole.substr(0, whole.size() - 1), " " + whole})
    EXPECT_FALSE(manifest_from_json(other).has_value());
}

TEST(Recovery, a_manifest_without_a_checksum_is_damage) {
  const TemporaryDirectory directory;
  const auto trace = make_trace(directory, 1);
  auto json = Json::parse(contents(trace / "manifest.json"));
  json.erase("checksum");
  overwrite(trace / "manifest.json", json.dump());
  const auto reader = open(trace);
  EXPECT_TRUE(reader->damage().manifest);
  EXPECT_NE(reader->notices()[0].find("no checksum"), std::string::npos);
}

// The manifest does not count rows of dictionaries; the missing bytes reveal the loss.
TEST(Recovery, a_dictionary_cut_off_between_blocks_is_reported) {
  const TemporaryDirectory directory;
  const auto trace = make_trace(directory, 3);
  const std::string whole = contents(trace / "dictionary.seg");
  const TraceId id = *trace_id_from_hex(open(trace)->manifest().trace_id);
  const SegmentIndex index = index_segment(std::as_bytes(std::span(whole)), id);
  ASSERT_GT(index.blocks.size(), 1U);
  overwrite(trace / "dictionary.seg", whole.substr(0, index.blocks.back().offset));
  EXPECT_EQ(open(trace)->damage().bytes_skipped, whole.size() - index.blocks.back().offset);
}

TEST(Recovery, duplicates_count_once_and_are_reported) {
  const TemporaryDirectory directory;
  const auto trace = make_trace(directory, 3);
  const std::string whole = contents(trace / "events-0001.seg");
  overwrite(trace / "events-0002.seg", whole);
  EXPECT_EQ(readable_rows(*open(trace)), 3 * kBlockRows);
  EXPECT_EQ(open(trace)->damage().bytes_skipped, whole.size());
  EXPECT_NE(open(trace)->notices()[0].find("events-0002.seg"), std::string::npos);

  // The header cannot report the damage, but the manifest does.
  overwrite(trace / "events-0002.seg", "x" + whole.substr(1));
  EXPECT_NE(open(trace)->notices()[0].find("tells of"), std::string::npos);
  std::filesystem::remove(trace / "events-0002.seg");

  const TraceId id = *trace_id_from_hex(open(trace)->manifest().trace_id);
  const SegmentIndex index = index_segment(std::as_bytes(std::span(whole)), id);
  const std::uint64_t at = index.blocks[1].offset;
  const std::string block = whole.substr(at, index.blocks[2].offset - at);
  overwrite(trace / "events-0001.seg", whole.substr(0, at) + block + whole.substr(at));
  EXPECT_EQ(readable_rows(*open(trace)), 3 * kBlockRows);
  EXPECT_EQ(open(trace)->damage().bytes_skipped, block.size());
}

// The schema defines the reader's tables: no table may be read with the columns of another.
TEST(Recovery, a_schema_that_contradicts_itself_is_damage) {
  const std::string good = to_json(Manifest{});
  const auto edited = [&](auto edit) {
    Json json = Json::parse(good);
    edit(json["schema"]);
    return manifest_from_json(sealed_text(json)).has_value();
  };
  EXPECT_TRUE(edited([](Json&) {}));
  EXPECT_FALSE(edited([](Json& schema) { schema[1]["kind"] = schema[0]["kind"]; }));
  EXPECT_FALSE(edited([](Json& schema) { schema[1]["name"] = schema[0]["name"]; }));
  EXPECT_FALSE(edited([](Json& schema) { schema[1]["name"] = "../../evil"; }));
  EXPECT_FALSE(edited([](Json& schema) { schema[1]["layer"] = "\x1b[31m"; }));
  EXPECT_FALSE(edited([](Json& schema) { schema[1]["columns"].push_back("a.b u64 number"); }));
  EXPECT_FALSE(edited([](Json& schema) {
    schema[1]["columns"].push_back("twin u64 number");
    schema[1]["columns"].push_back("twin u64 number");
  }));
  EXPECT_FALSE(edited([](Json& schema) { schema = 5; }));
  EXPECT_FALSE(edited([](Json& schema) { schema = Json::array({1, 2}); }));
}

TEST(Recovery, a_manifest_nested_without_end_is_damage) {
  std::string deep = to_json(Manifest{});
  deep.insert(1, "\"x\": " + std::string(1U << 20U, '[') + std::string(1U << 20U, ']') + ",");
  EXPECT_FALSE(manifest_from_json(deep).has_value());
}

TEST(Recovery, a_missing_segment_is_named_and_its_rows_are_counted) {
  const TemporaryDirectory directory;
  const auto trace = directory / "t.iotrail";
  std::mt19937_64 random(5);
  auto writer = create(trace, {.block_rows = 20, .segment_bytes = 1000});
  for (int i = 0; i < 200; ++i)
    writer->append(random_record(kEvent, random).as_event());
  Manifest manifest;
  ASSERT_TRUE(writer->finish(manifest).has_value());
  std::filesystem::remove(trace / "events-0002.seg");
  const auto reader = open(trace);
  ASSERT_EQ(reader->notices().size(), 1U);
  EXPECT_NE(reader->notices()[0].find("events-0002.seg is missing"), std::string::npos);
  EXPECT_GT(reader->damage().rows_skipped, 0U);
  EXPECT_EQ(reader->damage().rows_skipped + readable_rows(*reader), 200U);
}

// A file with the highest number once made a sentence for each of four billion segments.
TEST(Recovery, missing_segments_are_reported_once_for_each_gap) {
  const TemporaryDirectory directory;
  const auto trace = make_trace(directory, 1);
  overwrite(trace / "events-4294967295.seg", "");
  const auto reader = open(trace);
  ASSERT_EQ(reader->notices().size(), 1U);
  EXPECT_NE(reader->notices()[0].find("events-0002.seg to events-4294967294.seg are missing"),
            std::string::npos)
      << reader->notices()[0];
  for (int number = 10; number < 100; number += 2)
    overwrite(trace / fmt::format("events-{:04}.seg", number), "");
  const auto notices = open(trace)->notices().size();
  EXPECT_GT(notices, 1U);
  EXPECT_LT(notices, 20U) << "a sentence more for the gaps that are not named";
}

TEST(Recovery, several_threads_read_and_count_a_bad_block_once) {
  const TemporaryDirectory directory;
  const auto trace = make_trace(directory, 20);
  std::string damaged = contents(trace / "events-0001.seg");
  damaged.back() = static_cast<char>(~damaged.back());
  overwrite(trace / "events-0001.seg", damaged);
  const auto checked = open(trace);
  checked->check_all();
  EXPECT_EQ(checked->damage().blocks_skipped, 1U) << "the checksums alone tell";
  const auto reader = open(trace);
  std::vector<std::thread> threads;
  std::atomic<std::size_t> rows = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { rows += readable_rows(*reader); });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(rows, 4 * 19 * kBlockRows);
  EXPECT_EQ(reader->damage().blocks_skipped, 1U);
  EXPECT_EQ(reader->damage().rows_skipped, kBlockRows);
}

// Appends rows with times 1, 2, 3, ... for ever, and publishes how many are flushed.
[[noreturn]] void write_until_killed(const std::filesystem::path& trace,
                                     std::atomic<std::uint64_t>& flushed) {
  Manifest manifest;
  manifest.state = State::RUNNING;
  auto writer = TraceWriter::create(trace, manifest, {.block_rows = 500, .flush_interval_ns = 1});
  if (!writer)
    _exit(1);
  Record record(kEvent);
  for (std::uint64_t i = 1;; ++i) {
    record.as_event().ts_ns = i;
    // Does not compress, so that blocks have some size.
    const std::uint64_t mixed = i * 0x9e3779b97f4a7c15U;
    record.as_event().op_id = mixed ^ mixed >> 29U;
    (*writer)->append(record.as_event());
    if (i % 777 == 0)
      (*writer)->tick(i);
    if (i % 20'000 == 0) {
      if (!(*writer)->flush())
        _exit(1);
      flushed = i;
    }
  }
}

// The first column numbers the rows from 1.
std::uint64_t count_rows_in_order(const TraceReader& reader) {
  std::uint64_t rows = 0;
  std::uint64_t last_in_order = 0;
  for (const BlockInfo& block : reader.blocks()) {
    if (block.kind != kEvent.id)
      continue;
    const auto columns = reader.read(block);
    if (!columns)
      continue;
    for (const std::uint64_t number : std::get<Numbers>(columns->front()))
      last_in_order += number == last_in_order + 1 ? 1 : 0;
    rows += block.rows;
  }
  EXPECT_EQ(last_in_order, rows) << "a row is missing or doubled";
  return rows;
}

TEST(Recovery, a_killed_writer_leaves_every_row_up_to_its_last_block) {
  const TemporaryDirectory directory;
  auto& flushed = *static_cast<std::atomic<std::uint64_t>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::minstd_rand random(6);
  std::uint64_t rows_in_all = 0;
  for (int round = 0; round < 50; ++round) {
    flushed = 0;
    const auto trace = directory / ("t" + std::to_string(round) + ".iotrail");
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      write_until_killed(trace, flushed);
    while (!std::filesystem::exists(trace / "manifest.json"))
      usleep(100);
    if (round == 0) {
      EXPECT_EQ(read_manifest(trace)->state, State::RUNNING);
    }
    usleep(static_cast<useconds_t>(random() % 60'000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";

    const auto reader = open(trace);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(reader->manifest().state, State::INCOMPLETE);
    const std::uint64_t rows = count_rows_in_order(*reader);
    EXPECT_GE(rows, flushed);
    EXPECT_LE(reader->damage().blocks_skipped, 1U) << "more than the block being written";
    rows_in_all += rows;
  }
  EXPECT_GT(rows_in_all, 0U);
  munmap(&flushed, 4096);
}

TEST(Recovery, a_trace_of_another_version_is_read_by_its_own_schema) {
  const TemporaryDirectory directory;
  const auto trace = make_trace(directory, 1);
  // A later version added a column to one event, and has an event that this version does not know.
  std::string manifest = contents(trace / "manifest.json");
  const auto table = manifest.find(R"("name": "cache_add")");
  manifest.insert(manifest.find(R"("pages u32 pages")", table), R"("order u16 shoe_size", )");
  const auto schema = manifest.find(R"("schema": [)") + std::string_view(R"("schema": [)").size();
  manifest.insert(schema, R"({"kind": 1911, "name": "tape_wind", "layer": "tape",
                              "columns": ["ts_ns u64 time_ns", "reel text text"]},)");
  overwrite_manifest(trace, manifest);
  const TraceId id = *trace_id_from_hex(open(trace)->manifest().trace_id);
  BlockEncoder encoder(id, 1);
  std::string segment = contents(trace / "events-0001.seg");
  const auto append = [&](const BlockRows& rows, std::uint32_t sequence, std::uint64_t before) {
    const ByteSpan block = encoder.encode(rows, sequence, before);
    segment.append(reinterpret_cast<const char*>(block.data()), block.size());
  };
  append({1911, {Numbers{5, 6}, Texts{"left", "right"}}, 5, 6}, 1, kBlockRows);
  BlockRows longer{0x0402, {}, 7, 7};
  for (std::uint64_t i = 0; i < 9; ++i)
    longer.columns.emplace_back(Numbers{i});
  append(longer, 2, kBlockRows + 2);
  overwrite(trace / "events-0001.seg", segment);

  const auto reader = open(trace);
  const TableInfo* tape = reader->table("tape_wind");
  ASSERT_NE(tape, nullptr);
  const auto columns = reader->read(reader->blocks()[reader->blocks().size() - 2]);
  ASSERT_TRUE(columns.has_value()) << columns.error().message();
  EXPECT_EQ(std::get<Texts>((*columns)[1]), (Texts{"left", "right"}));
  const int order = reader->table("cache_add")->column("order");
  const auto last = reader->read(reader->blocks().back(), std::array{order});
  ASSERT_TRUE(last.has_value()) << last.error().message();
  EXPECT_EQ(std::get<Numbers>((*last)[static_cast<std::size_t>(order)]),
            Numbers{static_cast<std::uint64_t>(order)});
}

} // namespace
} // namespace iotrail::store::testing
