// SPDX-License-Identifier: BSD-3-Clause
//
// Read-ahead windows, as the kernel's rules predict them, on an ext4 of the test: its device has a
// known limit of 32 pages.
#include <sys/mman.h>

#include <set>

#include "kernel_cold_file_fixture.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kColdPages = 1024;

class KernelCacheReadahead : public KernelColdFileTest<kColdPages> {
protected:
  void SetUp() override {
    KernelColdFileTest::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    const std::filesystem::path limit =
        "/sys/block/" + system_->device().name() + "/bdi/read_ahead_kb";
    std::ofstream(limit) << 128 << std::flush;
  }

  // `body` gets the file's descriptor.
  void record(const std::function<int(int)>& body) {
    recording_ = Recording::among_others(
        {.events = {"syscall_read", "syscall_advise", "cache_add", "cache_readahead"}}, [&] {
          const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
          return fd < 0 ? 1 : body(fd);
        });
    if (!recording_.refusal().empty())
      return;
    check_child_and_account();
  }

  struct Window {
    std::uint64_t index, pages, begin, length, async_pages;
    iot_value trigger;
  };
  // Checks for these windows in this order, each within its call of the table. Together they cover
  // all added pages.
  void expect_windows(const std::vector<Window>& expected, const std::string& table) const {
    const std::vector<Row> windows = recording_.rows_of_file("cache_readahead", path_);
    const std::vector<Row> calls = recording_.rows_of_file(table, path_);
    ASSERT_EQ(windows.size(), expected.size());
    Pages pages;
    for (std::size_t number = 0; number < expected.size(); ++number) {
      SCOPED_TRACE(number);
      const Row& row = windows[number];
      const Window& window = expected[number];
      EXPECT_EQ(row.u("index"), window.index);
      EXPECT_EQ(row.u("pages"), window.pages);
      EXPECT_EQ(row.u("window_index"), window.begin);
      EXPECT_EQ(row.u("window_pages"), window.length);
      EXPECT_EQ(row.u("async_pages"), window.async_pages);
      EXPECT_EQ(row.u("page_order"), 0U);
      EXPECT_EQ(row.u("trigger"), static_cast<std::uint64_t>(window.trigger));
      EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
      EXPECT_GT(row.u("duration_ns"), 0U);
      std::ranges::copy(from_to(window.begin, window.begin + window.length),
                        std::back_inserter(pages));
      if (table.empty())
        continue;
      ASSERT_LT(number, calls.size());
      EXPECT_EQ(row.u("op_id"), calls[number].u("op_id"));
      EXPECT_GE(row.u("ts_ns"), calls[number].u("ts_ns"));
      EXPECT_LE(row.u("ts_ns") + row.u("duration_ns"),
                calls[number].u("ts_ns") + calls[number].u("duration_ns"));
    }
    std::ranges::sort(pages);
    EXPECT_EQ(pages_of(recording_.rows_of_file("cache_add", path_)), pages);
  }
};

#define RECORD_WINDOWS(...)                                                                        \
  do {                                                                                             \
    record(__VA_ARGS__);                                                                           \
    SKIP_UNLESS_SERVED(recording_, "cache_readahead");                                             \
  } while (false)

bool read_pages(int fd, std::size_t first, std::size_t count) {
  std::vector<char> bytes(count * kCachePageBytes);
  return ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(first * kCachePageBytes)) ==
         static_cast<ssize_t>(bytes.size());
}

TEST_F(KernelCacheReadahead, cache_readahead_grows_while_a_file_is_read_on) {
  RECORD_WINDOWS([](int fd) {
    return read_pages(fd, 0, 4) && read_pages(fd, 4, 4) && read_pages(fd, 8, 16) ? 0 : 1;
  });
  expect_windows({{0, 4, 0, 8, 4, IOT_read_ahead_miss},
                  {4, 4, 8, 16, 16, IOT_read_ahead_mark},
                  {8, 16, 24, 32, 32, IOT_read_ahead_mark}},
                 "syscall_read");
}

TEST_F(KernelCacheReadahead, cache_readahead_of_no_more_than_asked_at_random) {
  RECORD_WINDOWS([](int fd) {
    return read_pages(fd, 700, 1) && read_pages(fd, 300, 2) && read_pages(fd, 901, 1) ? 0 : 1;
  });
  expect_windows({{700, 1, 700, 1, 0, IOT_read_ahead_miss},
                  {300, 2, 300, 2, 0, IOT_read_ahead_miss},
                  {901, 1, 901, 1, 0, IOT_read_ahead_miss}},
                 "syscall_read");
}

TEST_F(KernelCacheReadahead, cache_readahead_ends_with_the_file) {
  RECORD_WINDOWS([](int fd) {
    std::vector<char> bytes(64 * kCachePageBytes);
    const off_t begin = (kColdPages - 10) * kCachePageBytes;
    return ::pread(fd, bytes.data(), bytes.size(), begin) == 10 * kCachePageBytes ? 0 : 1;
  });
  expect_windows({{kColdPages - 10, 64, kColdPages - 10, 10, 0, IOT_read_ahead_miss}},
                 "syscall_read");
}

TEST_F(KernelCacheReadahead, cache_readahead_that_a_call_asks_for) {
  RECORD_WINDOWS([](int fd) {
    return ::posix_fadvise(fd, 128 * kCachePageBytes, 24 * kCachePageBytes, POSIX_FADV_WILLNEED);
  });
  expect_windows({{128, 24, 128, 24, 0, IOT_read_ahead_advice}}, "syscall_advise");
}

TEST_F(KernelCacheReadahead, cache_readahead_around_memory_that_is_touched) {
  RECORD_WINDOWS([](int fd) {
    const char* memory = static_cast<const char*>(
        ::mmap(nullptr, kColdPages * kCachePageBytes, PROT_READ, MAP_SHARED, fd, 0));
    return memory != MAP_FAILED && memory[200 * kCachePageBytes] == 'x' ? 0 : 1;
  });
  expect_windows({{184, 1, 184, 32, 8, IOT_read_ahead_mapped}}, "");
}

} // namespace
} // namespace iotrail::live
