// SPDX-License-Identifier: BSD-3-Clause
//
// Formats of tools that are not installed for tests, from lines and messages as those write them.
#include "import/import_test_support.hpp"

namespace iotrail::import {
namespace {

using MoreFormats = ImportTest;

// A field of protobuf: a number, or bytes behind their length.
std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7U)
    bytes += static_cast<char>(number | 0x80U);
  return bytes + static_cast<char>(number);
}
std::string field(std::uint32_t number, std::uint64_t value) {
  return varint(number << 3U) + varint(value);
}
std::string field(std::uint32_t number, const std::string& bytes) {
  return varint(number << 3U | 2U) + varint(bytes.size()) + bytes;
}

std::string octf(std::uint64_t sid, std::uint64_t at_ns, std::uint32_t kind,
                 const std::string& body) {
  const std::string message = field(1, field(1, sid) + field(2, at_ns)) + field(kind, body);
  return varint(message.size()) + message;
}

constexpr std::uint64_t kNvme = 271581184; // 259:0
const std::string kFile76 = field(1, kNvme + 2) + field(2, 76);

TEST_F(MoreFormats, octf_of_version_2) {
  const std::string root = field(1, kNvme + 2) + field(2, 2);
  const std::string first =
      octf(1, 10, 3,
           field(1, kNvme) + field(2, "nvme0n1") + field(3, 732585168) + field(4, "SSD")) +
      octf(2, 11, 6, field(1, kFile76) + field(2, root) + field(3, "000014.sst")) +
      octf(3, 100, 2,
           field(1, 1652296) + field(2, 256) + field(4, kNvme) + field(5, 2) + field(7, 1) +
               field(9, 999)) +
      octf(4, 101, 4, field(2, kFile76) + field(3, 8) + field(4, 241960) + field(5, 999));
  const std::string second =
      octf(5, 84000, 5, field(1, 1652296) + field(2, 256) + field(4, kNvme) + field(5, 999));
  const auto outcome = import({write("trace.1", second), write("trace.0", first + "\xff\xff\xff")});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  EXPECT_EQ(outcome->format->name, "octf");
  EXPECT_EQ(outcome->malformed, 1U);
  const auto done = rows("block_complete");
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].at("ts_ns"), 100);
  EXPECT_EQ(done[0].at("duration_ns"), 83900);
  EXPECT_EQ(done[0].at("bytes"), 131072);
  EXPECT_EQ(done[0].at("device"), IOT_DEVICE(259, 0));
  EXPECT_EQ(done[0].at("flags"), IOT_block_write | IOT_block_hint_fua);
  const auto queued = rows("block_queue");
  ASSERT_EQ(queued.size(), 1U);
  EXPECT_EQ(queued[0].at("offset"), 4096);
  EXPECT_EQ(queued[0].at("file_bytes"), 241960 * 512);
  EXPECT_EQ(queued[0].at("file"), done[0].at("file"));
  EXPECT_NE(queued[0].at("file"), 0);
  EXPECT_EQ(queued[0].at("io_class"), IOT_io_class_data);
}

// An I/O has no id: its number in the trace names it, and its sector its completion.
TEST_F(MoreFormats, octf_of_version_1) {
  const std::string events =
      octf(7, 100, 2, field(1, 64) + field(2, 8) + field(3, 22) + field(4, kNvme) + field(5, 1)) +
      octf(8, 101, 4, field(1, 7) + field(2, kFile76) + field(3, 0) + field(4, 80)) +
      octf(9, 500, 5, field(1, 64) + field(2, 8) + field(3, 1)) +
      octf(10, 600, 2, field(1, 0) + field(2, 0) + field(4, kNvme) + field(5, 2) + field(6, 1));
  const auto outcome = import({write("trace.0", events)});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  const auto done = rows("block_complete");
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].at("duration_ns"), 400);
  EXPECT_EQ(static_cast<std::int32_t>(done[0].at("error")), -EIO);
  EXPECT_NE(done[0].at("file"), 0);
  const auto queued = rows("block_queue");
  ASSERT_EQ(queued.size(), 2U);
  EXPECT_EQ(queued[0].at("io_class"), IOT_io_class_direct);
  EXPECT_EQ(queued[1].at("flags"), IOT_block_flush);
  EXPECT_EQ(queued[1].at("io_class"), IOT_io_class_no_data);
}

TEST_F(MoreFormats, biosnoop_lines_are_completions) {
  const auto outcome = import({write(
      "b", "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   QUE(ms) LAT(ms)\n"
           "0.000000    my prog        1950    xvda1     W 13092560   4096       0.01    0.74\n"
           "0.250000    kworker/0:1H   12      xvda1     R 8          8192       0.00   10.50\n"
           "oops\n")});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  EXPECT_EQ(outcome->malformed, 1U);
  const auto done = rows("block_complete");
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].at("duration_ns"), 740'000);
  EXPECT_EQ(done[0].at("queue_ns"), 10'000);
  EXPECT_EQ(done[0].at("sector"), 13092560);
  EXPECT_EQ(done[0].at("pid"), 1950);
  EXPECT_EQ(done[1].at("ts_ns") + done[1].at("duration_ns") - done[0].at("ts_ns") -
                done[0].at("duration_ns"),
            250'000'000);
  EXPECT_EQ(done[0].at("device"), done[1].at("device"));
}

TEST_F(MoreFormats, streams_of_iotrc_are_one_trace) {
  const std::string calls = write(
      "fs.csv",
      "timestamp,operation,pid,tid,command,filename,size,offset,bytes_completed,inode,device,flags,"
      "duration_ns,return_value,errno,mono_ns\n"
      "2026-01-01 00:00:01.000000,WRITE,7,8,cp,\"/a, \"\"b\"\"\",4096,512,100,12,8:1,,1000,100,0,"
      "1000001000\n"
      "2026-01-01 00:00:01.500000,FSYNC,7,8,cp,/a,,,,12,8:1,,2000,-5,EIO,1500000000\n"
      "2026-01-01 00:00:02.000000,WRITE,7\n");
  const std::string requests =
      write("block.csv",
            "timestamp,operation,pid,tid,command,sector,size,latency_ms,device,flags,cpu_id,"
            "ppid,queue_latency_ms,mono_ns\n"
            "2026-01-01 00:00:01.250000,write,7,8,cp,64,4096,0.5,8:0,sync,3,1,0.25,1250000000\n");
  const auto outcome = import({requests, calls});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  EXPECT_EQ(outcome->format->name, "iotrc");
  EXPECT_EQ(outcome->malformed, 1U);
  const auto writes = rows("vfs_write");
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].at("ts_ns"), 1'000'000'000);
  EXPECT_EQ(writes[0].at("offset"), 512);
  EXPECT_EQ(writes[0].at("result"), 100);
  EXPECT_EQ(rows("vfs_fsync").at(0).at("result"), -EIO);
  EXPECT_EQ(rows("vfs_fsync").at(0).at("file"), writes[0].at("file"));
  const auto done = rows("block_complete");
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].at("ts_ns"), 1'249'500'000);
  EXPECT_EQ(done[0].at("queue_ns"), 250'000);
  EXPECT_EQ(done[0].at("device"), IOT_DEVICE(8, 0));
}

TEST_F(MoreFormats, segments_of_darshan_have_ranks) {
  const auto outcome = import({write(
      "d",
      "# darshan log version: 3.41\n# exe: /opt/app in.nml\n# start_time: 1700000000\n"
      "# DXT, file_id: 16457598720760448348, file_name: /tmp/test\n"
      "# DXT, rank: 3, hostname: node\n"
      "# Module    Rank  Wt/Rd  Segment  Offset  Length    Start(s)      End(s)\n"
      " X_POSIX       3  write        0               64       262144      0.0029      0.0032\n"
      " X_POSIX       3  read         0               0       10      0.0050      0.0051  [OST: "
      "4]\n"
      " X_MPIIO       3  read         0               0       10      0.0050      0.0051\n"
      " X_POSIX       3  raed         0               0       10      0.0050      0.0051\n")});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  EXPECT_EQ(outcome->malformed, 1U);
  EXPECT_EQ(outcome->left_out.at("segments of MPI-IO"), 1U);
  const auto writes = rows("app_write");
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].at("ts_ns"), 2'900'000);
  EXPECT_EQ(writes[0].at("duration_ns"), 300'000);
  EXPECT_EQ(writes[0].at("offset"), 64);
  EXPECT_EQ(writes[0].at("pid"), 4);
  EXPECT_EQ(outcome->manifest.begin_real_ns(), 1'700'000'000'002'900'000);
}

TEST_F(MoreFormats, latencies_of_fio_are_calls) {
  const auto outcome = import(
      {write("j_lat.1.log", "9, 9405841, 0, 4096, 61440, 0\n89, 79126657, 1, 512, 774144, 0\n"
                            "90, 5\n")});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  EXPECT_EQ(outcome->malformed, 1U);
  EXPECT_EQ(rows("syscall_read").at(0).at("duration_ns"), 9405841);
  EXPECT_EQ(rows("syscall_read").at(0).at("offset"), 61440);
  EXPECT_EQ(rows("syscall_write").at(0).at("result"), 512);
}

TEST_F(MoreFormats, iologs_of_both_versions) {
  const auto third = import({write("a", "fio version 3 iolog\n10 f add\n10 f open\n"
                                        "15 f write 4096 512\n15 f read 0 512\n20 f datasync 0 0\n"
                                        "21 f close\n22 f wipe 0 1\n")});
  ASSERT_TRUE(third.has_value()) << third.error().message();
  EXPECT_EQ(third->malformed, 1U);
  EXPECT_EQ(rows("syscall_write").at(0).at("ts_ns"), 15'000);
  EXPECT_EQ(rows("syscall_read").at(0).at("ts_ns"), 15'001);
  EXPECT_EQ(rows("syscall_write").at(0).at("offset"), 4096);
  EXPECT_EQ(rows("syscall_sync").at(0).at("call"), IOT_syscall_fdatasync);
  const auto second = import({write("b", "fio version 2 iolog\nf add\nf open\nf read 0 512\n"
                                         "wait 7\nf read 512 512\n")});
  ASSERT_TRUE(second.has_value()) << second.error().message();
  const auto reads = rows("syscall_read");
  ASSERT_EQ(reads.size(), 2U);
  EXPECT_EQ(reads[1].at("ts_ns") - reads[0].at("ts_ns"), 7001);
}

TEST_F(MoreFormats, perf_lines_of_calls_and_requests) {
  const auto outcome = import({write(
      "p",
      "        my dd  12/13   [001]  5678.000001: syscalls:sys_enter_pread64: fd: 0x00000003, buf: "
      "0x7ffe, count: 0x00001000, pos: 0x00002000\n"
      "        my dd  12/13   [001]  5678.000002: block:block_bio_queue: 8,0 FWSM 2048 + 8 [my "
      "dd]\n"
      "        my dd  12/13   [001]  5678.000003: block:block_rq_issue: 8,0 FWSM 4096 () 2048 + 8 "
      "none,0,0 [my dd]\n"
      "      swapper     0    [000]  5678.000010: block:block_rq_complete: 8,0 FWSM () 2048 + 8 "
      "none,0,0 [-5]\n"
      "        my dd  12/13   [001]  5678.000020: syscalls:sys_exit_pread64: 0x1000\n"
      "noise\n")});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  EXPECT_EQ(outcome->format->name, "perf");
  EXPECT_EQ(outcome->malformed, 1U);
  const auto reads = rows("syscall_read");
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].at("duration_ns"), 19'000);
  EXPECT_EQ(reads[0].at("result"), 4096);
  EXPECT_EQ(reads[0].at("offset"), 8192);
  EXPECT_EQ(reads[0].at("pid"), 12);
  EXPECT_EQ(reads[0].at("tid"), 13);
  const auto done = rows("block_complete");
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].at("duration_ns"), 7000);
  EXPECT_EQ(static_cast<std::int32_t>(done[0].at("error")), -5);
  EXPECT_EQ(done[0].at("flags"),
            IOT_block_write | IOT_block_hint_preflush | IOT_block_hint_sync | IOT_block_hint_meta);
}

// An array, in the order of ends as some programs write it, with an event that is cut.
TEST_F(MoreFormats, chrome_spans_are_calls) {
  const auto outcome = import({write("t.json", R"(
[ {"ph":"M","name":"process_name","pid":7,"tid":0,"args":{"name":"my } db"}},
  {"ph":"X","name":"pwrite64","cat":"syscall","pid":7,"tid":8,"ts":1000.125,"dur":2.5,
   "args":{"path":"/a b","bytes":4096,"offset":8192,"fd":3}},
  {"ph":"B","name":"fsync","pid":7,"tid":8,"ts":1010,"args":{"path":"/a b"}},
  {"ph":"B","name":"parse","pid":7,"tid":8,"ts":1011},
  {"ph":"E","pid":7,"tid":8,"ts":1012},
  {"ph":"E","pid":7,"tid":8,"ts":1030.5,"args":{"error":-5}},
  {"ph":"C","name":"memory","pid":7,"ts":1,"args":{"x":1}},
  {"ph":"X","name":"read","pid":"x","tid":8,"ts":1},
  {"ph":"X","name":"read","pid":7,"tid":8,"ts":)")});
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
  EXPECT_EQ(outcome->format->name, "chrome-json");
  EXPECT_EQ(outcome->malformed, 2U);
  EXPECT_EQ(outcome->left_out.at("events that are no spans"), 1U);
  EXPECT_EQ(outcome->left_out.at("spans that are no calls on files"), 1U);
  const auto writes = rows("syscall_write");
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].at("ts_ns"), 1'000'125);
  EXPECT_EQ(writes[0].at("duration_ns"), 2500);
  EXPECT_EQ(writes[0].at("result"), 4096);
  EXPECT_EQ(writes[0].at("offset"), 8192);
  EXPECT_EQ(writes[0].at("fd"), 3);
  EXPECT_EQ(writes[0].at("tid"), 8);
  const auto syncs = rows("syscall_sync");
  ASSERT_EQ(syncs.size(), 1U);
  EXPECT_EQ(syncs[0].at("duration_ns"), 20'500);
  EXPECT_EQ(syncs[0].at("result"), -5);
  EXPECT_EQ(syncs[0].at("file"), writes[0].at("file"));
}

TEST_F(MoreFormats, chrome_events_are_in_a_member_or_on_lines) {
  const std::string first =
      R"({"ph":"X","name":"read","pid":1,"tid":1,"ts":5,"args":{"fhash":"ab","ret":7}})";
  const std::string name =
      R"({"ph":"M","name":"FH","pid":1,"tid":1,"args":{"name":"/data","value":"ab"}})";
  for (const std::string& text :
       {"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" + name + "," + first + "],\"x\":[{}]}",
        "[\n" + name + "\n" + first + "\n"}) {
    const auto outcome = import({write("t.json", text)});
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message();
    EXPECT_EQ(outcome->malformed, 0U);
    const auto reads = rows("syscall_read");
    ASSERT_EQ(reads.size(), 1U);
    EXPECT_EQ(reads[0].at("result"), 7);
    EXPECT_NE(reads[0].at("file"), 0);
  }
}

TEST_F(MoreFormats, perf_data_that_perf_cannot_read) {
  const auto outcome = import({write("perf.data", "PERFILE2 and nothing else")});
  ASSERT_FALSE(outcome.has_value());
  EXPECT_NE(outcome.error().hint.find("perf script"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(trace()));
}

} // namespace
} // namespace iotrail::import
