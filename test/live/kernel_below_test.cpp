// SPDX-License-Identifier: BSD-3-Clause
//
// On every kernel, a lower layer sees what the calls ask for: calls and layer vfs have the same
// operations and bytes. A missing event below is a loss.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernel_fixture.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kBelowBlock = 4096;
constexpr int kDirectWrites = 4;
constexpr int kDirectRefused = 77; // the file system refuses direct I/O

class KernelBelow : public KernelFileTest {
protected:
  void record(const std::function<void(capture::SourceOptions&)>& choose,
              const std::function<int()>& body) {
    recording_ = Recording::of(
        [&](capture::SourceOptions& options, pid_t pid) {
          options.filter.tree_root = pid;
          choose(options);
        },
        body);
  }
  void record(const std::function<int()>& body) { record_without({}, body); }

  // As if a compiler had inlined the functions into all callers.
  void record_without(const std::vector<std::string>& hooks, const std::function<int()>& body) {
    record(
        [&](capture::SourceOptions& options) {
          options.filter.layers = {schema::Layer::syscall, schema::Layer::vfs};
          options.hooks_left_out = hooks;
        },
        body);
  }

  std::filesystem::path make_other() const {
    std::filesystem::path other = directory_ / "other";
    std::filesystem::copy_file(file_, other);
    return other;
  }

  // The loss has the id of the missing event.
  std::uint64_t bypassed(std::uint64_t event) const {
    EXPECT_EQ(recording_.lost(), recording_.counter(IOT_COUNTER_kernel_hook_bypassed));
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
    std::uint64_t count = 0;
    for (const Row& loss : recording_.rows("losses", "event", event))
      count += loss.u("events");
    EXPECT_EQ(count, recording_.lost());
    return count;
  }

  std::int64_t sum_of_results(const std::string& table, const Row& call) const {
    std::int64_t sum = 0;
    for (const Row& row : recording_.rows(table, "op_id", call.u("op_id")))
      sum += row.s("result");
    return sum;
  }
};

#define SKIP_BELOW_REFUSED(event)                                                                  \
  do {                                                                                             \
    if (!recording_.refusal().empty())                                                             \
      GTEST_SKIP() << recording_.refusal();                                                        \
    if (recording_.hook_of(event).hook.empty())                                                    \
      GTEST_SKIP() << recording_.hook_of(event).reason;                                            \
    ASSERT_EQ(recording_.status(), 0) << "the child failed";                                       \
  } while (false)

// The number of calls that the layer vfs must see once each.
constexpr std::size_t kVfsReads = 4;
constexpr std::size_t kVfsWrites = 7;
constexpr std::size_t kVfsSyncs = 7;

int use_every_way(const std::filesystem::path& path, const std::filesystem::path& other) {
  char bytes[64] = "some bytes";
  const iovec parts[2] = {{bytes, 16}, {bytes + 16, 16}};
  const int fd = ::open(path.c_str(), O_RDWR);
  const int synchronous = ::open(path.c_str(), O_WRONLY | O_SYNC);
  const int data_synchronous = ::open(path.c_str(), O_WRONLY | O_DSYNC);
  const int to = ::open(other.c_str(), O_WRONLY);
  if (fd < 0 || synchronous < 0 || data_synchronous < 0 || to < 0)
    return 1;
  bool is_good = ::read(fd, bytes, 8) == 8 && ::pread(fd, bytes, 8, 0) == 8 &&
                 ::readv(fd, parts, 2) == 32 && ::preadv2(fd, parts, 2, 0, 0) == 32;
  is_good &= ::pwrite(fd, bytes, 8, 0) == 8 && ::pwritev(fd, parts, 2, 64) == 32;
  is_good &= ::fsync(fd) == 0;
  is_good &= ::pwrite(fd, bytes, 8, 0) == 8 && ::fdatasync(fd) == 0;
  is_good &= ::write(synchronous, bytes, 8) == 8 && ::write(data_synchronous, bytes, 8) == 8;
  is_good &=
      ::pwritev2(fd, parts, 2, 0, RWF_DSYNC) == 32 && ::pwritev2(fd, parts, 2, 0, RWF_SYNC) == 32;
  void* const memory = ::mmap(nullptr, kBelowBlock, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  *static_cast<volatile char*>(memory) = 'm';
  is_good &= ::msync(memory, kBelowBlock, MS_SYNC) == 0;
  off_t from = 0;
  is_good &= ::sendfile(to, fd, &from, 32) == 32;
  return is_good ? 0 : 1;
}

TEST_F(KernelBelow, every_call_has_its_event) {
  const std::filesystem::path other = make_other();
  record([&] { return use_every_way(file_, other); });
  SKIP_BELOW_REFUSED("vfs_fsync");
  check_account();
  EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_hook_bypassed), 0U);
  EXPECT_EQ(recording_.rows_of_file("syscall_read", file_.native()).size(), kVfsReads);
  EXPECT_EQ(recording_.rows_of_file("vfs_read", file_.native()).size(), kVfsReads);
  EXPECT_EQ(recording_.rows_of_file("syscall_write", file_.native()).size(), kVfsWrites);
  EXPECT_EQ(recording_.rows_of_file("vfs_write", file_.native()).size(), kVfsWrites);
  EXPECT_EQ(recording_.rows_of_file("vfs_open", file_.native()).size(), 3U);
  EXPECT_EQ(recording_.rows_of_file("vfs_fsync", file_.native()).size(), kVfsSyncs);
  for (const Row& call : recording_.rows_of_file("syscall_sync", file_.native()))
    EXPECT_EQ(recording_.rows("vfs_fsync", "op_id", call.u("op_id")).size(), 1U) << call.u("call");
}

constexpr int kMoved = 32; // for each call

int move_between_files(const std::filesystem::path& path, const std::filesystem::path& other) {
  const int from = ::open(path.c_str(), O_RDONLY);
  const int to = ::open(other.c_str(), O_WRONLY);
  int ends[2];
  if (from < 0 || to < 0 || ::pipe(ends) != 0)
    return 1;
  off_t source = 0;
  off_t target = 0;
  bool is_good = ::sendfile(to, from, &source, kMoved) == kMoved;
  is_good &= ::copy_file_range(from, &source, to, &target, kMoved, 0) == kMoved;
  is_good &= ::splice(from, &source, ends[1], nullptr, kMoved, 0) == kMoved;
  is_good &= ::splice(ends[0], nullptr, to, &target, kMoved, 0) == kMoved;
  is_good &= ::sync_file_range(to, 0, kMoved, SYNC_FILE_RANGE_WRITE) == 0;
  return is_good && ::syncfs(to) == 0 ? 0 : 1;
}

// Since Linux 6.8 a splice from a pipe to a file passes no function of the layer vfs.
bool splices_by_vfs_write() {
  utsname kernel{};
  int major = 0;
  int minor = 0;
  ::uname(&kernel);
  return std::sscanf(kernel.release, "%d.%d", &major, &minor) == 2 &&
         std::pair(major, minor) < std::pair(6, 8);
}

TEST_F(KernelBelow, calls_between_files_have_their_events) {
  const std::filesystem::path other = make_other();
  record(
      [](capture::SourceOptions& options) {
        options.filter.events = {"syscall_copy", "syscall_sync", "vfs_write", "vfs_copy",
                                 "vfs_fsync"};
      },
      [&] { return move_between_files(file_, other); });
  SKIP_BELOW_REFUSED("vfs_copy");
  check_account();
  const std::vector<Row> calls = recording_.rows("syscall_copy");
  ASSERT_EQ(calls.size(), 4U);
  for (const Row& call : calls) {
    const bool is_copy = call.u("call") == IOT_syscall_copy_file_range;
    const bool is_to_pipe = recording_.path(call.u("out_file")).starts_with("pipe:[");
    const bool is_written = !is_to_pipe && splices_by_vfs_write();
    EXPECT_EQ(call.s("result"), kMoved);
    EXPECT_EQ(sum_of_results("vfs_copy", call), is_copy ? kMoved : 0) << call.u("call");
    EXPECT_EQ(sum_of_results("vfs_write", call), is_written ? kMoved : 0) << call.u("call");
  }
  // These write pages back, or a whole file system: neither is a fsync of the file.
  EXPECT_EQ(recording_.rows("syscall_sync").size(), 2U);
  EXPECT_TRUE(recording_.rows("vfs_fsync").empty());
}

int write_directly(const std::filesystem::path& path) {
  alignas(kBelowBlock) static const char block[kBelowBlock] = {};
  const int fd = ::open(path.c_str(), O_WRONLY | O_DIRECT);
  if (fd < 0)
    return kDirectRefused;
  for (int index = 0; index < kDirectWrites; ++index)
    if (::pwrite(fd, block, kBelowBlock, index * off_t{kBelowBlock}) !=
        static_cast<ssize_t>(kBelowBlock))
      return 1;
  return 0;
}

TEST_F(KernelBelow, a_direct_write_has_its_bytes) {
  record([this] { return write_directly(file_); });
  if (WEXITSTATUS(recording_.status()) == kDirectRefused)
    GTEST_SKIP() << "the file system takes no direct I/O";
  SKIP_BELOW_REFUSED("vfs_write");
  check_account();
  const std::vector<Row> calls = recording_.rows_of_file("syscall_write", file_.native());
  EXPECT_EQ(calls.size(), kDirectWrites);
  for (const Row& call : calls) {
    const std::vector<Row> writes = recording_.rows("vfs_write", "op_id", call.u("op_id"));
    ASSERT_EQ(writes.size(), 1U);
    EXPECT_EQ(writes[0].u("file"), call.u("file"));
    EXPECT_EQ(writes[0].s("offset"), call.s("offset"));
    EXPECT_EQ(writes[0].s("result"), static_cast<std::int64_t>(kBelowBlock));
    EXPECT_EQ(call.s("result"), static_cast<std::int64_t>(kBelowBlock));
    EXPECT_NE(writes[0].u("flags") & O_DIRECT, 0U);
  }
}

// The number of durable writes; each needs a fsync in the layer vfs.
constexpr std::size_t kDurableWrites = 4;

int write_durably(const std::filesystem::path& path) {
  char bytes[64] = {};
  const iovec part = {bytes, 16};
  const int fd = ::open(path.c_str(), O_WRONLY);
  const int synchronous = ::open(path.c_str(), O_WRONLY | O_SYNC);
  const int data_synchronous = ::open(path.c_str(), O_WRONLY | O_DSYNC);
  bool is_good =
      ::write(synchronous, bytes, 8) == 8 && ::pwrite(data_synchronous, bytes, 8, 0) == 8;
  is_good &= ::pwritev2(fd, &part, 1, 0, RWF_SYNC) == 16;
  is_good &= ::pwritev2(fd, &part, 1, 0, RWF_DSYNC) == 16;
  return is_good ? 0 : 1;
}

// Looks like a durable write, and needs no fsync below.
int write_without_sync(const std::filesystem::path& path) {
  char bytes[64] = {};
  const iovec part = {bytes, 16};
  const int fd = ::open(path.c_str(), O_WRONLY);
  const int synchronous = ::open(path.c_str(), O_WRONLY | O_SYNC);
  const int nothing = ::open("/dev/null", O_WRONLY | O_SYNC);
  const std::filesystem::path fifo = path.native() + ".fifo";
  ::mkfifo(fifo.c_str(), 0600);
  const int pipe = ::open(fifo.c_str(), O_RDWR | O_SYNC);
  const int memory = ::memfd_create("memory", 0);
  void* const nowhere = ::mmap(nullptr, kBelowBlock, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bool is_good = ::write(synchronous, bytes, 0) == 0 && ::write(nothing, bytes, 8) == 8;
  is_good &= ::write(pipe, bytes, 8) == 8 && ::pwritev2(memory, &part, 1, 0, RWF_SYNC) == 16;
  is_good &= ::pwritev2(fd, &part, 1, 0, 0) == 16 && ::write(fd, bytes, 8) == 8;
  is_good &= ::write(synchronous, nowhere, 8) == -1 && ::pwritev2(fd, &part, 0, 0, RWF_SYNC) == 0;
  return is_good ? 0 : 1;
}

TEST_F(KernelBelow, a_fsync_is_recorded_from_its_call_and_a_read_is_a_loss) {
  record_without({"vfs_read", "vfs_fsync", "vfs_fsync_range"}, [this] {
    char byte = 0;
    const int fd = ::open(file_.c_str(), O_RDWR);
    return ::pread(fd, &byte, 1, 0) == 1 && ::fdatasync(fd) == 0 && ::fsync(fd) == 0 ? 0 : 1;
  });
  SKIP_BELOW_REFUSED("vfs_read");
  EXPECT_TRUE(recording_.rows("vfs_read").empty());
  EXPECT_GE(bypassed(IOT_KIND_vfs_read), 1U);
  const std::vector<Row> syncs = recording_.rows_of_file("vfs_fsync", file_.native());
  ASSERT_EQ(syncs.size(), 2U);
  EXPECT_EQ(syncs[0].u("datasync"), 1U);
  EXPECT_EQ(syncs[1].u("datasync"), 0U);
}

TEST_F(KernelBelow, a_write_that_must_be_durable_needs_a_fsync) {
  record_without({"vfs_fsync", "vfs_fsync_range"}, [this] { return write_durably(file_); });
  SKIP_BELOW_REFUSED("vfs_read");
  EXPECT_EQ(bypassed(IOT_KIND_vfs_fsync), kDurableWrites);
}

TEST_F(KernelBelow, a_write_that_nothing_is_to_sync_needs_no_fsync) {
  record_without({"vfs_fsync", "vfs_fsync_range"}, [this] { return write_without_sync(file_); });
  SKIP_BELOW_REFUSED("vfs_read");
  EXPECT_EQ(bypassed(IOT_KIND_vfs_fsync), 0U);
}

TEST_F(KernelBelow, nothing_is_missed_where_all_is_hooked) {
  record([this] { return write_durably(file_) | write_without_sync(file_); });
  SKIP_BELOW_REFUSED("vfs_read");
  EXPECT_EQ(bypassed(IOT_KIND_vfs_fsync), 0U);
  EXPECT_EQ(recording_.rows_of_file("vfs_fsync", file_.native()).size(), kDurableWrites);
}

} // namespace
} // namespace iotrail::live
