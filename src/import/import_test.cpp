// SPDX-License-Identifier: BSD-3-Clause
//
// Small files of each format, as traces: what is there, what is absent, what is malformed and where.
#include <linux/blktrace_api.h>

#include <cstring>
#include <filesystem>
#include <memory>

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "import/import_test_support.hpp"
#include "import/numbers.hpp"
#include "import/strace_line.hpp"

namespace iotrail::import {
namespace {

namespace fs = std::filesystem;
using Import = ImportTest;

std::string oracle(std::uint32_t at_s, std::uint64_t object, std::uint32_t bytes,
                   std::int64_t next) {
  std::string record(24, '\0');
  std::memcpy(record.data(), &at_s, 4);
  std::memcpy(record.data() + 4, &object, 8);
  std::memcpy(record.data() + 12, &bytes, 4);
  std::memcpy(record.data() + 16, &next, 8);
  return record;
}

TEST_F(Import, requests_of_a_second_keep_their_order) {
  const std::string file =
      write("x", oracle(5, 7, 4096, 2) + oracle(5, 8, 100, -1) + oracle(6, 7, 4096, -1));
  const auto outcome = import({file});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  EXPECT_EQ(outcome->format->name, "oracleGeneral");
  const auto reads = rows("syscall_read");
  ASSERT_EQ(reads.size(), 3U);
  EXPECT_EQ(reads[0].at("ts_ns"), 5'000'000'000);
  EXPECT_EQ(reads[1].at("ts_ns"), 5'000'000'001);
  EXPECT_EQ(reads[2].at("ts_ns"), 6'000'000'000);
  EXPECT_EQ(reads[1].at("result"), 100);
  EXPECT_EQ(reads[0].at("offset"), reads[2].at("offset"));
  EXPECT_NE(reads[0].at("offset"), reads[1].at("offset"));
  EXPECT_EQ(reads[0].at("fd"), IOT_NO_FD) << "no descriptor is known";
}

TEST_F(Import, a_cut_record_is_located) {
  const std::string file = write("x", oracle(5, 7, 4096, -1) + "cut");
  const auto outcome = import({file}, "oracleGeneral");
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->malformed, 1U);
  EXPECT_EQ(outcome->malformed_named, std::vector{file + " at byte 24: the last record is cut"});
  const auto& source = outcome->manifest.sources.front();
  EXPECT_EQ(source.name, "import");
  EXPECT_EQ(source.produced, source.written + source.lost);
  EXPECT_EQ(source.lost, 1U);
}

TEST_F(Import, a_file_without_an_event_leaves_no_trace) {
  const auto outcome = import({write("x", "nothing that strace writes\n")}, "strace");
  ASSERT_FALSE(outcome.has_value());
  EXPECT_NE(outcome.error().why.find("x:1"), std::string::npos) << outcome.error().why;
  EXPECT_FALSE(fs::exists(trace()));
  EXPECT_FALSE(import({write("y", "?")}).has_value());
  EXPECT_FALSE(import({"/no/such/file"}).has_value());
  EXPECT_FALSE(fs::exists(trace()));
}

constexpr std::string_view kStrace =
    R"text(7 1700000000.000001 execve("/bin/x", ["x", "a b"], 0x7ff /* 3 vars */) = 0 <0.000100>
7 1700000000.001000 openat(AT_FDCWD</tmp>, "a (\"q\", 1)", O_RDWR|O_CREAT, 0644) = 3</tmp/a\74b> <0.000010>
7 1700000000.002000 write(3</tmp/a\74b>, "x) = 9 <1.0>"..., 100) = 100 <0.000020>
7 1700000000.003000 read(3</tmp/a\74b>,  <unfinished ...>
8 1700000000.003500 fsync(4</dev/null<char 1:3>>) = -1 EINVAL (Invalid argument) <0.000003>
this is no line of strace
7 1700000000.004000 <... read resumed>"", 50) = 0 <0.001000>
7 1700000000.005000 lseek(3</tmp/a\74b>, 10, SEEK_SET) = 10 <0.000001>
7 1700000000.006000 writev(3</tmp/a\74b>, [{iov_base="ab", iov_len=2}, {iov_base="c", iov_len=3}], 2) = 5 <0.000002>
7 1700000000.007000 pread64(3</tmp/a\74b>, ""..., 10, 4096) = 10 <0.000002>
7 1700000000.008000 getpid() = 7 <0.000001>
7 1700000000.009000 exit_group(3) = ?
7 1700000000.010000 +++ exited with 3 +++
)text";

TEST_F(Import, strace_gives_calls_with_positions) {
  const auto outcome = import({write("x", kStrace)});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  EXPECT_EQ(outcome->format->name, "strace");
  EXPECT_EQ(outcome->malformed, 1U);
  EXPECT_TRUE(outcome->malformed_named.front().find("/x:6: ") != std::string::npos);
  EXPECT_EQ(outcome->manifest.command, (std::vector<std::string>{"x", "a b"}));
  const auto writes = rows("syscall_write");
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(writes[0].at("offset"), 0);
  EXPECT_EQ(writes[0].at("result"), 100);
  EXPECT_EQ(writes[0].at("duration_ns"), 20'000);
  EXPECT_EQ(writes[1].at("offset"), 10);
  EXPECT_EQ(writes[1].at("bytes_requested"), 5);
  EXPECT_EQ(writes[0].at("file"), writes[1].at("file"));
  const auto reads = rows("syscall_read");
  ASSERT_EQ(reads.size(), 2U);
  EXPECT_EQ(reads[0].at("ts_ns"), 1'700'000'000'003'000'000) << "the begin, not the end";
  EXPECT_EQ(reads[0].at("offset"), 100);
  EXPECT_EQ(reads[1].at("offset"), 4096);
  EXPECT_EQ(rows("syscall_sync").at(0).at("result"), -EINVAL);
  EXPECT_EQ(rows("process_exit").at(0).at("status"), 3);
}

TEST(StraceLine, texts_lose_their_escapes) {
  const auto call = strace_call(R"text(rename("a\n\"\303\244\x01", "b, (c") = 0 <0.5>)text");
  ASSERT_TRUE(call.has_value());
  ASSERT_EQ(call->arguments.size(), 2U);
  EXPECT_EQ(strace_text(call->arguments[0]), "a\n\"\303\244\x01");
  EXPECT_EQ(strace_text(call->arguments[1]), "b, (c");
  EXPECT_EQ(call->duration_ns, 500'000'000U);
  EXPECT_FALSE(strace_call("read(3, ").has_value());
  EXPECT_FALSE(strace_call("read(3) 5").has_value());
  EXPECT_FALSE(strace_call("").has_value());
  const auto address = strace_call("close(3<TCP:[127.0.0.1:1->127.0.0.1:2]>) = 0");
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->arguments.at(0), "3<TCP:[127.0.0.1:1->127.0.0.1:2]>");
}

std::string blktrace(std::uint64_t time_ns, std::uint32_t action, std::uint64_t sector,
                     std::uint32_t bytes, std::uint32_t pid = 5) {
  blk_io_trace record{};
  record.magic = BLK_IO_TRACE_MAGIC | BLK_IO_TRACE_VERSION;
  record.time = time_ns;
  record.sector = sector;
  record.bytes = bytes;
  record.action = action | BLK_TC_ACT(BLK_TC_WRITE | BLK_TC_SYNC);
  record.pid = pid;
  record.device = IOT_DEVICE(8, 0);
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

TEST_F(Import, a_request_ends_on_another_processor) {
  const std::string first =
      write("sda.blktrace.0", blktrace(1000, BLK_TA_QUEUE, 64, 8192) +
                                  blktrace(1500, BLK_TA_ISSUE, 64, 8192) + "noise" +
                                  blktrace(9000, BLK_TA_COMPLETE, 72, 4096));
  const std::string second = write("sda.blktrace.1", blktrace(4500, BLK_TA_COMPLETE, 64, 4096) +
                                                         blktrace(5000, BLK_TA_COMPLETE, 0, 512));
  const auto outcome = import({second, first});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  EXPECT_EQ(outcome->malformed, 1U);
  EXPECT_EQ(outcome->malformed_named.front().substr(first.size()),
            " at byte 96: no record of blktrace on this kind of machine begins here");
  EXPECT_EQ(outcome->left_out.at("completions of requests from before the trace"), 1U);
  const auto done = rows("block_complete");
  ASSERT_EQ(done.size(), 2U) << "a request was completed in two parts";
  EXPECT_EQ(done[0].at("ts_ns"), 1500);
  EXPECT_EQ(done[0].at("duration_ns") + done[1].at("duration_ns"), 3000 + 7500);
  EXPECT_EQ(done[0].at("queue_ns"), 500);
  EXPECT_EQ(done[0].at("request"), done[1].at("request"));
  EXPECT_EQ(done[0].at("flags"), IOT_block_write | IOT_block_hint_sync);
  EXPECT_EQ(rows("block_queue").at(0).at("offset"), -1) << "the file is not known";
}

TEST_F(Import, msr_lines_are_requests) {
  const auto outcome =
      import({write("x.csv", "128166372003061629,hm,1,Read,383496192,32768,113736\n"
                             "128166372016382155,hm,1,Write,2822144,4096,21736\r\n"
                             "128166372016382155,hm,1,Wirte,2822144,4096,21736\n")});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  EXPECT_EQ(outcome->malformed, 1U);
  const auto done = rows("block_complete");
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].at("ts_ns"), 1'172'163'600'306'162'900); // 2007-02-22 17:00:00.306 UTC
  EXPECT_EQ(done[0].at("duration_ns"), 11'373'600);
  EXPECT_EQ(done[0].at("sector"), 749016);
  EXPECT_EQ(done[1].at("bytes"), 4096);
  EXPECT_EQ(done[1].at("flags"), IOT_block_write);
}

TEST_F(Import, compressed_files_give_the_same_events) {
  std::string zstd(::ZSTD_compressBound(kStrace.size()), '\0');
  zstd.resize(::ZSTD_compress(zstd.data(), zstd.size(), kStrace.data(), kStrace.size(), 1));
  const std::string gzip = write("x.gz", "");
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(::gzopen(gzip.c_str(), "w"), ::gzclose);
  ::gzwrite(file.get(), kStrace.data(), static_cast<unsigned>(kStrace.size()));
  ::gzflush(file.get(), Z_FINISH);
  for (const std::string& path : {gzip, write("x.zst", zstd)}) {
    const auto outcome = import({path});
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
    EXPECT_EQ(outcome->manifest.events(), 9U) << path;
  }
  EXPECT_FALSE(import({write("y.zst", zstd.substr(0, zstd.size() / 2))}, "strace").has_value());
  EXPECT_FALSE(fs::exists(trace()));
}

TEST_F(Import, a_line_without_end_takes_bounded_memory) {
  const std::string noise(3 * Input::kLineBytesMax, 'x');
  const auto outcome = import({write("x", std::string(kStrace) + noise + "\n" + noise)});
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->malformed, 3U);
  EXPECT_TRUE(outcome->malformed_named.back().ends_with("x:15: the line is too long"))
      << outcome->malformed_named.back();
}

TEST(Numbers, times_are_exact) {
  EXPECT_EQ(to_ns("1700000000.123456789"), 1'700'000'000'123'456'789U);
  EXPECT_EQ(to_ns("0.5"), 500'000'000U);
  EXPECT_EQ(to_ns("99999999999999999999"), std::nullopt);
  EXPECT_EQ(to_ns("1.x"), std::nullopt);
  EXPECT_EQ(to_date_ns("1970-01-02 00:00:01.5"), 86'401'500'000'000U);
  EXPECT_EQ(to_date_ns("2024-02-29T12:00:00"), 1'709'208'000'000'000'000U);
}

} // namespace
} // namespace iotrail::import
