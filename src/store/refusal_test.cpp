// SPDX-License-Identifier: BSD-3-Clause
//
// The store refuses what is not a trace, cannot be written, or is in use. The error has the name,
// the reason and what to do.
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <numeric>

#include "store/format/block.hpp"
#include "store/reader/repository.hpp"
#include "store/test_support.hpp"

namespace iotrail::store::testing {
namespace {

template <class T>
void expect_refusal(const Result<T>& result, const std::string& object, std::string_view why) {
  ASSERT_FALSE(result.has_value());
  const std::string message = result.error().message();
  EXPECT_NE(message.find(object), std::string::npos) << message;
  EXPECT_NE(message.find(why), std::string::npos) << message;
  EXPECT_FALSE(result.error().hint.empty()) << message;
}

std::filesystem::path finished_trace(const std::filesystem::path& trace) {
  Manifest manifest;
  auto writer = create(trace);
  Record record(*schema::find_event("vfs_read"));
  writer->append(record.as_event());
  EXPECT_TRUE(writer->finish(manifest).has_value());
  return trace;
}

TEST(UnavailableSource, a_segment_removed_or_cut_by_others_is_reported_at_the_end) {
  const TemporaryDirectory directory;
  for (const bool is_removed : {true, false}) {
    const auto trace = directory / (is_removed ? "removed.iotrail" : "cut.iotrail");
    auto writer = create(trace);
    Record record(*schema::find_event("vfs_read"));
    writer->append(record.as_event());
    const auto segment = trace / "events-0001.seg";
    if (is_removed)
      std::filesystem::remove(segment);
    else
      std::filesystem::resize_file(segment, 0);
    Manifest manifest;
    expect_refusal(writer->finish(manifest), segment.string(),
                   is_removed ? "was removed meanwhile" : "somebody else has changed");
    EXPECT_EQ(manifest.state, State::ERROR);
  }
}

TEST(UnavailableSource, a_segment_that_has_ended_and_is_removed_is_told_at_the_end) {
  const TemporaryDirectory directory;
  const auto trace = directory / "t.iotrail";
  auto writer = create(trace, {.block_rows = 10, .segment_bytes = 1000});
  Record record(*schema::find_event("vfs_read"));
  const auto first = trace / "events-0001.seg";
  std::filesystem::remove(first);
  for (int i = 0; i < 1000; ++i)
    writer->append(record.as_event());
  Manifest manifest;
  expect_refusal(writer->finish(manifest), first.string(), "was removed meanwhile");
}

// As somebody would who makes the checksum fit.
void change_manifest(const std::filesystem::path& trace, const std::function<void(Json&)>& change) {
  Json json = Json::parse(contents(trace / "manifest.json"));
  change(json);
  overwrite_manifest(trace, json.dump());
}

TEST(UnavailableSource, rows_of_a_table_that_the_schema_lacks_are_damage) {
  const TemporaryDirectory directory;
  const auto trace = finished_trace(directory / "t.iotrail");
  change_manifest(trace, [](Json& json) {
    std::erase_if(json["schema"].get_ref<Json::array_t&>(),
                  [](const Json& table) { return table["name"] == "vfs_read"; });
  });
  const auto reader = TraceReader::open(trace);
  ASSERT_TRUE(reader.has_value());
  EXPECT_FALSE((*reader)->damage().manifest);
  EXPECT_EQ((*reader)->damage().rows_skipped, 1U);
}

TEST(UnavailableSource, a_member_of_another_type_is_named) {
  const TemporaryDirectory directory;
  const auto trace = finished_trace(directory / "t.iotrail");
  change_manifest(trace, [](Json& json) { json["stop_reason"] = 7; });
  expect_refusal(read_manifest(trace), "t.iotrail", "its member 'stop_reason' is of another type");
  change_manifest(trace, [](Json& json) {
    json["stop_reason"] = "";
    json["hooks"] = Json::array({{{"event", Json::array()}}});
  });
  expect_refusal(read_manifest(trace), "t.iotrail", "its member 'hooks.event' is of another type");
  change_manifest(trace, [](Json& json) {
    json["hooks"] = Json::array();
    json["schema"][0]["name"] = 7;
  });
  expect_refusal(read_manifest(trace), "t.iotrail", "its schema has a member of another type");
}

// The parser's time grows with the square of an object's members: 200,000 took 20 seconds.
TEST(UnavailableSource, a_manifest_with_more_names_than_any_recording_is_refused_at_once) {
  const TemporaryDirectory directory;
  const auto trace = finished_trace(directory / "t.iotrail");
  std::string tags;
  for (int i = 0; i < 200'000; ++i)
    tags += fmt::format("{}\"{}\":\"\"", i == 0 ? "" : ",", i);
  overwrite(trace / "manifest.json", seal("{\"format_version\":1,\"tags\":{" + tags + "}"));
  const auto begin = std::chrono::steady_clock::now();
  expect_refusal(read_manifest(trace), "t.iotrail", "more tags, counters or other names");
  EXPECT_TRUE(open(trace)->damage().manifest);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST(UnavailableSource, as_many_names_as_are_allowed_are_read_and_no_tag_is_added_to_them) {
  const TemporaryDirectory directory;
  const auto trace = finished_trace(directory / "t.iotrail");
  change_manifest(trace, [](Json& json) {
    for (std::size_t i = 0; i < Manifest::kNamesMax; ++i)
      json["tags"][fmt::format("{}:{{", i)] = "[\"a\":1";
  });
  ASSERT_EQ(read_manifest(trace)->tags.size(), Manifest::kNamesMax);
  expect_refusal(tag_trace(trace, "another", "x"), "another", "at most 4096 tags");
  EXPECT_TRUE(tag_trace(trace, "0:{", "changed").has_value());
  EXPECT_EQ(read_manifest(trace)->tags.at("0:{"), "changed");
}

// Programs choose their names: control characters are six bytes each in JSON.
TEST(UnavailableSource, no_name_in_a_manifest_makes_it_too_large_to_be_read) {
  const TemporaryDirectory directory;
  const auto trace = directory / "t.iotrail";
  const std::vector<std::string> names(1000, std::string(4096, '\x01'));
  Manifest manifest;
  manifest.command = {"sh", std::string(3U << 20U, '\xff')};
  manifest.not_followed = names;
  manifest.still_running = names;
  manifest.filters = {"--exclude x"};
  manifest.counters = {{"preload_ring_full", 7}};
  ASSERT_TRUE(create(trace)->finish(manifest).has_value());
  const auto read = read_manifest(trace);
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->counters, manifest.counters);
  EXPECT_EQ(read->filters, manifest.filters);
  EXPECT_EQ(read->command.front(), "sh");
  EXPECT_TRUE(read->command.back().ends_with("..."));
  EXPECT_EQ(read->not_followed.front(), names.front());
  EXPECT_EQ(read->not_followed.back(), "...");
}

TEST(UnavailableSource, a_schema_without_tables_is_damage_and_the_events_are_read_by_ours) {
  const TemporaryDirectory directory;
  const auto trace = finished_trace(directory / "t.iotrail");
  change_manifest(trace, [](Json& json) { json["schema"] = Json::array(); });
  const auto reader = TraceReader::open(trace);
  ASSERT_TRUE(reader.has_value());
  EXPECT_TRUE((*reader)->damage().manifest);
  EXPECT_EQ((*reader)->blocks().size(), 1U);
}

TEST(UnavailableSource, a_segment_that_is_nearly_all_hole_is_not_searched) {
  constexpr std::uint64_t kHoleBytes = 1ULL << 42U; // 4 TiB took hours
  const TemporaryDirectory directory;
  const auto trace = finished_trace(directory / "t.iotrail");
  for (const auto& entry : std::filesystem::directory_iterator(trace))
    if (entry.path().extension() == ".seg")
      std::filesystem::resize_file(entry.path(), kHoleBytes);
  const auto reader = TraceReader::open(trace);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ((*reader)->blocks().size(), 1U);
  EXPECT_GT((*reader)->damage().bytes_skipped, kHoleBytes - (1U << 20U));
}

// Decodes a block of text columns, each with `texts`, as a reader of all columns does.
Result<std::vector<Column>> decoded(std::size_t columns, const Texts& texts) {
  BlockRows rows;
  rows.columns.assign(columns, texts);
  BlockEncoder encoder(new_trace_id(), 1);
  const ByteSpan block = encoder.encode(rows, 0, 0);
  std::vector<int> all(columns);
  std::iota(all.begin(), all.end(), 0);
  return decode_block(ByteReader(block).read<BlockHeader>(), block.subspan(sizeof(BlockHeader)),
                      all, std::vector(columns, schema::Type::text));
}

// Few kilobytes of zstd can expand to any size: 255 columns within their own limit were 8 GiB.
TEST(UnavailableSource, a_block_of_columns_that_are_too_large_together) {
  const Texts texts(250, std::string(kTextBytesMax, 'a')); // slightly less than 16 MiB
  EXPECT_TRUE(decoded(2, texts).has_value());
  const auto three = decoded(3, texts);
  ASSERT_FALSE(three.has_value());
  EXPECT_NE(three.error().why.find("together"), std::string::npos);
  EXPECT_FALSE(decoded(64, Texts(kBlockRowsMax)).has_value()) << "empty texts take room too";
}

TEST(UnavailableSource, columns_that_a_block_is_too_old_to_have_count_as_well) {
  BlockEncoder encoder(new_trace_id(), 1);
  const ByteSpan block = encoder.encode({.columns = {Numbers(kBlockRowsMax)}}, 0, 0);
  const std::vector<int> last = {255};
  EXPECT_FALSE(decode_block(ByteReader(block).read<BlockHeader>(),
                            block.subspan(sizeof(BlockHeader)), last,
                            std::vector(256, schema::Type::text))
                   .has_value());
}

TEST(UnavailableSource, a_text_that_is_longer_than_the_format_allows) {
  EXPECT_TRUE(decoded(1, {std::string(kTextBytesMax, 'a')}).has_value());
  EXPECT_FALSE(decoded(1, {std::string(kTextBytesMax + 1, 'a')}).has_value());
}

TEST(UnavailableSource, two_writers_into_one_trace) {
  const TemporaryDirectory directory;
  const auto trace = directory / "t.iotrail";
  const auto first = create(trace);
  expect_refusal(TraceWriter::create(trace, {}), trace.string(), "exists");
  EXPECT_EQ(read_manifest(trace)->state, State::RUNNING) << "the first is not disturbed";
}

TEST(UnavailableSource, a_place_that_cannot_be_written) {
  const TemporaryDirectory directory;
  const auto trace = directory / "none/t.iotrail";
  expect_refusal(TraceWriter::create(trace, {}), trace.string(), "No such file");
}

TEST(UnavailableSource, files_that_are_not_a_trace) {
  const TemporaryDirectory directory;
  overwrite(directory / "file.iotrail", "text");
  std::filesystem::create_directory(directory / "empty.iotrail");
  std::filesystem::create_directory(directory / "foreign.iotrail");
  overwrite(directory / "foreign.iotrail/letter.txt", "text");
  const auto open = [&](std::string_view name) { return TraceReader::open(directory / name); };
  expect_refusal(open("file.iotrail"), "file.iotrail", "not a directory");
  expect_refusal(open("none.iotrail"), "none.iotrail", "No such file");
  expect_refusal(open("empty.iotrail"), "empty.iotrail", "not a trace");
  expect_refusal(open("foreign.iotrail"), "foreign.iotrail", "not a trace");
  expect_refusal(remove_trace(directory / "foreign.iotrail", true), "foreign.iotrail",
                 "not a trace");
  EXPECT_TRUE(std::filesystem::exists(directory / "foreign.iotrail/letter.txt"));
}

TEST(UnavailableSource, endless_files_and_links_out_of_the_trace) {
  const TemporaryDirectory directory;
  const auto trace = finished_trace(directory / "t.iotrail");
  const std::string manifest = contents(trace / "manifest.json");
  const auto segment = trace / "events-0001.seg";
  std::filesystem::rename(segment, directory / "elsewhere");
  ASSERT_EQ(mkfifo(segment.c_str(), 0600), 0);
  expect_refusal(TraceReader::open(trace), segment.string(), "not a regular file");
  std::filesystem::remove(segment);
  std::filesystem::create_symlink(directory / "elsewhere", segment);
  expect_refusal(TraceReader::open(trace), segment.string(), "symbolic link");
  std::filesystem::remove(segment);
  std::filesystem::rename(directory / "elsewhere", segment);

  std::filesystem::remove(trace / "manifest.json");
  ASSERT_EQ(mkfifo((trace / "manifest.json").c_str(), 0600), 0);
  expect_refusal(read_manifest(trace), "manifest.json", "not a regular file");
  EXPECT_TRUE(open(trace)->damage().manifest);
  std::filesystem::remove(trace / "manifest.json");
  overwrite(directory / "elsewhere", manifest);
  std::filesystem::create_symlink(directory / "elsewhere", trace / "manifest.json");
  expect_refusal(read_manifest(trace), "manifest.json", "symbolic link");
}

TEST(UnavailableSource, a_trace_of_empty_files) {
  const TemporaryDirectory directory;
  const auto trace = finished_trace(directory / "t.iotrail");
  for (const char* name : {"manifest.json", "dictionary.seg", "events-0001.seg"})
    overwrite(trace / name, "");
  const auto opened = TraceReader::open(trace);
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().message().find("damaged or empty"), std::string::npos);
}

TEST(UnavailableSource, a_future_format_in_the_manifest_or_in_a_segment) {
  const TemporaryDirectory directory;
  const auto trace = finished_trace(directory / "t.iotrail");
  const std::string manifest = contents(trace / "manifest.json");
  std::string future = manifest;
  const std::string version = R"("format_version": 1)";
  future.replace(future.find(version), version.size(), R"("format_version": 2)");
  overwrite(trace / "manifest.json", future);
  expect_refusal(TraceReader::open(trace), trace.string(), "version is 2");
  overwrite(trace / "manifest.json", manifest);

  std::string segment = contents(trace / "events-0001.seg");
  SegmentHeader header;
  std::memcpy(&header, segment.data(), sizeof header);
  header.format_version = 3;
  seal(header);
  std::memcpy(segment.data(), &header, sizeof header);
  overwrite(trace / "events-0001.seg", segment);
  expect_refusal(TraceReader::open(trace), trace.string(), "version is 3");
}

// A small file system; needs the right to mount.
class SmallDisk {
public:
  explicit SmallDisk(const char* options)
      : is_mounted_(mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, options) == 0) {}
  ~SmallDisk() {
    if (is_mounted_)
      umount2(directory_.path().c_str(), MNT_DETACH);
  }
  bool is_mounted() const { return is_mounted_; }
  std::filesystem::path operator/(std::string_view name) const { return directory_ / name; }

private:
  TemporaryDirectory directory_;
  bool is_mounted_;
};

TEST(DiskFull, the_trace_stays_readable_and_every_row_is_accounted_for) {
  const SmallDisk disk("size=512k");
  if (!disk.is_mounted())
    GTEST_SKIP() << "mounting a small file system needs root: " << errno_text(errno);
  const auto trace = disk / "t.iotrail";
  auto writer = create(trace, {.block_rows = 1000});
  std::mt19937_64 random(1);
  const schema::Event& event = *schema::find_event("syscall_read");
  constexpr std::uint64_t kRows = 30'000;
  for (std::uint64_t i = 0; i < kRows; ++i)
    writer->append(random_record(event, random).as_event());
  Manifest manifest;
  manifest.state = State::RUNNING;
  EXPECT_FALSE(writer->finish(manifest).has_value());
  ASSERT_NE(writer->failure(), nullptr);
  EXPECT_EQ(writer->failure()->code, ENOSPC);
  const WriterStats stats = writer->stats();
  EXPECT_GT(stats.failed_at_ns, 0U);
  EXPECT_GT(stats.rows.at(event.id), 0U);
  EXPECT_EQ(stats.rows.at(event.id) + stats.rows_failed.at(event.id), kRows);
  writer.reset();

  const auto reader = open(trace);
  EXPECT_EQ(reader->manifest().state, State::ERROR);
  EXPECT_NE(reader->manifest().stop_reason.find("ENOSPC"), std::string::npos);
  EXPECT_EQ(reader->manifest().counters.at("store_write_failed"), stats.rows_failed.at(event.id));
  EXPECT_EQ(rows_of(*reader, event.id).size(), stats.rows.at(event.id));
  EXPECT_EQ(reader->damage().bytes_skipped, 0U);
  EXPECT_EQ(reader->damage().rows_skipped, 0U);
}

TEST(DiskFull, before_the_first_event_nothing_is_left_behind) {
  const SmallDisk disk("size=8k");
  if (!disk.is_mounted())
    GTEST_SKIP() << "mounting a small file system needs root: " << errno_text(errno);
  const auto writer = TraceWriter::create(disk / "t.iotrail", {});
  ASSERT_FALSE(writer.has_value());
  EXPECT_EQ(writer.error().code, ENOSPC);
  EXPECT_FALSE(std::filesystem::exists(disk / "t.iotrail"));
}

} // namespace
} // namespace iotrail::store::testing
