// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the tests of the layer syscall: a file of known contents, and the recording of a child.
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

#include "kernel_fixture.hpp"

namespace iotrail::live {

class KernelSyscall : public KernelFileTest {
protected:
  void fill_file(int fd) const override {
    ASSERT_EQ(::pwrite(fd, contents_, sizeof(contents_), 0),
              static_cast<ssize_t>(sizeof(contents_)));
  }

  // Records `body`. RECORD skips the test if the machine refuses.
  void record(const std::function<int()>& body) {
    recording_ = Recording::among_others({.layers = {schema::Layer::syscall}}, body);
    if (recording_.refusal().empty())
      check_child_and_account();
  }

  // The only record of `table` with this call. Checks the fields that all records share.
  Row one(const std::string& table, std::uint32_t call) {
    const std::vector<Row> rows = recording_.rows(table, "call", call);
    EXPECT_EQ(rows.size(), 1U) << table;
    if (rows.size() != 1)
      return {};
    check_operation(rows.front());
    return rows.front();
  }

  std::string path_of(const Row& row, std::string_view column = "file") {
    return recording_.path(row.u(column));
  }
  std::string text_of(const Row& row, std::string_view column = "path") {
    return recording_.string(row.u(column));
  }

  char contents_[10000] = {1, 2, 3};
};

// In the body of a test: records, and skips the test if the machine refuses.
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
