// SPDX-License-Identifier: BSD-3-Clause
//
// Operations: the attribution of an event must not depend on which events are recorded.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "bystander.hpp"
#include "evict.hpp"
#include "kernel_recording.hpp"
#include "left_behind.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr int kWrites = 20;
constexpr int kOpRefused = 77; // the file system refuses direct I/O
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
    ::close(fd);
    EXPECT_TRUE(evict(path));
    return path;
  }

  // At positions that prevent merging.
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

// A child of the recorded one still waits for a pipe when the recording stops.
int leave_a_reader_that_waits(const LeftBehind& reader) {
  int ends[2];
  if (::pipe(ends) != 0)
    return 1;
  const bool is_waiting = reader.start(SYS_read, [&] {
    char byte = 0;
    (void)!::read(ends[0], &byte, 1);
  });
  return is_waiting ? 0 : 1;
}

// The only unfinished event in `table`.
Row unfinished_one(const Recording& recording, const std::string& table) {
  EXPECT_EQ(recording.produced(), recording.written() + recording.lost());
  const std::vector<Row> rows = recording.rows(table, "result", kUnfinished);
  EXPECT_EQ(rows.size(), 1U) << table;
  if (rows.size() != 1)
    return {};
  EXPECT_NE(rows.front().u("pid"), static_cast<std::uint64_t>(recording.pid()));
  EXPECT_NE(rows.front().u("op_id"), 0U);
  EXPECT_GE(rows.front().u("duration_ns"), LeftBehind::kSlept_ns);
  return rows.front();
}

TEST_F(KernelOp, a_call_that_hangs_is_recorded_when_the_recording_stops) {
  const LeftBehind reader;
  const Recording recording = record(
      [](capture::SourceOptions& options) { options.filter.layers = {schema::Layer::syscall}; },
      [&] { return leave_a_reader_that_waits(reader); });
  SKIP_REFUSED(recording);
  const Row read = unfinished_one(recording, "syscall_read");
  EXPECT_EQ(read.u("call"), std::uint64_t{IOT_syscall_read});
  EXPECT_EQ(read.u("bytes_requested"), 1U);
  const auto pipes = recording.rows("syscall_pipe");
  ASSERT_EQ(pipes.size(), 1U);
  EXPECT_EQ(read.s("fd"), pipes[0].s("read_fd"));
}

TEST_F(KernelOp, unfinished_operations_below_the_calls_are_recorded_when_the_recording_stops) {
  const LeftBehind reader;
  const Recording recording =
      record([](capture::SourceOptions& options) { options.filter.layers = {schema::Layer::vfs}; },
             [&] { return leave_a_reader_that_waits(reader); });
  SKIP_REFUSED(recording);
  SKIP_UNLESS_SERVED(recording, "vfs_read");
  const Row read = unfinished_one(recording, "vfs_read");
  EXPECT_EQ(read.u("bytes_requested"), 1U);
  EXPECT_EQ(read.s("offset"), IOT_OFFSET_NONE);
  EXPECT_NE(read.u("file"), 0U);
}

// As if an interrupt ran no program (docs/adr/0007): such a request must not look unanswered by the
// device.
TEST_F(KernelOp, a_completion_that_the_kernel_does_not_report_is_a_loss) {
  const Recording recording = record(
      [](capture::SourceOptions& options) {
        options.filter.layers = {schema::Layer::block};
        options.hooks_left_out = {"block_rq_complete"};
      },
      [this] { return write_directly(file_); });
  SKIP_REFUSED(recording);
  // The bio ends, and the program continues, before the kernel frees the request: the last one may
  // look in flight.
  const std::size_t in_flight = recording.rows("block_complete").size();
  EXPECT_LE(in_flight, 1U);
  EXPECT_EQ(recording.counter(IOT_COUNTER_kernel_completion_missed) + in_flight,
            recording.rows("block_issue").size());
  EXPECT_EQ(recording.produced(), recording.written() + recording.lost());
}

// New bios have the addresses of earlier ones. The program has one request for each write, and none
// of the bystander's.
TEST_F(KernelOp, a_bio_at_the_address_of_one_without_a_reported_end_has_its_own_owner) {
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

// A program that the verifier refuses looks like a hook that the kernel forbids.
TEST_F(KernelOp, no_program_is_refused_by_the_verifier) {
  const Recording recording = record([](capture::SourceOptions&) {}, [] { return 0; });
  SKIP_REFUSED(recording);
  for (const schema::Event& event : schema::kEvents) {
    const std::string& reason = recording.hook_of(event.name).reason;
    for (const char* error : {"EINVAL", "EACCES", "E2BIG", "ENOSPC"})
      EXPECT_EQ(reason.find(error), reason.npos) << event.name << ": " << reason;
  }
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
