// SPDX-License-Identifier: BSD-3-Clause
//
// Operations: what an event is charged to must not depend on which events are recorded, and what a layer must have seen
// is seen on every kernel.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "bystander.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr int kWrites = 20;
constexpr int kOpRefused = 77; // the file system takes no direct I/O
constexpr std::uint64_t kUnfinished = static_cast<std::uint64_t>(std::int64_t{IOT_UNFINISHED});

class KernelOp : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "kernel-op-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    file_ = make_file("file", kWrites * kBlock);
    buffer_.reset(static_cast<char*>(std::aligned_alloc(kBlock, kBlock)));
    std::fill_n(buffer_.get(), kBlock, 'x');
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path make_file(const char* name, std::size_t bytes) const {
    const std::filesystem::path path = directory_ / name;
    const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
    const std::string text(bytes, 'y');
    EXPECT_EQ(::write(fd, text.data(), bytes), static_cast<ssize_t>(bytes));
    EXPECT_EQ(::fsync(fd), 0);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
    return path;
  }

  // In places that cannot be merged.
  int write_directly(const std::filesystem::path& path) const {
    const int fd = ::open(path.c_str(), O_WRONLY | O_DIRECT);
    if (fd < 0)
      return kOpRefused;
    for (int index = 0; index < kWrites; ++index)
      if (::pwrite(fd, buffer_.get(), kBlock, index * 7 % kWrites * off_t{kBlock}) !=
          static_cast<ssize_t>(kBlock))
        return 1;
    return 0;
  }

  Recording record(const std::function<void(capture::SourceOptions&)>& choose,
                   const std::function<int()>& body) const {
    return Recording::of(
        [&](capture::SourceOptions& options, pid_t pid) {
          options.filter.tree_root = pid;
          choose(options);
        },
        body);
  }

  void expect_completions_to_know(const Recording& recording) const {
    EXPECT_EQ(recording.produced(), recording.written() + recording.lost());
    const std::vector<Row> rows = recording.rows_of_file("block_complete", file_.native());
    const std::uint64_t missed = recording.counter(IOT_COUNTER_kernel_completion_missed);
    std::set<std::uint64_t> operations;
    for (const Row& row : rows)
      operations.insert(row.u("op_id"));
    EXPECT_FALSE(operations.contains(0));
    EXPECT_GE(operations.size() + missed, static_cast<std::size_t>(kWrites));
  }

  std::filesystem::path directory_;
  std::filesystem::path file_;
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> buffer_;
};

#define SKIP_REFUSED(recording)                                                                    \
  do {                                                                                             \
    if (!(recording).refusal().empty())                                                            \
      GTEST_SKIP() << (recording).refusal();                                                       \
    if (WEXITSTATUS((recording).status()) == kOpRefused)                                           \
      GTEST_SKIP() << "the file system takes no direct I/O";                                       \
    ASSERT_EQ((recording).status(), 0) << "the child failed";                                      \
  } while (false)

TEST_F(KernelOp, block_events_alone_know_their_operation_and_file) {
  const Recording recording = record(
      [](capture::SourceOptions& options) { options.filter.layers = {schema::Layer::block}; },
      [this] { return write_directly(file_); });
  SKIP_REFUSED(recording);
  EXPECT_TRUE(recording.rows("syscall_write").empty());
  expect_completions_to_know(recording);
}

TEST_F(KernelOp, one_event_of_two_layers_each_knows_its_operation) {
  const Recording recording = record(
      [](capture::SourceOptions& options) {
        options.filter.layers = {schema::Layer::syscall, schema::Layer::block};
        options.filter.events = {"block_complete", "syscall_open"};
      },
      [this] { return write_directly(file_); });
  SKIP_REFUSED(recording);
  EXPECT_TRUE(recording.rows("syscall_write").empty());
  EXPECT_EQ(recording.rows_of_file("syscall_open", file_.native()).size(), 1U);
  expect_completions_to_know(recording);
}

TEST_F(KernelOp, a_request_is_charged_to_the_call_that_asked_for_it) {
  const Recording recording = record(
      [](capture::SourceOptions& options) {
        options.filter.layers = {schema::Layer::syscall, schema::Layer::block};
      },
      [this] { return write_directly(file_); });
  SKIP_REFUSED(recording);
  expect_completions_to_know(recording);
  for (const Row& row : recording.rows_of_file("block_complete", file_.native())) {
    const auto calls = recording.rows("syscall_write", "op_id", row.u("op_id"));
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls.front().u("parent_op"), 0U);
  }
}

// Leaves a child that waits for a pipe when the recording stops.
int leave_a_reader_that_waits() {
  int ends[2];
  if (::pipe(ends) != 0)
    return 1;
  if (::fork() == 0) {
    ::alarm(20); // it lives as long as somebody may look
    char byte = 0;
    ::_exit(static_cast<int>(::read(ends[0], &byte, 1)));
  }
  ::usleep(200'000);
  return 0;
}

// The only event in `table` that did not end.
Row unfinished_one(const Recording& recording, const std::string& table) {
  EXPECT_EQ(recording.produced(), recording.written() + recording.lost());
  const std::vector<Row> rows = recording.rows(table, "result", kUnfinished);
  EXPECT_EQ(rows.size(), 1U) << table;
  if (rows.size() != 1)
    return {};
  EXPECT_NE(rows.front().u("pid"), static_cast<std::uint64_t>(recording.pid()));
  EXPECT_NE(rows.front().u("op_id"), 0U);
  EXPECT_GT(rows.front().u("duration_ns"), 100'000'000U);
  return rows.front();
}

TEST_F(KernelOp, a_call_that_hangs_is_recorded_when_the_recording_stops) {
  const Recording recording = record(
      [](capture::SourceOptions& options) { options.filter.layers = {schema::Layer::syscall}; },
      leave_a_reader_that_waits);
  SKIP_REFUSED(recording);
  EXPECT_EQ(unfinished_one(recording, "syscall_read").u("call"), std::uint64_t{IOT_syscall_read});
}

TEST_F(KernelOp, what_hangs_below_the_calls_is_recorded_when_the_recording_stops) {
  const Recording recording =
      record([](capture::SourceOptions& options) { options.filter.layers = {schema::Layer::vfs}; },
             leave_a_reader_that_waits);
  SKIP_REFUSED(recording);
  const Row read = unfinished_one(recording, "vfs_read");
  EXPECT_EQ(read.u("bytes_requested"), 1U);
  EXPECT_EQ(read.s("offset"), IOT_OFFSET_NONE);
  EXPECT_NE(read.u("file"), 0U);
}

// Calls that the layer vfs must have seen, each once, and how often data was asked to reach the device.
constexpr std::size_t kReads = 4;
constexpr std::size_t kVfsWrites = 5;
constexpr std::size_t kSyncs = 6;

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
  is_good &= ::pwritev2(fd, parts, 2, 0, RWF_DSYNC) == 32;
  void* const memory = ::mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  *static_cast<volatile char*>(memory) = 'm';
  is_good &= ::msync(memory, kBlock, MS_SYNC) == 0;
  off_t from = 0;
  is_good &= ::sendfile(to, fd, &from, 32) == 32;
  return is_good ? 0 : 1;
}

TEST_F(KernelOp, every_call_has_its_event_of_the_layer_below) {
  const std::filesystem::path other = make_file("other", kBlock);
  const Recording recording = record(
      [](capture::SourceOptions& options) {
        options.filter.layers = {schema::Layer::syscall, schema::Layer::vfs};
      },
      [&] { return use_every_way(file_, other); });
  SKIP_REFUSED(recording);
  if (recording.hook_of("vfs_fsync").hook.empty())
    GTEST_SKIP() << recording.hook_of("vfs_fsync").reason;
  EXPECT_EQ(recording.counter(IOT_COUNTER_kernel_hook_bypassed), 0U);
  EXPECT_EQ(recording.lost(), 0U);
  EXPECT_EQ(recording.rows_of_file("syscall_read", file_.native()).size(), kReads);
  EXPECT_EQ(recording.rows_of_file("vfs_read", file_.native()).size(), kReads);
  EXPECT_EQ(recording.rows_of_file("syscall_write", file_.native()).size(), kVfsWrites + 1);
  EXPECT_EQ(recording.rows_of_file("vfs_write", file_.native()).size(), kVfsWrites + 1);
  EXPECT_EQ(recording.rows_of_file("vfs_open", file_.native()).size(), 3U);
  EXPECT_EQ(recording.rows_of_file("vfs_fsync", file_.native()).size(), kSyncs);
  for (const Row& call : recording.rows_of_file("syscall_sync", file_.native()))
    EXPECT_EQ(recording.rows("vfs_fsync", "op_id", call.u("op_id")).size(), 1U) << call.u("call");
}

// As where an interrupt runs no program (docs/adr/0007): none may be taken for a request that the device has not answered.
TEST_F(KernelOp, a_completion_that_the_kernel_does_not_tell_is_a_loss) {
  const Recording recording = record(
      [](capture::SourceOptions& options) {
        options.filter.layers = {schema::Layer::block};
        options.hooks_left_out = {"block_rq_complete"};
      },
      [this] { return write_directly(file_); });
  SKIP_REFUSED(recording);
  // The bio ends, and the program goes on, before the kernel lets go of the request: the last one may look in flight.
  const std::size_t in_flight = recording.rows("block_complete").size();
  EXPECT_LE(in_flight, 1U);
  EXPECT_EQ(recording.counter(IOT_COUNTER_kernel_completion_missed) + in_flight,
            recording.rows("block_issue").size());
  EXPECT_EQ(recording.produced(), recording.written() + recording.lost());
}

// Bios lie where those before them lay. Of the program there is one request a write, and none of somebody else's.
TEST_F(KernelOp, a_bio_where_one_lay_whose_end_was_not_told_is_not_its_owners) {
  const std::filesystem::path others = make_file("others", kWrites * kBlock);
  Bystander bystander([&] {
    int result = 0;
    for (int round = 0; round < 10; ++round)
      result |= write_directly(others);
    return result;
  });
  const Recording recording = record(
      [](capture::SourceOptions& options) {
        options.filter.layers = {schema::Layer::block};
        options.hooks_left_out = {"block_rq_complete"};
      },
      [&] {
        const int result = write_directly(file_);
        return result ? result : !bystander.work();
      });
  SKIP_REFUSED(recording);
  EXPECT_EQ(recording.rows("block_issue").size() - recording.rows("block_requeue").size(),
            recording.rows("block_queue").size());
  EXPECT_EQ(recording.rows("block_queue").size(), kWrites);
}

// A program that the verifier refuses looks like a hook that the kernel does not allow.
TEST_F(KernelOp, no_program_is_refused_by_the_verifier) {
  const Recording recording = record([](capture::SourceOptions&) {}, [] { return 0; });
  SKIP_REFUSED(recording);
  for (const schema::Event& event : schema::kEvents) {
    const std::string& reason = recording.hook_of(event.name).reason;
    for (const char* error : {"EINVAL", "EACCES", "E2BIG", "ENOSPC"})
      EXPECT_EQ(reason.find(error), reason.npos) << event.name << ": " << reason;
  }
}

// Each way to write that must be durable, and how often it was asked for by a fsync that the layer vfs is to see.
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

// What looks like it, and asks for nothing below.
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
  void* const nowhere = ::mmap(nullptr, kBlock, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bool is_good = ::write(synchronous, bytes, 0) == 0 && ::write(nothing, bytes, 8) == 8;
  is_good &= ::write(pipe, bytes, 8) == 8 && ::pwritev2(memory, &part, 1, 0, RWF_SYNC) == 16;
  is_good &= ::pwritev2(fd, &part, 1, 0, 0) == 16 && ::write(fd, bytes, 8) == 8;
  is_good &= ::write(synchronous, nowhere, 8) == -1 && ::pwritev2(fd, &part, 0, 0, RWF_SYNC) == 0;
  return is_good ? 0 : 1;
}

// As where a compiler has inlined the function into all of its callers.
class KernelOpBypassed : public KernelOp {
protected:
  void record_without(const std::vector<std::string>& hooks, const std::function<int()>& body) {
    recording_ = record(
        [&](capture::SourceOptions& options) {
          options.filter.layers = {schema::Layer::syscall, schema::Layer::vfs};
          options.hooks_left_out = hooks;
        },
        body);
  }

  // Each loss is told by the event that there was none of.
  std::uint64_t bypassed(std::uint64_t event) const {
    EXPECT_EQ(recording_.lost(), recording_.counter(IOT_COUNTER_kernel_hook_bypassed));
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
    std::uint64_t count = 0;
    for (const Row& loss : recording_.rows("losses", "event", event))
      count += loss.u("events");
    EXPECT_EQ(count, recording_.lost());
    return count;
  }

  Recording recording_;
};

#define SKIP_BYPASSED_REFUSED()                                                                    \
  SKIP_REFUSED(recording_);                                                                        \
  if (recording_.hook_of("vfs_read").hook.empty())                                                 \
  GTEST_SKIP() << recording_.hook_of("vfs_read").reason

TEST_F(KernelOpBypassed, a_fsync_is_told_by_its_call_and_a_read_is_a_loss) {
  record_without({"vfs_read", "vfs_fsync", "vfs_fsync_range"}, [this] {
    char byte = 0;
    const int fd = ::open(file_.c_str(), O_RDWR);
    return ::pread(fd, &byte, 1, 0) == 1 && ::fdatasync(fd) == 0 && ::fsync(fd) == 0 ? 0 : 1;
  });
  SKIP_BYPASSED_REFUSED();
  EXPECT_TRUE(recording_.rows("vfs_read").empty());
  EXPECT_GE(bypassed(IOT_KIND_vfs_read), 1U);
  const std::vector<Row> syncs = recording_.rows_of_file("vfs_fsync", file_.native());
  ASSERT_EQ(syncs.size(), 2U);
  EXPECT_EQ(syncs[0].u("datasync"), 1U);
  EXPECT_EQ(syncs[1].u("datasync"), 0U);
}

TEST_F(KernelOpBypassed, a_write_that_must_be_durable_needs_a_fsync) {
  record_without({"vfs_fsync", "vfs_fsync_range"}, [this] { return write_durably(file_); });
  SKIP_BYPASSED_REFUSED();
  EXPECT_EQ(bypassed(IOT_KIND_vfs_fsync), kDurableWrites);
}

TEST_F(KernelOpBypassed, a_write_that_nothing_is_to_sync_needs_no_fsync) {
  record_without({"vfs_fsync", "vfs_fsync_range"}, [this] { return write_without_sync(file_); });
  SKIP_BYPASSED_REFUSED();
  EXPECT_EQ(bypassed(IOT_KIND_vfs_fsync), 0U);
}

TEST_F(KernelOpBypassed, nothing_is_missed_where_all_is_hooked) {
  record_without({}, [this] { return write_durably(file_) | write_without_sync(file_); });
  SKIP_BYPASSED_REFUSED();
  EXPECT_EQ(bypassed(IOT_KIND_vfs_fsync), 0U);
  EXPECT_EQ(recording_.rows_of_file("vfs_fsync", file_.native()).size(), kDurableWrites);
}

TEST_F(KernelOp, a_fault_inside_a_read_is_an_operation_of_its_own) {
  const std::filesystem::path mapped = make_file("mapped", 4 * kBlock);
  const Recording recording = record(
      [](capture::SourceOptions& options) {
        options.filter.layers = {schema::Layer::syscall, schema::Layer::cache};
      },
      [&] {
        const int from = ::open(file_.c_str(), O_RDONLY);
        const int to = ::open(mapped.c_str(), O_RDWR);
        void* const memory = ::mmap(nullptr, 4 * kBlock, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
        ::madvise(memory, 4 * kBlock, MADV_RANDOM);
        return ::pread(from, memory, 64, 0) == 64 ? 0 : 1;
      });
  SKIP_REFUSED(recording);
  if (recording.hook_of("cache_hit").hook.empty())
    GTEST_SKIP() << recording.hook_of("cache_hit").reason;
  const std::vector<Row> calls = recording.rows_of_file("syscall_read", file_.native());
  ASSERT_EQ(calls.size(), 1U);
  const std::vector<Row> added = recording.rows_of_file("cache_add", mapped.native());
  ASSERT_FALSE(added.empty());
  EXPECT_NE(added.front().u("op_id"), 0U);
  EXPECT_NE(added.front().u("op_id"), calls.front().u("op_id"));
  EXPECT_EQ(added.front().u("parent_op"), calls.front().u("op_id"));
}

} // namespace
} // namespace iotrail::live
