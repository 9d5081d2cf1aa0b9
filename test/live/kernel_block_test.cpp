// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the block layer: direct writes of known size to a file, with exactly
// their bios and requests.

#include <linux/aio_abi.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "block_device.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kFileBlockBytes = 4096;
constexpr std::uint64_t kFileBlockSectors = kFileBlockBytes / 512;
constexpr int kBlockWrites = 64;
constexpr int kFileBlocks = 512;
constexpr int kAttempts = 5; // to make the kernel merge two writes
constexpr int kRounds = 8;   // to make the device return a request
constexpr std::uint64_t kBioOperation = 0xff;
constexpr std::uint64_t kRead = 0;
constexpr std::uint64_t kWrite = 1;
constexpr std::uint64_t kFlush = 2;

// The whole disk below a file system, in sysfs; empty: none, or a disk without requests.
std::filesystem::path disk_below(dev_t device) {
  std::error_code error;
  std::filesystem::path disk = std::filesystem::canonical(
      "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device)),
      error);
  if (error)
    return {};
  if (std::filesystem::exists(disk / "partition"))
    disk = disk.parent_path();
  return std::filesystem::exists(disk / "mq") ? disk : std::filesystem::path();
}

std::uint64_t bytes_of(const std::vector<Row>& rows) {
  std::uint64_t bytes = 0;
  for (const Row& row : rows)
    bytes += row.u("bytes");
  return bytes;
}

class KernelBlock : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "kernel-block-XXXXXX";
    const int fd = ::mkstemp(pattern.data());
    ASSERT_GE(fd, 0);
    file_ = pattern;
    buffer_.reset(static_cast<char*>(std::aligned_alloc(kFileBlockBytes, kFileBlockBytes)));
    std::fill_n(buffer_.get(), kFileBlockBytes, 'x');
    // Contiguous if the file system can; written, so that direct writes need no metadata.
    static_cast<void>(::fallocate(fd, 0, 0, kFileBlocks * static_cast<off_t>(kFileBlockBytes)));
    for (int index = 0; index < kFileBlocks; ++index)
      ASSERT_EQ(::write(fd, buffer_.get(), kFileBlockBytes), static_cast<ssize_t>(kFileBlockBytes));
    ASSERT_EQ(::fsync(fd), 0);
    ::close(fd);
    struct stat status{};
    ASSERT_EQ(::stat(file_.c_str(), &status), 0);
    disk_ = disk_below(status.st_dev);
  }
  void TearDown() override { std::filesystem::remove(file_); }

  void record(const std::function<int()>& body) {
    recording_ = Recording::with_missed_completions(
        {.layers = {schema::Layer::syscall, schema::Layer::async, schema::Layer::block}}, body);
    if (!recording_.refusal().empty())
      return;
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
    EXPECT_EQ(recording_.lost(), recording_.counter(IOT_COUNTER_kernel_completion_missed));
  }

  // Completions that the kernel did not report: docs/adr/0007.
  std::uint64_t missed() const { return recording_.counter(IOT_COUNTER_kernel_completion_missed); }

  // Directly writes kBlockWrites blocks of the file, in an order that prevents merging. 77: the
  // file system refuses.
  int write_directly() const {
    const int fd = ::open(file_.c_str(), O_WRONLY | O_DIRECT);
    if (fd < 0)
      return 77;
    for (int index = 0; index < kBlockWrites; ++index) {
      const auto block = static_cast<off_t>(index * 37 % kBlockWrites);
      if (::pwrite(fd, buffer_.get(), kFileBlockBytes,
                   block * static_cast<off_t>(kFileBlockBytes)) !=
          static_cast<ssize_t>(kFileBlockBytes))
        return 1;
    }
    return 0;
  }

  // Submits one direct operation for each block, all in one call, and waits for all. 77: the file
  // system refuses.
  int submit(std::uint16_t operation, const std::vector<int>& blocks) const {
    const int fd = ::open(file_.c_str(), O_RDWR | O_DIRECT);
    if (fd < 0)
      return 77;
    std::vector<iocb> operations(blocks.size());
    std::vector<iocb*> pointers;
    for (std::size_t at = 0; at < blocks.size(); ++at) {
      operations[at].aio_lio_opcode = operation;
      operations[at].aio_fildes = static_cast<std::uint32_t>(fd);
      operations[at].aio_buf = reinterpret_cast<std::uintptr_t>(buffer_.get());
      operations[at].aio_nbytes = kFileBlockBytes;
      operations[at].aio_offset = blocks[at] * static_cast<std::int64_t>(kFileBlockBytes);
      pointers.push_back(&operations[at]);
    }
    const auto count = static_cast<long>(blocks.size());
    aio_context_t context = 0;
    if (::syscall(SYS_io_setup, count, &context) != 0 ||
        ::syscall(SYS_io_submit, context, count, pointers.data()) != count)
      return 1;
    std::vector<io_event> done(blocks.size());
    if (::syscall(SYS_io_getevents, context, count, count, done.data(), nullptr) != count)
      return 1;
    const bool is_whole = std::ranges::all_of(
        done, [](const auto& event) { return event.res == std::int64_t{kFileBlockBytes}; });
    return ::syscall(SYS_io_destroy, context) == 0 && is_whole ? 0 : 1;
  }

  // Two adjacent blocks and a distant one: the kernel plugs its queue for three operations or more.
  int submit_neighbours() const { return submit(IOCB_CMD_PWRITE, {0, 1, kFileBlocks / 2}); }

  // The issued request with both adjacent blocks. None: the kernel merged nothing.
  std::optional<Row> joined_request() const {
    const std::vector<Row> issued = data_rows("block_issue", "async_operation");
    const auto found = std::ranges::find_if(
        issued, [](const Row& row) { return row.u("bytes") == 2 * kFileBlockBytes; });
    return found == issued.end() ? std::nullopt : std::optional(*found);
  }

  // Rows of the recorded program's data, without what the file system writes for itself.
  std::vector<Row> data_rows(const std::string& table,
                             const std::string& calls = "syscall_write") const {
    std::set<std::uint64_t> operations;
    for (const Row& row : recording_.rows(calls))
      operations.insert(row.u("op_id"));
    std::vector<Row> rows;
    for (const Row& row : recording_.rows(table))
      if (operations.contains(row.u("op_id")))
        rows.push_back(row);
    return rows;
  }

  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::filesystem::path file_;
  std::unique_ptr<char, Free> buffer_;
  std::filesystem::path disk_;
  Recording recording_;
};

#define RECORD_BIOS(...)                                                                           \
  do {                                                                                             \
    record(__VA_ARGS__);                                                                           \
    if (!recording_.refusal().empty())                                                             \
      GTEST_SKIP() << recording_.refusal();                                                        \
    if (WEXITSTATUS(recording_.status()) == 77)                                                    \
      GTEST_SKIP() << "the file system has no direct I/O";                                         \
    ASSERT_EQ(recording_.status(), 0);                                                             \
  } while (false)

TEST_F(KernelBlock, block_queue) {
  RECORD_BIOS([&] { return write_directly(); });
  const std::vector<Row> rows = data_rows("block_queue");
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(kBlockWrites)) << "one bio a write";
  std::set<std::uint64_t> sectors;
  for (const Row& row : rows) {
    EXPECT_EQ(row.u("bytes"), kFileBlockBytes);
    EXPECT_EQ(row.u("flags") & kBioOperation, 1U) << "a write";
    EXPECT_NE(row.u("flags") & IOT_block_hint_sync, 0U) << "a task waits";
    EXPECT_EQ(recording_.path(row.u("file")), file_);
    EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
    EXPECT_NE(row.u("bio"), 0U);
    EXPECT_TRUE(sectors.insert(row.u("sector")).second);
  }
}

TEST_F(KernelBlock, block_complete_adds_up_with_block_issue) {
  RECORD_BIOS([&] { return write_directly(); });
  const std::vector<Row> issued = data_rows("block_issue");
  const std::vector<Row> completed = data_rows("block_complete");
  EXPECT_EQ(bytes_of(issued), kFileBlockBytes * kBlockWrites);
  EXPECT_LE(bytes_of(completed), kFileBlockBytes * kBlockWrites);
  EXPECT_GE(bytes_of(completed) + missed() * kFileBlockBytes, kFileBlockBytes * kBlockWrites);
  for (const Row& row : issued) {
    EXPECT_GE(row.u("bios"), 1U);
    EXPECT_EQ(row.u("flags") & kBioOperation, 1U);
  }
  for (const Row& row : completed) {
    EXPECT_EQ(row.s("error"), 0);
    EXPECT_EQ(recording_.path(row.u("file")), file_);
    EXPECT_GT(row.u("duration_ns"), 0U);
    EXPECT_LT(row.u("queue_ns"), 10'000'000'000U);
    const auto issue = std::ranges::find_if(issued, [&](const Row& candidate) {
      return candidate.u("request") == row.u("request") && candidate.u("ts_ns") == row.u("ts_ns");
    });
    ASSERT_NE(issue, issued.end()) << "it starts when it was issued";
    EXPECT_EQ(issue->u("op_id"), row.u("op_id"));
    EXPECT_EQ(issue->u("device"), row.u("device"));
    EXPECT_EQ(issue->u("sector"), row.u("sector"));
    EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()))
        << "not the interrupted task";
  }
}

// A request for a flush carries no bio: it belongs to a call that waits for it.
TEST_F(KernelBlock, block_issue_and_complete_of_a_flush) {
  if (text_of(disk_ / "queue/write_cache") != "write back\n")
    GTEST_SKIP() << "no disk with a cache of its own below " << file_;
  constexpr int kSyncs = 20;
  RECORD_BIOS([&] {
    const int fd = ::open(file_.c_str(), O_RDWR);
    for (int index = 0; index < kSyncs; ++index)
      if (::pwrite(fd, buffer_.get(), kFileBlockBytes, 0) !=
              static_cast<ssize_t>(kFileBlockBytes) ||
          ::fdatasync(fd) != 0)
        return 1;
    return 0;
  });
  std::set<std::uint64_t> calls;
  for (const Row& call : recording_.rows("syscall_sync"))
    calls.insert(call.u("op_id"));
  const auto flushes = [&](const std::string& table) {
    return std::ranges::count_if(recording_.rows(table), [&](const Row& row) {
      return (row.u("flags") & kBioOperation) == kFlush && calls.contains(row.u("op_id"));
    });
  };
  EXPECT_GE(flushes("block_issue"),
            kSyncs); // other tasks' flushes may be among them if the disk has several queues
  EXPECT_GE(flushes("block_complete") + static_cast<std::ptrdiff_t>(missed()), kSyncs);
}

TEST_F(KernelBlock, each_bio_lies_within_the_call_that_caused_it) {
  RECORD_BIOS([&] { return write_directly(); });
  for (const Row& bio : data_rows("block_queue")) {
    const std::vector<Row> calls = recording_.rows("syscall_write", "op_id", bio.u("op_id"));
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_GE(bio.u("ts_ns"), calls[0].u("ts_ns"));
    EXPECT_LE(bio.u("ts_ns"), calls[0].u("ts_ns") + calls[0].u("duration_ns"));
  }
}

TEST_F(KernelBlock, devices_are_described) {
  RECORD_BIOS([&] { return write_directly(); });
  const std::vector<Row> rows = data_rows("block_queue");
  ASSERT_FALSE(rows.empty());
  const std::vector<Row> devices = recording_.rows("devices", "device", rows[0].u("device"));
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].u("parent_device"), devices[0].u("device")) << "events name whole disks";
  EXPECT_FALSE(devices[0].text("name").empty());
  EXPECT_GT(devices[0].u("bytes"), kFileBlockBytes * kBlockWrites);
  EXPECT_GE(devices[0].u("logical_block_bytes"), 512U);
}

TEST_F(KernelBlock, write_back_by_the_kernel_names_the_file) {
  RECORD_BIOS([&] {
    const int fd = ::open(file_.c_str(), O_WRONLY);
    for (int index = 0; index < kBlockWrites; ++index)
      if (::write(fd, buffer_.get(), kFileBlockBytes) != static_cast<ssize_t>(kFileBlockBytes))
        return 1;
    return ::fsync(fd);
  });
  std::uint64_t bytes = 0;
  for (const Row& row : recording_.rows("block_queue"))
    if (recording_.path(row.u("file")) == file_)
      bytes += row.u("bytes");
  EXPECT_EQ(bytes, kFileBlockBytes * kBlockWrites);
}

#define RECORD_JOINED_NEIGHBOURS()                                                                 \
  do {                                                                                             \
    if (disk_.empty())                                                                             \
      GTEST_SKIP() << "the file system lies on no disk that has requests";                         \
    for (int attempt = 0; attempt < kAttempts && !joined_request(); ++attempt)                     \
      RECORD_BIOS([&] { return submit_neighbours(); });                                            \
    if (!joined_request())                                                                         \
      GTEST_SKIP() << "the kernel joined no two writes: its queue does not, or the file is in "    \
                      "pieces";                                                                    \
  } while (false)

TEST_F(KernelBlock, block_merge) {
  RECORD_JOINED_NEIGHBOURS();
  const Row request = *joined_request();
  EXPECT_EQ(request.u("bios"), 2U);
  EXPECT_EQ(request.u("flags") & kBioOperation, kWrite);
  EXPECT_EQ(request.u("device"), device_number(disk_));
  const std::vector<Row> merges = data_rows("block_merge", "async_operation");
  ASSERT_EQ(merges.size(), 1U);
  const Row& merge = merges[0];
  EXPECT_EQ(merge.u("request"), 0U) << "a bio was joined";
  EXPECT_EQ(merge.u("sector"), request.u("sector") + kFileBlockSectors) << "the second one";
  EXPECT_EQ(merge.u("bytes"), kFileBlockBytes);
  EXPECT_EQ(merge.u("device"), device_number(disk_));
  EXPECT_EQ(merge.u("flags") & kBioOperation, kWrite);
  EXPECT_EQ(merge.u("merge"), static_cast<std::uint64_t>(IOT_merge_back));
  EXPECT_EQ(merge.u("parent_op"), request.u("parent_op")) << "one call submitted both";
  EXPECT_NE(merge.u("op_id"), request.u("op_id")) << "the request is the first one's";
  EXPECT_EQ(merge.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
  const std::vector<Row> queued = recording_.rows("block_queue", "bio", merge.u("bio"));
  ASSERT_EQ(queued.size(), 1U) << "the bio is one that was queued";
  EXPECT_EQ(queued[0].u("sector"), merge.u("sector"));
  EXPECT_LE(queued[0].u("ts_ns"), merge.u("ts_ns"));
  EXPECT_LE(merge.u("ts_ns"), request.u("ts_ns")) << "before the request went to the device";
}

TEST_F(KernelBlock, a_joined_request_completes_as_one) {
  RECORD_JOINED_NEIGHBOURS();
  const Row request = *joined_request();
  const std::vector<Row> completed = data_rows("block_complete", "async_operation");
  EXPECT_LE(bytes_of(completed), 3 * kFileBlockBytes);
  const auto whole = std::ranges::find_if(completed, [&](const Row& row) {
    return row.u("request") == request.u("request") && row.u("ts_ns") == request.u("ts_ns");
  });
  if (whole == completed.end()) {
    EXPECT_NE(missed(), 0U) << "missing and not counted";
    GTEST_SKIP() << "the kernel did not report the completion";
  }
  EXPECT_EQ(whole->u("sector"), request.u("sector"));
  EXPECT_EQ(whole->u("bytes"), 2 * kFileBlockBytes);
  EXPECT_EQ(whole->u("device"), device_number(disk_));
  EXPECT_EQ(whole->u("flags") & kBioOperation, kWrite);
  EXPECT_EQ(whole->s("error"), 0);
}

TEST_F(KernelBlock, block_insert) {
  RECORD_JOINED_NEIGHBOURS();
  if (text_of(disk_ / "queue/scheduler").find("[none]") != std::string::npos)
    GTEST_SKIP() << "the disk has no scheduler: requests go to it without a queue";
  const std::vector<Row> issued = data_rows("block_issue", "async_operation");
  const std::vector<Row> inserted = data_rows("block_insert", "async_operation");
  EXPECT_EQ(bytes_of(inserted), 3 * kFileBlockBytes);
  ASSERT_EQ(inserted.size(), 2U) << "the joined one and the one apart";
  for (const Row& row : inserted) {
    EXPECT_EQ(row.u("device"), device_number(disk_));
    EXPECT_EQ(row.u("flags") & kBioOperation, kWrite);
    EXPECT_NE(row.u("flags") & IOT_block_hint_sync, 0U) << "a task waits";
    EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
    const auto issue = std::ranges::find_if(
        issued, [&](const Row& candidate) { return candidate.u("request") == row.u("request"); });
    ASSERT_NE(issue, issued.end()) << "what is inserted is issued";
    EXPECT_EQ(issue->u("sector"), row.u("sector"));
    EXPECT_EQ(issue->u("bytes"), row.u("bytes"));
    EXPECT_EQ(issue->u("op_id"), row.u("op_id"));
    EXPECT_LE(row.u("ts_ns"), issue->u("ts_ns"));
  }
}

// Submits more requests than the disk takes at a time. None is adjacent to another, so that they
// cannot merge.
TEST_F(KernelBlock, block_requeue) {
  if (disk_.empty())
    GTEST_SKIP() << "the file system lies on no disk that has requests";
  std::vector<int> blocks;
  for (int block = 0; block < kFileBlocks; block += 2)
    blocks.push_back(block);
  RECORD_BIOS([&] {
    int failed = 0;
    for (int round = 0; round < kRounds && failed == 0; ++round)
      failed = submit(IOCB_CMD_PREAD, blocks);
    return failed;
  });
  const std::size_t reads = kRounds * blocks.size();
  const std::vector<Row> issued = data_rows("block_issue", "async_operation");
  const std::vector<Row> requeued = data_rows("block_requeue", "async_operation");
  const std::vector<Row> completed = data_rows("block_complete", "async_operation");
  ASSERT_EQ(data_rows("block_queue", "async_operation").size(), reads);
  EXPECT_EQ(issued.size(), reads + requeued.size()) << "what was sent back is issued again";
  EXPECT_LE(bytes_of(completed), reads * kFileBlockBytes) << "each is done once";
  EXPECT_GE(bytes_of(completed) + missed() * kFileBlockBytes, reads * kFileBlockBytes);
  if (requeued.empty())
    GTEST_SKIP() << "this device never sent a request back";
  for (const Row& row : requeued) {
    EXPECT_EQ(row.u("bytes"), kFileBlockBytes);
    EXPECT_EQ(row.u("device"), device_number(disk_));
    EXPECT_EQ(row.u("flags") & kBioOperation, kRead);
    EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
    const auto issues = [&](bool is_before) {
      return std::ranges::any_of(issued, [&](const Row& issue) {
        return issue.u("request") == row.u("request") && issue.u("sector") == row.u("sector") &&
               issue.u("op_id") == row.u("op_id") &&
               (issue.u("ts_ns") <= row.u("ts_ns")) == is_before;
      });
    };
    EXPECT_TRUE(issues(true)) << "it had been issued";
    EXPECT_TRUE(issues(false)) << "it was issued again";
  }
}

} // namespace
} // namespace iotrail::live
