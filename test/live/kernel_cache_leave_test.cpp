// SPDX-License-Identifier: BSD-3-Clause
//
// Pages that leave the page cache: one test for each reason, with every page and field. Tests that
// take memory or pages from others run only in an emulated machine.
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <optional>
#include <thread>

#include "await.hpp"
#include "base/process.hpp"
#include "block_device.hpp"
#include "kernel_cache_fixture.hpp"
#include "mounted_file_system.hpp"
#include "small_group.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kChunkOfPages = 16 * kCachePageBytes;

bool write_pages(int fd, std::size_t pages) {
  const std::vector<char> page(kCachePageBytes, 'x');
  for (std::size_t done = 0; done < pages; ++done)
    if (::write(fd, page.data(), kCachePageBytes) != static_cast<ssize_t>(kCachePageBytes))
      return false;
  return true;
}

bool read_to_end(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, kChunkOfPages> chunk{};
  ssize_t bytes = 0;
  while ((bytes = ::read(file.get(), chunk.data(), chunk.size())) > 0) {
  }
  return bytes == 0;
}

// A file of this many pages, clean and not in memory.
bool make_cold_file(const std::string& path, std::size_t pages) {
  const Fd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  return write_pages(file.get(), pages) && evict(path);
}

class KernelCacheLeave : public KernelCache {
protected:
  void expect_reason(const std::vector<Row>& dropped, iot_value reason) const {
    for (const Row& row : dropped)
      EXPECT_EQ(row.u("reason"), static_cast<std::uint64_t>(reason));
  }
  // Checks that exactly these pages of the test's file left, in the one call in `table`.
  void expect_dropped(const Pages& pages, iot_value reason, const std::string& table) const {
    const std::vector<Row> dropped = rows("cache_delete");
    EXPECT_EQ(pages_of(dropped), pages);
    expect_reason(dropped, reason);
    const std::vector<Row> calls = rows(table);
    ASSERT_EQ(calls.size(), 1U);
    expect_under(dropped, calls[0]);
  }
};

TEST_F(KernelCacheLeave, cache_delete_by_truncation) {
  RECORD_EVENT("cache_delete", [&] { return ::ftruncate(fd_, 4 * kCachePageBytes); });
  expect_dropped(from_to(4, kPages), IOT_cache_reason_truncated, "syscall_truncate");
}

TEST_F(KernelCacheLeave, cache_delete_that_a_call_asks_for) {
  RECORD_EVENT("cache_delete", [&] { return ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED); });
  expect_dropped(from_to(0, kPages), IOT_cache_reason_asked, "syscall_advise");
}

TEST_F(KernelCacheLeave, cache_delete_by_direct_io) {
  const Fd direct(::open(file_.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC));
  if (direct.get() < 0)
    GTEST_SKIP() << "the file system has no direct I/O";
  alignas(kCachePageBytes) static char bytes[kFileBytes];
  RECORD_EVENT("cache_delete",
               [&] { return ::pwrite(direct.get(), bytes, kFileBytes, 0) == kFileBytes ? 0 : 1; });
  expect_dropped(from_to(0, kPages), IOT_cache_reason_direct, "syscall_write");
}

// A file deleted while open disappears with its last descriptor, after the call that closes it.
TEST_F(KernelCacheLeave, cache_delete_by_deletion) {
  const ScratchDirectory scratch;
  const MountedFileSystem mounted(scratch / "disk", scratch / "mounted");
  if (!mounted.refusal().empty())
    GTEST_SKIP() << mounted.refusal();
  const std::string closed = mounted / "closed";
  const std::string open = mounted / "open";
  RECORD_EVENT("cache_delete", [&] {
    for (const std::string& path : {closed, open}) {
      const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
      if (!write_pages(fd, kPages))
        return 1;
      if (path == closed)
        ::close(fd);
      if (::unlink(path.c_str()) != 0)
        return 1;
      if (path == open)
        ::close(fd);
    }
    return 0;
  });
  for (const std::string& path : {closed, open}) {
    const std::vector<Row> dropped = recording_.rows_of_file("cache_delete", path);
    EXPECT_EQ(pages_of(dropped), from_to(0, kPages)) << path;
    expect_reason(dropped, IOT_cache_reason_deleted);
    for (const Row& row : dropped)
      check_event(row);
  }
}

TEST_F(KernelCacheLeave, cache_delete_by_unmounting) {
  const ScratchDirectory scratch;
  const MountedFileSystem mounted(scratch / "disk", scratch / "mounted");
  if (!mounted.refusal().empty())
    GTEST_SKIP() << mounted.refusal();
  const std::string path = mounted / "file";
  RECORD_EVENT("cache_delete", [&] {
    const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (!write_pages(fd, kPages))
      return 1;
    ::close(fd);
    return ::umount((scratch / "mounted").c_str());
  });
  const std::vector<Row> dropped = recording_.rows_of_file("cache_delete", path);
  EXPECT_EQ(pages_of(dropped), from_to(0, kPages));
  expect_reason(dropped, IOT_cache_reason_released);
}

TEST_F(KernelCacheLeave, cache_delete_of_a_device) {
  const ScratchDirectory scratch;
  std::ofstream{scratch / "disk"}.close();
  std::filesystem::resize_file(scratch / "disk", 1U << 20U);
  const LoopDevice device(scratch / "disk", 512);
  if (!device.refusal().empty())
    GTEST_SKIP() << device.refusal();
  RECORD_EVENT("cache_delete", [&] {
    const int fd = ::open(device.path().c_str(), O_RDONLY | O_CLOEXEC);
    return ::pread(fd, buffer_, kCachePageBytes, 9 * kCachePageBytes) == kCachePageBytes
               ? ::ioctl(fd, BLKFLSBUF)
               : 1;
  });
  const std::vector<Row> flushes = recording_.rows("syscall_ioctl", "request", BLKFLSBUF);
  ASSERT_EQ(flushes.size(), 1U);
  const std::vector<Row> dropped = recording_.rows("cache_delete", "op_id", flushes[0].u("op_id"));
  EXPECT_TRUE(std::ranges::binary_search(pages_of(dropped), 9U));
  expect_under(dropped, flushes[0]);
  expect_reason(dropped, IOT_cache_reason_asked);
}

TEST_F(KernelCacheLeave, cache_delete_by_drop_caches) {
  if (!is_emulated())
    GTEST_SKIP() << "it would take the pages of others, so that it is tried in emulated machines";
  RECORD_EVENT("cache_delete", [&] { return write_text("/proc/sys/vm/drop_caches", "1") ? 0 : 1; });
  EXPECT_EQ(pages_of(rows("cache_delete")), from_to(0, kPages));
  expect_reason(rows("cache_delete"), IOT_cache_reason_asked);
}

std::uint64_t pages_with(const std::vector<Row>& dropped, iot_value reason) {
  std::uint64_t pages = 0;
  for (const Row& row : dropped)
    if (row.u("reason") == static_cast<std::uint64_t>(reason))
      pages += row.u("pages");
  return pages;
}

constexpr std::size_t kGroupPages = (16U << 20U) / kCachePageBytes;
constexpr std::size_t kReadPages = 4 * kGroupPages;
constexpr std::size_t kRingBytes = 64U << 20U; // for all events, even on a slow machine

// A recording of a large file. It takes so long that the tests of a fixture share one.
struct LargeFile {
  std::string path;
  Recording recording{};
  std::string refusal{};
};

LargeFile record_large_file(std::size_t pages,
                            const std::function<Recording(const std::string& path)>& record) {
  LargeFile file{.path = std::filesystem::current_path() / "kernel-large-XXXXXX"};
  const Fd made(::mkstemp(file.path.data()));
  if (make_cold_file(file.path, pages))
    file.recording = record(file.path);
  else
    file.refusal = "the file stays in memory";
  std::filesystem::remove(file.path);
  return file;
}

class KernelCacheOfLargeFile : public KernelTest {
protected:
  // Borrows the recording during the test, since a copy would take longer than the test.
  void look_at(const std::function<LargeFile()>& record_once) {
    if (!file_)
      file_ = record_once();
    if (!file_->refusal.empty())
      GTEST_SKIP() << file_->refusal;
    path_ = file_->path;
    std::swap(recording_, file_->recording);
    has_recording_ = true;
    if (recording_.refusal().empty()) {
      ASSERT_EQ(recording_.status(), 0) << "the child failed";
    }
  }
  void TearDown() override {
    if (has_recording_)
      std::swap(recording_, file_->recording);
  }
  static void TearDownTestSuite() { file_.reset(); }

  std::string path_;

private:
  bool has_recording_ = false;
  static inline std::optional<LargeFile> file_;
};

// The file is four times as large as its reader's memory and is read twice. The reader drops pages
// to make room, and reads them again.
class KernelCacheShortOfMemory : public KernelCacheOfLargeFile {
protected:
  void SetUp() override {
    look_at(record_once);
    if (!IsSkipped() && recording_.refusal().empty())
      check_account();
  }

  static LargeFile record_once() {
    const SmallGroup group{kGroupPages * kCachePageBytes};
    if (!group.refusal().empty())
      return {.path = {}, .refusal = group.refusal()};
    return record_large_file(kReadPages, [&](const std::string& path) {
      return Recording::of(
          {schema::Layer::syscall, schema::Layer::cache},
          [&] { return group.enter() && read_to_end(path) && read_to_end(path) ? 0 : 1; },
          kRingBytes);
    });
  }
};

TEST_F(KernelCacheShortOfMemory, cache_delete_by_the_task_that_needs_memory) {
  SKIP_UNLESS_SERVED(recording_, "cache_delete");
  const std::vector<Row> dropped = recording_.rows_of_file("cache_delete", path_);
  const std::uint64_t reclaimed = pages_with(dropped, IOT_cache_reason_reclaim);
  const std::uint64_t by_kswapd = pages_with(dropped, IOT_cache_reason_kswapd);
  EXPECT_GE(reclaimed + by_kswapd, 2 * kReadPages - kGroupPages);
  EXPECT_GE(reclaimed, kReadPages) << "kswapd has no part in the want of a control group";
  // khugepaged also frees memory of the group, for the reader's huge pages.
  const auto is_by_reader = [&](const Row& row) {
    return row.u("reason") == IOT_cache_reason_reclaim &&
           row.u("pid") == static_cast<std::uint64_t>(recording_.pid());
  };
  EXPECT_TRUE(std::ranges::any_of(dropped, is_by_reader));
  for (const Row& row : dropped)
    if (is_by_reader(row))
      check_event(row);
}

// Each page that was added a second time had been dropped before.
TEST_F(KernelCacheShortOfMemory, cache_refault_of_each_page_read_again) {
  SKIP_UNLESS_SERVED(recording_, "cache_refault");
  const Pages added = pages_of(recording_.rows_of_file("cache_add", path_));
  Pages again;
  for (std::size_t at = 1; at < added.size(); ++at)
    if (added[at] == added[at - 1])
      again.push_back(added[at]);
  const std::vector<Row> refaults = recording_.rows_of_file("cache_refault", path_);
  EXPECT_EQ(pages_of(refaults), again);
  EXPECT_GE(again.size(), kReadPages - kGroupPages);
  for (const Row& row : refaults) {
    check_event(row);
    EXPECT_NE(row.u("op_id"), 0U);
    EXPECT_EQ(row.u("working_set"), 0U) << "each page was read once before it was dropped";
  }
}

std::uint64_t available_bytes() {
  std::ifstream lines("/proc/meminfo");
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("MemAvailable:"))
      return std::strtoull(line.c_str() + std::string_view("MemAvailable:").size(), nullptr, 10)
             << 10U;
  return 0;
}

// Uses almost all memory of the machine, then reads a file that does not fit.
class KernelCacheKswapd : public KernelCacheOfLargeFile {
protected:
  void SetUp() override {
    if (!is_emulated())
      GTEST_SKIP() << "it would take memory from others, so that it is tried in emulated machines";
    look_at(record_once);
  }

  static LargeFile record_once() {
    return record_large_file(kPagesLeft * 2, [](const std::string& path) {
      return Recording::alone({.events = {"cache_add", "cache_delete", "memory_kswapd"}},
                              [&] { return read_with_little_memory(path); });
    });
  }

  // kswapd is reported when it goes to sleep. Before, it sleeps lightly for a tenth of a second.
  static bool has_slept(pid_t kswapd) {
    const pid_t wakes = status_value(kswapd, "voluntary_ctxt_switches:");
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return state_of(kswapd) == 'S' && status_value(kswapd, "voluntary_ctxt_switches:") == wakes;
  }
  static bool await_kswapd() {
    return std::ranges::all_of(running_processes(), [](const RunningProcess& process) {
      return !comm_of(process.pid).starts_with("kswapd") ||
             await([&] { return has_slept(process.pid); });
    });
  }

  static int read_with_little_memory(const std::string& path) {
    const std::size_t bytes = available_bytes() - kPagesLeft * kCachePageBytes;
    char* memory = static_cast<char*>(
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED)
      return 1;
    for (std::size_t at = 0; at < bytes; at += kCachePageBytes)
      memory[at] = 1;
    if (!read_to_end(path))
      return 1;
    ::munmap(memory, bytes);
    return await_kswapd() ? 0 : 1;
  }

  static constexpr std::size_t kPagesLeft = (160U << 20U) / kCachePageBytes;
};

TEST_F(KernelCacheKswapd, cache_delete_by_kswapd) {
  SKIP_UNLESS_SERVED(recording_, "cache_delete");
  std::vector<Row> dropped = recording_.rows_of_file("cache_delete", path_);
  EXPECT_GT(pages_with(dropped, IOT_cache_reason_kswapd), 0U)
      << pages_with(dropped, IOT_cache_reason_reclaim) << " of " << pages_of(dropped).size();
  for (const Row& row : dropped) {
    const bool is_kswapd = row.u("reason") == IOT_cache_reason_kswapd;
    EXPECT_TRUE(!is_kswapd || row.u("pid") != static_cast<std::uint64_t>(recording_.pid()));
    EXPECT_TRUE(is_kswapd || row.u("reason") == IOT_cache_reason_reclaim) << row.u("reason");
    EXPECT_TRUE(!is_kswapd || row.u("op_id") == 0);
  }
}

TEST_F(KernelCacheKswapd, memory_kswapd_frees_the_dropped_pages) {
  SKIP_UNLESS_SERVED(recording_, "memory_kswapd");
  std::uint64_t freed = 0;
  for (const Row& row : recording_.rows("memory_kswapd")) {
    EXPECT_EQ(row.u("op_id"), 0U);
    EXPECT_NE(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
    EXPECT_EQ(row.u("pid"), row.u("tid"));
    EXPECT_GT(row.u("duration_ns"), 0U);
    EXPECT_LE(row.u("pages"), row.u("pages_scanned"));
    EXPECT_LE(row.u("page_order"), 10U);
    EXPECT_EQ(row.u("node"), 0U);
    freed += row.u("pages");
  }
  EXPECT_GT(freed, 0U);
}

} // namespace
} // namespace iotrail::live
