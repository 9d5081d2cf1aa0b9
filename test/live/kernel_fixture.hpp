// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the tests of the kernel's layers: the recording of a child, and a file for it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "evict.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {

class KernelTest : public testing::Test {
protected:
  // Ends the preparation: recorded events happen from here on.
  void set_begin() { before_ns_ = monotonic_ns(); }

  // Checks that a permitted recording has lost nothing.
  void check_account() const {
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
    EXPECT_EQ(recording_.lost(), 0U);
  }
  void check_child_and_account() const {
    EXPECT_EQ(recording_.status(), 0) << "the child failed";
    check_account();
  }

  // Checks the fields that all records of the child share.
  void check_event(const Row& row) const {
    const auto pid = static_cast<std::uint64_t>(recording_.pid());
    EXPECT_EQ(row.u("pid"), pid);
    EXPECT_EQ(row.u("tid"), pid);
    EXPECT_GT(row.u("ts_ns"), before_ns_);
    EXPECT_LT(row.u("ts_ns"), monotonic_ns());
    EXPECT_LT(row.u("cpu"), static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  }
  void check_span(const Row& row) const {
    check_event(row);
    EXPECT_LT(row.u("ts_ns") + row.u("duration_ns"), monotonic_ns());
    EXPECT_GT(row.u("duration_ns"), 0U);
  }
  void check_operation(const Row& row) const {
    check_span(row);
    EXPECT_NE(row.u("op_id"), 0U);
  }

  std::uint64_t before_ns_ = 0;
  Recording recording_;
};

// Adds a directory with a file.
class KernelFileTest : public KernelTest {
protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "kernel-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    file_ = directory_ / "file";
    const int fd = ::open(file_.c_str(), O_CREAT | O_WRONLY, 0600);
    fill_file(fd);
    ::close(fd);
    set_begin();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  virtual void fill_file(int fd) const { ASSERT_EQ(::ftruncate(fd, kFileBytes), 0); }

  static constexpr std::size_t kFileBytes = 16384;
  std::filesystem::path directory_;
  std::filesystem::path file_;
};

// Adds an open file of this many pages, on the disk and in memory.
template <std::size_t kPageCount> class KernelPagesTest : public KernelTest {
protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "kernel-pages-XXXXXX";
    fd_ = ::mkstemp(pattern.data());
    ASSERT_GE(fd_, 0);
    file_ = pattern;
    const std::vector<char> bytes(kFileBytes, 'x');
    ASSERT_EQ(::write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(kFileBytes));
    ASSERT_EQ(::fsync(fd_), 0);
    set_begin();
  }
  void TearDown() override {
    ::close(fd_);
    std::filesystem::remove(file_);
  }

  void drop_pages() const { ASSERT_TRUE(evict(file_)); }

  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kPages = kPageCount;
  static constexpr std::size_t kFileBytes = kPages * kPageBytes;
  int fd_ = -1;
  std::filesystem::path file_;
};

} // namespace iotrail::live
