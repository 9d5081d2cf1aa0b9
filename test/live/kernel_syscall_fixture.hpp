// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of the layer syscall share: a folder with a file of known contents, and the recording of a child.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {

class KernelSyscall : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "kernel-syscall-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    file_ = directory_ / "file";
    const int fd = ::open(file_.c_str(), O_CREAT | O_WRONLY, 0600);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::pwrite(fd, contents_, sizeof(contents_), 0),
              static_cast<ssize_t>(sizeof(contents_)));
    ::close(fd);
    before_ns_ = monotonic_ns();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // Records `body`; the test is skipped where the machine does not permit it.
  void record(const std::function<int()>& body) {
    recording_ = Recording::among_others({schema::Layer::syscall}, body);
    if (recording_.refusal().empty()) {
      EXPECT_EQ(recording_.status(), 0) << "the child failed";
      EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
      EXPECT_EQ(recording_.lost(), 0U);
    }
  }

  // The only record of `table` with this call; checks what all records have.
  Row one(const std::string& table, std::uint32_t call) {
    const std::vector<Row> rows = recording_.rows(table, "call", call);
    EXPECT_EQ(rows.size(), 1U) << table;
    if (rows.size() != 1)
      return {};
    check_header(rows.front());
    return rows.front();
  }

  void check_header(const Row& row) {
    const auto pid = static_cast<std::uint64_t>(recording_.pid());
    EXPECT_EQ(row.u("pid"), pid);
    EXPECT_EQ(row.u("tid"), pid);
    EXPECT_GT(row.u("ts_ns"), before_ns_);
    EXPECT_LT(row.u("ts_ns") + row.u("duration_ns"), monotonic_ns());
    EXPECT_GT(row.u("duration_ns"), 0U);
    EXPECT_NE(row.u("op_id"), 0U);
    EXPECT_LT(row.u("cpu"), static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  }

  std::string path_of(const Row& row, std::string_view column = "file") {
    return recording_.path(row.u(column));
  }
  std::string text_of(const Row& row, std::string_view column = "path") {
    return recording_.string(row.u(column));
  }

  std::filesystem::path directory_;
  std::filesystem::path file_;
  char contents_[10000] = {1, 2, 3};
  std::uint64_t before_ns_ = 0;
  Recording recording_;
};

// Records in the body of a test, which it leaves where the machine refuses.
#define RECORD(...)                                                                                \
  do {                                                                                             \
    record(__VA_ARGS__);                                                                           \
    if (!recording_.refusal().empty())                                                             \
      GTEST_SKIP() << recording_.refusal();                                                        \
  } while (false)

constexpr std::uint64_t u(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

} // namespace iotrail::live
