// SPDX-License-Identifier: BSD-3-Clause
//
// The views of patterns equal naive loops over random accesses.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "analysis/engine/test_engine.hpp"

namespace iotrail::analysis {
namespace {

struct Access {
  int thread;
  std::string file;
  bool is_read;
  std::int64_t position;
  std::int64_t bytes;
  std::string kind{};
};

constexpr std::int64_t kBlock = 1024;

// In order, backwards, in steps or anywhere, with changes between them.
std::vector<Access> random_accesses(std::mt19937& random) {
  std::vector<Access> accesses;
  std::map<std::tuple<int, std::string, bool>, std::int64_t> ends;
  const auto way_of = [&](int thread) { return (thread + accesses.size() / 25) % 5; };
  const auto count = 2 + random() % 150;
  for (unsigned i = 0; i < count; ++i) {
    Access access{.thread = static_cast<int>(random() % 3),
                  .file = random() % 4 == 0 ? "/b" : "/a",
                  .is_read = random() % 3 != 0,
                  .position = 0,
                  .bytes = kBlock * static_cast<std::int64_t>(1 + random() % 2)};
    std::int64_t& end = ends[{access.thread, access.file, access.is_read}];
    switch (way_of(access.thread)) {
    case 0:
      access.position = end;
      break;
    case 1:
      access.position = std::max<std::int64_t>(0, end - 2 * access.bytes);
      break;
    case 2:
      access.position = end + 3 * kBlock;
      access.bytes = kBlock;
      break;
    case 3:
      access.position = std::max<std::int64_t>(0, end - access.bytes);
      break;
    default:
      access.position = static_cast<std::int64_t>(random() % 100) * 512;
    }
    end = access.position + access.bytes;
    accesses.push_back(access);
  }
  return accesses;
}

std::string text_of(const std::vector<Access>& accesses) {
  std::string text = "manifest begin_ns=1000 end_ns=1000000\n"
                     "file path=/a inode=1 mode=0100644\nfile path=/b inode=2 mode=0100644\n";
  for (std::size_t i = 0; i < accesses.size(); ++i)
    text += fmt::format(
        "syscall_{} ts_ns={} op_id={} pid=7 tid={} duration_ns=50 file={} offset={} "
        "bytes_requested={} result={}\n",
        accesses[i].is_read ? "read" : "write", 1000 + i * 100, i + 1, accesses[i].thread + 7,
        accesses[i].file, accesses[i].position, accesses[i].bytes, accesses[i].bytes);
  return text;
}

bool is_one_stream(const Access& a, const Access& b) {
  return a.thread == b.thread && a.file == b.file && a.is_read == b.is_read;
}

// The nearest access of the same stream before (-1) or after (1).
const Access* neighbour(const std::vector<Access>& all, std::size_t at, int direction) {
  for (auto i = static_cast<std::ptrdiff_t>(at) + direction; i >= 0 && i < std::ssize(all);
       i += direction)
    if (is_one_stream(all[static_cast<std::size_t>(i)], all[at]))
      return &all[static_cast<std::size_t>(i)];
  return nullptr;
}

std::optional<std::int64_t> step_at(const std::vector<Access>& all, const Access* access) {
  if (access == nullptr)
    return {};
  const auto at = static_cast<std::size_t>(access - all.data());
  const Access* before = neighbour(all, at, -1);
  return before == nullptr ? std::nullopt : std::optional(access->position - before->position);
}

std::string naive_kind(const std::vector<Access>& all, std::size_t at) {
  const Access& access = all[at];
  const Access* before = neighbour(all, at, -1);
  if (before == nullptr)
    return "first";
  if (access.position == before->position + before->bytes)
    return "sequential";
  const std::int64_t step = access.position - before->position;
  if (step == 0)
    return "repeated";
  if (access.position + access.bytes == before->position)
    return "reverse";
  if (step != step_at(all, before) && step != step_at(all, neighbour(all, at, 1)))
    return "random";
  return step < 0 ? "reverse" : "strided";
}

struct FileSums {
  std::int64_t accesses = 0;
  std::int64_t bytes = 0;
  std::int64_t aligned = 0;
  std::int64_t in_order = 0;
  std::int64_t last_end = -1;
  std::map<std::string, std::int64_t> kinds{};
  std::map<std::int64_t, std::int64_t> sizes{};
  std::set<std::int64_t> blocks{}; // of 512 bytes
};

std::map<std::pair<std::string, bool>, FileSums> sums_of(const std::vector<Access>& accesses) {
  std::map<std::pair<std::string, bool>, FileSums> sums;
  for (const Access& access : accesses) {
    FileSums& file = sums[{access.file, access.is_read}];
    ++file.accesses;
    ++file.kinds[access.kind];
    ++file.sizes[access.bytes];
    file.bytes += access.bytes;
    const std::int64_t end = access.position + access.bytes;
    file.aligned += access.position % 4096 == 0 && end % 4096 == 0 ? 1 : 0;
    file.in_order += access.position == file.last_end ? 1 : 0;
    file.last_end = end;
    for (std::int64_t block = access.position; block < end; block += 512)
      file.blocks.insert(block);
  }
  return sums;
}

std::vector<std::string> naive_profiles(const std::vector<Access>& accesses) {
  std::vector<std::string> lines;
  for (auto& [key, file] : sums_of(accesses))
    lines.push_back(fmt::format(
        "{} {} {} {} {} {} {} {} {} {} {} {} {}", key.first, key.second ? "read" : "write",
        file.accesses, file.bytes, file.kinds["first"], file.kinds["sequential"],
        file.kinds["repeated"], file.kinds["reverse"], file.kinds["strided"], file.kinds["random"],
        file.in_order, file.aligned, std::ssize(file.blocks) * 512));
  std::ranges::sort(lines);
  return lines;
}

std::vector<std::string> naive_sizes(const std::vector<Access>& accesses) {
  std::vector<std::string> lines;
  for (const auto& [key, file] : sums_of(accesses))
    for (const auto& [bytes, count] : file.sizes)
      lines.push_back(
          fmt::format("{} {} {} {}", key.first, key.second ? "read" : "write", bytes, count));
  std::ranges::sort(lines);
  return lines;
}

// Byte by byte.
std::vector<std::string> naive_regions(const std::vector<Access>& accesses) {
  std::map<std::string, std::int64_t> length;
  for (const Access& access : accesses)
    length[access.file] = std::max(length[access.file], access.position + access.bytes);
  std::map<std::tuple<std::string, bool, std::int64_t>, std::int64_t> bytes;
  for (const Access& access : accesses)
    for (std::int64_t at = access.position; at < access.position + access.bytes; ++at)
      ++bytes[{access.file, access.is_read, at * 64 / length[access.file]}];
  std::vector<std::string> lines;
  for (const auto& [key, count] : bytes)
    lines.push_back(fmt::format("{} {} {} {}", std::get<0>(key),
                                std::get<1>(key) ? "read" : "write", std::get<2>(key), count));
  std::ranges::sort(lines);
  return lines;
}

TEST(patterns, views_equal_naive_loops_over_15_random_traces) {
  std::mt19937 random(7);
  std::set<std::string> kinds;
  for (int round = 0; round < 15; ++round) {
    std::vector<Access> accesses = random_accesses(random);
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      accesses[i].kind = naive_kind(accesses, i);
      kinds.insert(accesses[i].kind);
      expected.push_back(fmt::format("{} {}", i + 1, accesses[i].kind));
    }
    const golden::TestTrace trace(text_of(accesses));
    const auto engine = open(trace);
    ASSERT_EQ(rows_of(*engine, "SELECT op_id, kind FROM access_steps ORDER BY op_id"), expected)
        << round;
    ASSERT_EQ(rows_of(*engine, "SELECT path, direction, accesses, bytes, streams, sequential, "
                               "repeated, reverse, strided, random, coalesce(CAST(round("
                               "in_order_share * (accesses - 1)) AS BIGINT), 0), aligned, "
                               "distinct_bytes FROM file_profiles ORDER BY path, direction"),
              naive_profiles(accesses));
    ASSERT_EQ(rows_of(*engine, "SELECT path, direction, sum(accesses), sum(bytes), count(*), "
                               "sum(sequential), sum(repeated), sum(reverse), sum(strided), "
                               "sum(random) FROM access_streams GROUP BY ALL ORDER BY ALL"),
              rows_of(*engine,
                      "SELECT path, direction, accesses, bytes, streams, sequential, "
                      "repeated, reverse, strided, random FROM file_profiles ORDER BY ALL"));
    auto sizes = rows_of(*engine, "SELECT path, direction, bytes, accesses FROM access_sizes");
    std::ranges::sort(sizes);
    ASSERT_EQ(sizes, naive_sizes(accesses));
    auto regions = rows_of(*engine, "SELECT path, direction, region, bytes FROM file_regions");
    std::ranges::sort(regions);
    ASSERT_EQ(regions, naive_regions(accesses));
  }
  EXPECT_EQ(kinds.size(), 6U); // the traces have all of them
}

} // namespace
} // namespace iotrail::analysis
