// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer vfs: one known operation in a child, every field of its
// record.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <vector>

#include "kernel_fixture.hpp"

namespace iotrail::live {
namespace {

constexpr std::uint64_t kLargeFile = 0100000; // the kernel adds it for 64-bit programs

class KernelVfs : public KernelFileTest {
protected:
  void record(const std::function<int()>& body) {
    recording_ =
        Recording::among_others({.layers = {schema::Layer::syscall, schema::Layer::vfs}}, body);
    if (!recording_.refusal().empty())
      return;
    check_child_and_account();
  }

  // The only record of the file in `table`, with its header checked.
  Row one(const std::string& table) const { return one(table, file_); }
  Row one(const std::string& table, const std::filesystem::path& path) const {
    const std::vector<Row> rows = recording_.rows_of_file(table, path.native());
    EXPECT_EQ(rows.size(), 1U) << table;
    if (rows.size() != 1)
      return rows.empty() ? Row{} : rows.front();
    check_operation(rows.front());
    check_file(rows.front(), path);
    return rows.front();
  }

  void check_file(const Row& row, const std::filesystem::path& path) const {
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    const std::vector<Row> files = recording_.rows("files", "file", row.u("file"));
    ASSERT_EQ(files.size(), 1U);
    EXPECT_EQ(files[0].u("inode"), status.st_ino);
  }

  // Checks that `inner` belongs to the call and lies within its time.
  static void expect_within(const Row& inner, const Row& outer) {
    EXPECT_EQ(inner.u("op_id"), outer.u("op_id"));
    EXPECT_GE(inner.u("ts_ns"), outer.u("ts_ns"));
    EXPECT_LE(inner.u("ts_ns") + inner.u("duration_ns"), outer.u("ts_ns") + outer.u("duration_ns"));
  }

  struct Transfer {
    std::int64_t offset;
    std::uint64_t bytes;
    std::int64_t result;
    int flags;
  };
  void expect_transfer(const Row& row, const Transfer& expected) const {
    EXPECT_EQ(row.s("offset"), expected.offset);
    EXPECT_EQ(row.u("bytes_requested"), expected.bytes);
    EXPECT_EQ(row.s("result"), expected.result);
    EXPECT_EQ(row.u("flags") & ~kLargeFile, static_cast<std::uint64_t>(expected.flags));
  }

  char buffer_[8192] = {};
};

TEST_F(KernelVfs, vfs_read_at_a_position) {
  RECORD_EVENT("vfs_read", [&] {
    const int fd = ::open(file_.c_str(), O_RDONLY);
    return ::pread(fd, buffer_, 5000, 13000) == 3384 ? 0 : 1;
  });
  const Row row = one("vfs_read");
  expect_transfer(row, {.offset = 13000, .bytes = 5000, .result = 3384, .flags = O_RDONLY});
  expect_within(row, one("syscall_read"));
}

TEST_F(KernelVfs, vfs_read_where_the_descriptor_stands) {
  RECORD_EVENT("vfs_read", [&] {
    const int fd = ::open(file_.c_str(), O_RDWR | O_NOATIME);
    ::lseek(fd, 100, SEEK_SET);
    return ::read(fd, buffer_, 10) == 10 ? 0 : 1;
  });
  const Row row = one("vfs_read");
  expect_transfer(row, {.offset = 100, .bytes = 10, .result = 10, .flags = O_RDWR | O_NOATIME});
  expect_within(row, one("syscall_read"));
}

TEST_F(KernelVfs, vfs_read_of_a_vector_is_one_event) {
  RECORD_EVENT("vfs_read", [&] {
    const int fd = ::open(file_.c_str(), O_RDONLY);
    const iovec vector[] = {{buffer_, 100}, {buffer_, 200}, {buffer_, 300}};
    return ::preadv(fd, vector, 3, 50) == 600 ? 0 : 1;
  });
  const Row row = one("vfs_read");
  expect_transfer(row, {.offset = 50, .bytes = 600, .result = 600, .flags = O_RDONLY});
  expect_within(row, one("syscall_read"));
}

TEST_F(KernelVfs, vfs_read_that_fails) {
  RECORD_EVENT("vfs_read", [&] {
    const int fd = ::open(file_.c_str(), O_WRONLY);
    return ::read(fd, buffer_, 10) == -1 ? 0 : 1;
  });
  expect_transfer(one("vfs_read"), {.offset = 0, .bytes = 10, .result = -EBADF, .flags = O_WRONLY});
}

TEST_F(KernelVfs, vfs_read_of_a_pipe_has_no_position) {
  RECORD_EVENT("vfs_read", [&] {
    int ends[2];
    return ::pipe(ends) == 0 && ::write(ends[1], buffer_, 5) == 5 &&
                   ::read(ends[0], buffer_, 1000) == 5
               ? 0
               : 1;
  });
  const std::vector<Row> rows = recording_.rows("vfs_read", "bytes_requested", 1000);
  ASSERT_EQ(rows.size(), 1U);
  expect_transfer(rows[0],
                  {.offset = IOT_OFFSET_NONE, .bytes = 1000, .result = 5, .flags = O_RDONLY});
  EXPECT_TRUE(recording_.path(rows[0].u("file")).starts_with("pipe:["));
}

TEST_F(KernelVfs, vfs_write_at_a_position) {
  RECORD_EVENT("vfs_write", [&] {
    const int fd = ::open(file_.c_str(), O_RDWR);
    return ::pwrite(fd, buffer_, 300, 200) == 300 ? 0 : 1;
  });
  const Row row = one("vfs_write");
  expect_transfer(row, {.offset = 200, .bytes = 300, .result = 300, .flags = O_RDWR});
  expect_within(row, one("syscall_write"));
}

TEST_F(KernelVfs, vfs_write_of_a_vector_is_one_event) {
  RECORD_EVENT("vfs_write", [&] {
    const int fd = ::open(file_.c_str(), O_WRONLY);
    const iovec vector[] = {{buffer_, 1}, {buffer_, 20}, {buffer_, 300}};
    return ::writev(fd, vector, 3) == 321 ? 0 : 1;
  });
  const Row row = one("vfs_write");
  expect_transfer(row, {.offset = 0, .bytes = 321, .result = 321, .flags = O_WRONLY});
  expect_within(row, one("syscall_write"));
}

TEST_F(KernelVfs, vfs_write_that_appends_went_to_the_end) {
  RECORD_EVENT("vfs_write", [&] {
    const int fd = ::open(file_.c_str(), O_WRONLY | O_APPEND);
    return ::write(fd, buffer_, 24) == 24 ? 0 : 1;
  });
  expect_transfer(one("vfs_write"),
                  {.offset = kFileBytes, .bytes = 24, .result = 24, .flags = O_WRONLY | O_APPEND});
}

TEST_F(KernelVfs, vfs_open_that_creates) {
  const std::filesystem::path created = directory_ / "created";
  RECORD_EVENT("vfs_open", [&] {
    return ::open(created.c_str(), O_RDWR | O_CREAT | O_EXCL, 0640) >= 0 ? 0 : 1;
  });
  const Row row = one("vfs_open", created);
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_EQ(row.u("flags") & ~kLargeFile, static_cast<std::uint64_t>(O_RDWR | O_CREAT | O_EXCL));
  expect_within(row, one("syscall_open", created));
}

TEST_F(KernelVfs, vfs_open_that_fails) {
  const std::filesystem::path fifo = directory_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  RECORD_EVENT("vfs_open", [&] {
    return ::open(fifo.c_str(), O_WRONLY | O_NONBLOCK) == -1 ? 0 : 1; // no reader
  });
  const Row row = one("vfs_open", fifo);
  EXPECT_EQ(row.s("result"), -ENXIO);
  EXPECT_EQ(row.u("flags") & ~kLargeFile, static_cast<std::uint64_t>(O_WRONLY | O_NONBLOCK));
}

TEST_F(KernelVfs, vfs_fsync_of_all) {
  RECORD_EVENT("vfs_fsync", [&] { return ::fsync(::open(file_.c_str(), O_RDWR)); });
  const Row row = one("vfs_fsync");
  EXPECT_EQ(row.s("offset"), 0);
  EXPECT_EQ(row.s("end"), LLONG_MAX);
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_EQ(row.u("datasync"), 0U);
  expect_within(row, one("syscall_sync"));
}

TEST_F(KernelVfs, vfs_fsync_of_the_data_of_a_mapped_range) {
  RECORD_EVENT("vfs_fsync", [&] {
    const int fd = ::open(file_.c_str(), O_RDWR);
    void* memory = ::mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    auto* bytes = static_cast<char*>(memory);
    bytes[4096] = 1;
    return ::msync(bytes + 4096, 8192, MS_SYNC);
  });
  const Row row = one("vfs_fsync");
  EXPECT_EQ(row.s("offset"), 4096);
  EXPECT_EQ(row.s("end"), 4096 + 8192 - 1);
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_EQ(row.u("datasync"), 1U);
}

TEST_F(KernelVfs, vfs_fsync_inside_a_synchronous_write) {
  RECORD_EVENT("vfs_fsync", [&] {
    const int fd = ::open(file_.c_str(), O_WRONLY | O_DSYNC);
    return ::pwrite(fd, buffer_, 512, 1024) == 512 ? 0 : 1;
  });
  const Row row = one("vfs_fsync");
  EXPECT_EQ(row.s("offset"), 1024);
  EXPECT_EQ(row.s("end"), 1024 + 512 - 1);
  EXPECT_EQ(row.u("datasync"), 1U);
  const Row write = one("vfs_write");
  expect_transfer(write,
                  {.offset = 1024, .bytes = 512, .result = 512, .flags = O_WRONLY | O_DSYNC});
  expect_within(row, write);
}

// A second event in one call means a second file.
TEST_F(KernelVfs, a_stacked_file_system_shows_both_files) {
  const std::filesystem::path merged = directory_ / "merged";
  const std::filesystem::path lower = directory_ / "lower";
  for (const char* name : {"lower", "upper", "work", "merged"})
    std::filesystem::create_directory(directory_ / name);
  std::filesystem::copy(file_, lower / "file");
  const std::string layers = "lowerdir=" + lower.string() +
                             ",upperdir=" + (directory_ / "upper").string() +
                             ",workdir=" + (directory_ / "work").string();
  if (::getenv("IOTRAIL_VM") == nullptr)
    GTEST_SKIP() << "mounts a file system: in the emulated machine only";
  ASSERT_EQ(::mount("overlay", merged.c_str(), "overlay", 0, layers.c_str()), 0);
  record([&] {
    const int fd = ::open((merged / "file").c_str(), O_RDONLY);
    return ::pread(fd, buffer_, 1000, 96) == 1000 ? 0 : 1;
  });
  ::umount(merged.c_str());
  const std::vector<Row> calls = recording_.rows("syscall_read", "bytes_requested", 1000);
  ASSERT_EQ(calls.size(), 1U);
  std::vector<Row> rows = recording_.rows("vfs_read", "op_id", calls[0].u("op_id"));
  ASSERT_EQ(rows.size(), 2U);
  std::ranges::sort(rows, {}, [](const Row& row) { return row.u("ts_ns"); });
  EXPECT_EQ(rows[0].u("file"), calls[0].u("file"));
  EXPECT_NE(rows[1].u("file"), rows[0].u("file"));
  expect_within(rows[1], rows[0]);
  for (const Row& row : rows)
    expect_transfer(row, {.offset = 96,
                          .bytes = 1000,
                          .result = 1000,
                          .flags = static_cast<int>(row.u("flags") & ~kLargeFile)});
}

} // namespace
} // namespace iotrail::live
