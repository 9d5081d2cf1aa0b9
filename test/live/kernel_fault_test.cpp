// SPDX-License-Identifier: BSD-3-Clause
//
// One test an event of the layer fault: known touches of a mapped file in a child, every field of the records.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <vector>

#include "base/clock.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPages = 64;
constexpr std::size_t kFileBytes = kPages * kPageBytes;

class KernelFault : public testing::Test {
protected:
  // None of the file's pages is in memory.
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "kernel-fault-XXXXXX";
    fd_ = ::mkstemp(pattern.data());
    ASSERT_GE(fd_, 0);
    file_ = pattern;
    const std::vector<char> bytes(kFileBytes, 'x');
    ASSERT_EQ(::write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(kFileBytes));
    ASSERT_EQ(::fsync(fd_), 0);
    ASSERT_EQ(::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED), 0);
    memory_ = ::mmap(nullptr, kFileBytes + kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    ASSERT_EQ(::madvise(memory_, kFileBytes, MADV_RANDOM), 0); // no pages but those touched
    before_ns_ = monotonic_ns();
  }
  void TearDown() override {
    ::munmap(memory_, kFileBytes + kPageBytes);
    ::close(fd_);
    std::filesystem::remove(file_);
  }

  char* page(std::size_t number) const { return static_cast<char*>(memory_) + number * kPageBytes; }
  std::uint64_t address(std::size_t number) const {
    return reinterpret_cast<std::uintptr_t>(page(number));
  }

  void record(const std::function<int()>& body) {
    recording_ = Recording::among_others(
        {schema::Layer::syscall, schema::Layer::cache, schema::Layer::fault}, body);
    if (!recording_.refusal().empty())
      return;
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
    EXPECT_EQ(recording_.lost(), 0U);
  }

  // Of the file, in order of time; what is tried again counts with its last try.
  std::vector<Row> faults() const {
    std::vector<Row> rows = recording_.rows_of_file("fault_file", file_.native());
    std::erase_if(rows, [](const Row& row) { return row.u("is_retried") != 0; });
    return rows;
  }

  void check_header(const Row& row) const {
    const auto pid = static_cast<std::uint64_t>(recording_.pid());
    EXPECT_EQ(row.u("pid"), pid);
    EXPECT_EQ(row.u("tid"), pid);
    EXPECT_GT(row.u("ts_ns"), before_ns_);
    EXPECT_LT(row.u("ts_ns"), monotonic_ns());
    EXPECT_LT(row.u("cpu"), static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  }

  void check(const Row& row, std::size_t number, std::size_t byte, iot_u64 access) const {
    check_header(row);
    EXPECT_NE(row.u("op_id"), 0U);
    EXPECT_GT(row.u("duration_ns"), 0U);
    EXPECT_EQ(row.u("address"), address(number) + byte);
    EXPECT_EQ(row.u("offset"), number * kPageBytes);
    EXPECT_EQ(row.u("access"), access);
    EXPECT_EQ(row.u("is_retried"), 0U);
  }

  int fd_ = -1;
  std::filesystem::path file_;
  void* memory_ = nullptr;
  std::uint64_t before_ns_ = 0;
  Recording recording_;
};

char touch(const volatile char* where) {
  return *where;
}

TEST_F(KernelFault, fault_file_read_from_the_disk_then_from_memory) {
  RECORD_EVENT("fault_file", [&] {
    touch(page(9) + 100);
    char* again = static_cast<char*>(::mmap(nullptr, kFileBytes, PROT_READ, MAP_SHARED, fd_, 0));
    return touch(again + 9 * kPageBytes) == 'x' ? 0 : 1;
  });
  const std::vector<Row> rows = faults();
  ASSERT_EQ(rows.size(), 2U);
  check(rows[0], 9, 100, IOT_fault_access_read);
  EXPECT_EQ(rows[0].s("result"), 0);
  EXPECT_EQ(rows[0].u("parent_op"), 0U);
  EXPECT_EQ(rows[1].u("offset"), 9 * kPageBytes);
  EXPECT_EQ(rows[1].u("major"), 0U);
  // Its page came under it, or under what was tried before it: then that is the one that waited for the disk.
  std::uint64_t major = 0;
  for (const Row& row : recording_.rows_of_file("fault_file", file_.native()))
    if (row.u("major") != 0) {
      ++major;
      EXPECT_EQ(row.u("address"), address(9) + 100);
      EXPECT_FALSE(recording_.rows("cache_add", "op_id", row.u("op_id")).empty());
    }
  EXPECT_GE(major, 1U);
}

TEST_F(KernelFault, fault_file_write) {
  RECORD_EVENT("fault_file", [&] {
    *static_cast<volatile char*>(page(3)) = 'y';
    return 0;
  });
  const std::vector<Row> rows = faults();
  ASSERT_EQ(rows.size(), 1U);
  check(rows[0], 3, 0, IOT_fault_access_write);
  EXPECT_EQ(rows[0].s("result"), 0);
  const std::vector<Row> dirtied = recording_.rows_of_file("cache_dirty", file_.native());
  ASSERT_EQ(dirtied.size(), 1U);
  EXPECT_EQ(dirtied[0].u("op_id"), rows[0].u("op_id"));
}

TEST_F(KernelFault, fault_file_of_the_kernel_inside_a_call) {
  RECORD_EVENT("fault_file", [&] {
    int ends[2];
    return ::pipe(ends) == 0 && ::write(ends[1], page(5), 10) == 10 ? 0 : 1;
  });
  const std::vector<Row> rows = faults();
  ASSERT_EQ(rows.size(), 1U);
  check(rows[0], 5, 0, IOT_fault_access_read);
  const auto calls = recording_.rows("syscall_write", "op_id", rows[0].u("parent_op"));
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].s("result"), 10);
}

TEST_F(KernelFault, fault_file_behind_the_end) {
  RECORD_EVENT("fault_file", [&] {
    if (const pid_t child = ::fork(); child == 0) {
      ::signal(SIGBUS, [](int) { ::_exit(7); });
      touch(page(kPages));
      ::_exit(0);
    }
    int status = 0;
    ::wait(&status);
    return WEXITSTATUS(status) == 7 ? 0 : 1;
  });
  EXPECT_EQ(recording_.status(), 0);
  const std::vector<Row> rows = faults();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].s("result"), -EFAULT);
  EXPECT_EQ(rows[0].u("offset"), kFileBytes);
}

TEST_F(KernelFault, fault_page_of_each_page_looked_for) {
  RECORD_EVENT("fault_page", [&] {
    touch(page(9) + 100);
    *static_cast<volatile char*>(page(30) + 7) = 'y';
    int ends[2];
    return ::pipe(ends) == 0 && ::write(ends[1], page(50), 10) == 10 ? 0 : 1;
  });
  std::vector<Row> rows = recording_.rows_of_file("fault_page", file_.native());
  const auto same = [](const Row& one, const Row& other) {
    return one.u("index") == other.u("index");
  };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end()); // a page is looked for again
  ASSERT_EQ(rows.size(), 3U);
  for (const Row& row : rows)
    check_header(row);
  EXPECT_EQ(rows[0].u("index"), 9U);
  EXPECT_EQ(rows[0].u("address"), address(9) + 100);
  EXPECT_EQ(rows[0].u("access"), static_cast<std::uint64_t>(IOT_fault_access_read));
  EXPECT_EQ(rows[1].u("index"), 30U);
  EXPECT_EQ(rows[1].u("address"), address(30) + 7);
  EXPECT_EQ(rows[1].u("access"), static_cast<std::uint64_t>(IOT_fault_access_write));
  EXPECT_EQ(rows[2].u("index"), 50U);
  EXPECT_EQ(rows[2].u("address"), 0U);
  EXPECT_EQ(rows[2].u("access"), static_cast<std::uint64_t>(IOT_fault_access_unknown));
}

} // namespace
} // namespace iotrail::live
