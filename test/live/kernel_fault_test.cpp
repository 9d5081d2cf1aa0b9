// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer fault: known accesses of a child to a mapped file, every
// field of the records.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <vector>

#include "kernel_fixture.hpp"

namespace iotrail::live {
namespace {

class KernelFault : public KernelPagesTest<64> {
protected:
  // None of the file's pages is in memory.
  void SetUp() override {
    KernelPagesTest::SetUp();
    drop_pages();
    memory_ = ::mmap(nullptr, kFileBytes + kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    ASSERT_EQ(::madvise(memory_, kFileBytes, MADV_RANDOM), 0); // only the touched pages
    set_begin();
  }
  void TearDown() override {
    ::munmap(memory_, kFileBytes + kPageBytes);
    KernelPagesTest::TearDown();
  }

  char* page(std::size_t number) const { return static_cast<char*>(memory_) + number * kPageBytes; }
  std::uint64_t address(std::size_t number) const {
    return reinterpret_cast<std::uintptr_t>(page(number));
  }

  void record(const std::function<int()>& body) {
    recording_ = Recording::among_others(
        {.layers = {schema::Layer::syscall, schema::Layer::cache, schema::Layer::fault}}, body);
    if (!recording_.refusal().empty())
      return;
    check_account();
  }

  // The file's faults in order of time; a repeated fault counts with its last attempt.
  std::vector<Row> faults() const {
    std::vector<Row> rows = recording_.rows_of_file("fault_file", file_.native());
    std::erase_if(rows, [](const Row& row) { return row.u("is_retried") != 0; });
    return rows;
  }

  void check(const Row& row, std::size_t number, std::size_t byte, iot_u64 access) const {
    check_event(row);
    EXPECT_NE(row.u("op_id"), 0U);
    EXPECT_GT(row.u("duration_ns"), 0U);
    EXPECT_EQ(row.u("address"), address(number) + byte);
    EXPECT_EQ(row.u("offset"), number * kPageBytes);
    EXPECT_EQ(row.u("access"), access);
    EXPECT_EQ(row.u("is_retried"), 0U);
  }

  void* memory_ = nullptr;
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
  // Either this fault or an earlier attempt added the page. That attempt waited for the disk.
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
    const bool is_written = ::pipe(ends) == 0 && ::write(ends[1], page(50), 10) == 10;
    // Iotrail does not record this call.
    ::syscall(SYS_sched_setaffinity, 0, sizeof(long), page(55));
    return is_written ? 0 : 1;
  });
  std::vector<Row> rows = recording_.rows_of_file("fault_page", file_.native());
  const auto same = [](const Row& one, const Row& other) {
    return one.u("index") == other.u("index");
  };
  // The kernel may look for a page again.
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
  ASSERT_EQ(rows.size(), 4U);
  for (const Row& row : rows)
    check_event(row);
  EXPECT_EQ(rows[0].u("index"), 9U);
  EXPECT_EQ(rows[0].u("address"), address(9) + 100);
  EXPECT_EQ(rows[0].u("access"), static_cast<std::uint64_t>(IOT_fault_access_read));
  EXPECT_EQ(rows[1].u("index"), 30U);
  EXPECT_EQ(rows[1].u("address"), address(30) + 7);
  EXPECT_EQ(rows[1].u("access"), static_cast<std::uint64_t>(IOT_fault_access_write));
  for (const std::size_t in_call : {2U, 3U}) {
    EXPECT_EQ(rows[in_call].u("index"), in_call == 2 ? 50U : 55U);
    EXPECT_EQ(rows[in_call].u("address"), 0U);
    EXPECT_EQ(rows[in_call].u("access"), static_cast<std::uint64_t>(IOT_fault_access_unknown));
  }
}

// If pages are in the cache, the kernel maps 16 at once, aligned to their size in memory.
TEST_F(KernelFault, fault_around_of_pages_in_the_cache) {
  constexpr std::uint64_t kAroundBytes = 16 * kPageBytes;
  std::vector<char> bytes(kFileBytes);
  ASSERT_EQ(::pread(fd_, bytes.data(), kFileBytes, 0), static_cast<ssize_t>(kFileBytes));
  RECORD_EVENT("fault_around", [&] {
    touch(page(9));
    return 0;
  });
  const std::vector<Row> rows = recording_.rows_of_file("fault_around", file_.native());
  ASSERT_EQ(rows.size(), 1U);
  check_event(rows[0]);
  const std::uint64_t first = rows[0].u("index");
  EXPECT_LE(first, 9U);
  EXPECT_GT(first + rows[0].u("pages"), 9U);
  EXPECT_LE(rows[0].u("pages"), kAroundBytes / kPageBytes);
  EXPECT_TRUE(first == 0 || address(first) % kAroundBytes == 0);
}

} // namespace
} // namespace iotrail::live
