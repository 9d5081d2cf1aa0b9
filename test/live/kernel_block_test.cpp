// SPDX-License-Identifier: BSD-3-Clause
//
// One test an event of the block layer: direct writes of known size to a file, whose bios and requests must be theirs.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include "kernel_recording.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kBlockBytes = 4096;
constexpr int kWrites = 64;
constexpr std::uint64_t kOperationBits = 0xff;

class KernelBlock : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "kernel-block-XXXXXX";
    const int fd = ::mkstemp(pattern.data());
    ASSERT_GE(fd, 0);
    file_ = pattern;
    buffer_.reset(static_cast<char*>(std::aligned_alloc(kBlockBytes, kBlockBytes)));
    std::fill_n(buffer_.get(), kBlockBytes, 'x');
    for (int index = 0; index < kWrites; ++index)
      ASSERT_EQ(::write(fd, buffer_.get(), kBlockBytes), static_cast<ssize_t>(kBlockBytes));
    ASSERT_EQ(::fsync(fd), 0);
    ::close(fd);
    struct stat status{};
    ASSERT_EQ(::stat(file_.c_str(), &status), 0);
    device_ = static_cast<std::uint64_t>(major(status.st_dev)) << 20U | minor(status.st_dev);
  }
  void TearDown() override { std::filesystem::remove(file_); }

  void record(const std::function<int()>& body) {
    recording_ = Recording::of({schema::Layer::syscall, schema::Layer::block}, body);
    if (!recording_.refusal().empty())
      return;
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
    EXPECT_EQ(recording_.lost(), 0U);
  }

  // Writes every block of the file directly, in an order that cannot be merged. 77: the file system refuses.
  int write_directly() const {
    const int fd = ::open(file_.c_str(), O_WRONLY | O_DIRECT);
    if (fd < 0)
      return 77;
    for (int index = 0; index < kWrites; ++index) {
      const auto block = static_cast<off_t>(index * 37 % kWrites);
      if (::pwrite(fd, buffer_.get(), kBlockBytes, block * static_cast<off_t>(kBlockBytes)) !=
          static_cast<ssize_t>(kBlockBytes))
        return 1;
    }
    return 0;
  }

  // Of the recorded program's own data: not what the file system writes on its own account.
  std::vector<Row> data_rows(const std::string& table) const {
    std::set<std::uint64_t> operations;
    for (const Row& row : recording_.rows("syscall_write"))
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
  std::uint64_t device_ = 0;
  Recording recording_;
};

#define RECORD(...)                                                                                \
  do {                                                                                             \
    record(__VA_ARGS__);                                                                           \
    if (!recording_.refusal().empty())                                                             \
      GTEST_SKIP() << recording_.refusal();                                                        \
    if (WEXITSTATUS(recording_.status()) == 77)                                                    \
      GTEST_SKIP() << "the file system has no direct I/O";                                         \
    ASSERT_EQ(recording_.status(), 0);                                                             \
  } while (false)

TEST_F(KernelBlock, block_queue) {
  RECORD([&] { return write_directly(); });
  const std::vector<Row> rows = data_rows("block_queue");
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(kWrites)) << "one bio a write";
  std::set<std::uint64_t> sectors;
  for (const Row& row : rows) {
    EXPECT_EQ(row.u("bytes"), kBlockBytes);
    EXPECT_EQ(row.u("flags") & kOperationBits, 1U) << "a write";
    EXPECT_NE(row.u("flags") & IO_block_hint_sync, 0U) << "somebody waits";
    EXPECT_EQ(recording_.path(row.u("file")), file_);
    EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
    EXPECT_NE(row.u("bio"), 0U);
    EXPECT_TRUE(sectors.insert(row.u("sector")).second);
  }
}

TEST_F(KernelBlock, block_issue_and_complete_add_up) {
  RECORD([&] { return write_directly(); });
  const std::vector<Row> issued = data_rows("block_issue");
  const std::vector<Row> completed = data_rows("block_complete");
  const auto bytes_of = [](const std::vector<Row>& rows) {
    std::uint64_t bytes = 0;
    for (const Row& row : rows)
      bytes += row.u("bytes");
    return bytes;
  };
  EXPECT_EQ(bytes_of(issued), kBlockBytes * kWrites);
  EXPECT_EQ(bytes_of(completed), kBlockBytes * kWrites);
  for (const Row& row : issued) {
    EXPECT_GE(row.u("bios"), 1U);
    EXPECT_EQ(row.u("flags") & kOperationBits, 1U);
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
        << "not who was interrupted";
  }
}

TEST_F(KernelBlock, each_bio_lies_within_the_call_that_caused_it) {
  RECORD([&] { return write_directly(); });
  for (const Row& bio : data_rows("block_queue")) {
    const std::vector<Row> calls = recording_.rows("syscall_write", "op_id", bio.u("op_id"));
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_GE(bio.u("ts_ns"), calls[0].u("ts_ns"));
    EXPECT_LE(bio.u("ts_ns"), calls[0].u("ts_ns") + calls[0].u("duration_ns"));
  }
}

TEST_F(KernelBlock, devices_are_described) {
  RECORD([&] { return write_directly(); });
  const std::vector<Row> rows = data_rows("block_queue");
  ASSERT_FALSE(rows.empty());
  const std::vector<Row> devices = recording_.rows("devices", "device", rows[0].u("device"));
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].u("parent_device"), devices[0].u("device")) << "events name whole disks";
  EXPECT_FALSE(devices[0].text("name").empty());
  EXPECT_GT(devices[0].u("bytes"), kBlockBytes * kWrites);
  EXPECT_GE(devices[0].u("logical_block_bytes"), 512U);
}

TEST_F(KernelBlock, write_back_by_the_kernel_names_the_file) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_WRONLY);
    for (int index = 0; index < kWrites; ++index)
      if (::write(fd, buffer_.get(), kBlockBytes) != static_cast<ssize_t>(kBlockBytes))
        return 1;
    return ::fsync(fd);
  });
  std::uint64_t bytes = 0;
  for (const Row& row : recording_.rows("block_queue"))
    if (recording_.path(row.u("file")) == file_)
      bytes += row.u("bytes");
  EXPECT_EQ(bytes, kBlockBytes * kWrites);
}

} // namespace
} // namespace iotrail::live
