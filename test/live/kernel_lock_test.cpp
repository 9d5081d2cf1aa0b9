// SPDX-License-Identifier: BSD-3-Clause
//
// File locks: two processes compete for a known time, every field of the records.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <limits>
#include <vector>

#include "await.hpp"
#include "kernel_fixture.hpp"
#include "left_behind.hpp"
#include "shared.hpp"

namespace iotrail::live {
namespace {

constexpr std::int64_t kLastByte = std::numeric_limits<std::int64_t>::max();
constexpr useconds_t kHeldMicroseconds = 50'000; // at least, once the other process waits

// The program's own measurements.
struct Witness {
  std::uint64_t wait_ns;
  std::uint64_t asleep_ns; // when the holder saw that the other process waits
  std::uint64_t freed_ns;  // when the holder ended the wait
  pid_t holder;
  pid_t waiter;
  std::atomic<bool> has_returned; // the waiter's calls
};

const std::vector<std::string> kEvents = {"fs_lock", "syscall_fcntl", "syscall_flock",
                                          "syscall_close"};

class KernelLock : public KernelFileTest {
protected:
  void record(const std::function<int()>& body) {
    recording_ = Recording::among_others({.events = kEvents}, body);
    if (recording_.refusal().empty())
      check_child_and_account();
  }
  void record_to_the_end(const std::function<int()>& body) {
    recording_ = Recording::alone({.events = kEvents}, body);
    if (recording_.refusal().empty())
      check_child_and_account();
  }

  // Takes a lock by `take` in another process, which holds it as long as `hold` lasts. Meanwhile
  // this process takes it by `wait`.
  int contend(const std::function<int(int fd)>& take, const std::function<int(int fd)>& wait,
              const std::function<bool()>& hold) {
    int ready[2];
    if (::pipe(ready) != 0)
      return 1;
    witness_->waiter = ::getpid();
    const pid_t holder = ::fork();
    if (holder == 0) {
      const bool is_taken = take(::open(file_.c_str(), O_RDWR | O_CLOEXEC)) == 0;
      ::write(ready[1], "x", 1);
      ::_exit(is_taken && hold() ? 0 : 1);
    }
    witness_->holder = holder;
    char byte = 0;
    const int fd = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
    ::read(ready[0], &byte, 1);
    const std::uint64_t begin_ns = monotonic_ns();
    const int result = wait(fd);
    witness_->wait_ns = monotonic_ns() - begin_ns;
    witness_->has_returned = true;
    int status = 0;
    ::waitpid(holder, &status, 0);
    return result != 0 || status != 0 ? 2 : 0;
  }

  // For the holder: until the other process has waited in `call` for a known time.
  bool hold_while_it_waits_in(long call) const {
    if (!await([&] { return sleeps_in(witness_->waiter, call); }))
      return false;
    witness_->asleep_ns = monotonic_ns();
    ::usleep(kHeldMicroseconds);
    witness_->freed_ns = monotonic_ns();
    return true;
  }
  bool hold_until_it_has_returned() const {
    return await([&] { return witness_->has_returned.load(); });
  }

  std::vector<Row> rows_of_child() const {
    return recording_.rows("fs_lock", "pid", static_cast<std::uint64_t>(recording_.pid()));
  }

  struct Expected {
    iot_value lock, owner, call;
    std::int64_t begin, end;
    std::int64_t result = 0;
  };
  void expect(const Row& row, const Expected& expected) const {
    EXPECT_EQ(recording_.path(row.u("file")), file_);
    EXPECT_EQ(row.u("lock"), static_cast<std::uint64_t>(expected.lock));
    EXPECT_EQ(row.u("owner"), static_cast<std::uint64_t>(expected.owner));
    EXPECT_EQ(row.u("call"), static_cast<std::uint64_t>(expected.call));
    EXPECT_EQ(row.s("offset"), expected.begin);
    EXPECT_EQ(row.s("end"), expected.end);
    EXPECT_EQ(row.s("result"), expected.result);
  }
  // Checks that the row waited while the holder saw it wait, within its call in `table`.
  void expect_wait(const Row& row, const std::string& table) const {
    check_operation(row);
    const std::vector<Row> calls = recording_.rows(table, "op_id", row.u("op_id"));
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(row.u("ts_ns"), calls[0].u("ts_ns"));
    EXPECT_LE(row.u("duration_ns"), calls[0].u("duration_ns"));
    EXPECT_LE(row.u("duration_ns"), witness_->wait_ns);
    EXPECT_LE(row.u("wait_ns"), row.u("duration_ns"));
    EXPECT_LT(row.u("ts_ns"), witness_->asleep_ns);
    EXPECT_GE(row.u("wait_ns"), seen_ns());
    EXPECT_GE(seen_ns(), kHeldMicroseconds * 1000ULL);
    EXPECT_EQ(row.u("blocker"), static_cast<std::uint64_t>(witness_->holder));
  }

  // The wait lasted at least so long.
  std::uint64_t seen_ns() const { return witness_->freed_ns - witness_->asleep_ns; }

  Shared<Witness> witness_;
};

int lock_range(int fd, int command, int type, off_t begin, off_t bytes) {
  struct flock lock = {.l_type = static_cast<short>(type),
                       .l_whence = SEEK_SET,
                       .l_start = begin,
                       .l_len = bytes,
                       .l_pid = 0};
  return ::fcntl(fd, command, &lock);
}

TEST_F(KernelLock, fs_lock_of_a_process_that_waits) {
  RECORD_EVENT("fs_lock", [&] {
    return contend([](int fd) { return lock_range(fd, F_SETLK, F_WRLCK, 100, 50); },
                   [](int fd) {
                     return lock_range(fd, F_SETLKW, F_RDLCK, 120, 10) == 0 &&
                                    lock_range(fd, F_SETLK, F_RDLCK, 1000, 0) == 0 &&
                                    lock_range(fd, F_SETLK, F_UNLCK, 120, 10) == 0 &&
                                    ::close(fd) == 0
                                ? 0
                                : 1;
                   },
                   [&] { return hold_while_it_waits_in(SYS_fcntl); });
  });
  const std::vector<Row> rows = rows_of_child();
  ASSERT_GE(rows.size(), 4U);
  const auto owner = IOT_lock_owner_process;
  expect(rows[0], {IOT_lock_F_RDLCK, owner, IOT_vfs_call_fcntl_setlk, 120, 129});
  expect_wait(rows[0], "syscall_fcntl");
  expect(rows[1], {IOT_lock_F_RDLCK, owner, IOT_vfs_call_fcntl_setlk, 1000, kLastByte});
  check_operation(rows[1]);
  EXPECT_EQ(rows[1].u("wait_ns"), 0U);
  EXPECT_EQ(rows[1].u("blocker"), 0U);
  expect(rows[2], {IOT_lock_F_UNLCK, owner, IOT_vfs_call_fcntl_setlk, 120, 129});
  expect(rows[3], {IOT_lock_F_UNLCK, owner, IOT_vfs_call_locks_remove_posix, 0, kLastByte});
  check_event(rows[3]);
  EXPECT_EQ(rows[3].u("duration_ns"), 0U);
  EXPECT_EQ(recording_.rows("syscall_close", "op_id", rows[3].u("op_id")).size(), 1U);
}

TEST_F(KernelLock, fs_lock_that_is_refused) {
  RECORD_EVENT("fs_lock", [&] {
    return contend([](int fd) { return lock_range(fd, F_SETLK, F_WRLCK, 0, 0); },
                   [](int fd) {
                     return lock_range(fd, F_SETLK, F_WRLCK, 5, 1) == -1 && errno == EAGAIN ? 0 : 1;
                   },
                   [&] { return hold_until_it_has_returned(); });
  });
  const std::vector<Row> rows = rows_of_child();
  ASSERT_GE(rows.size(), 1U);
  expect(rows[0],
         {IOT_lock_F_WRLCK, IOT_lock_owner_process, IOT_vfs_call_fcntl_setlk, 5, 5, -EAGAIN});
  EXPECT_EQ(rows[0].u("wait_ns"), 0U);
  EXPECT_EQ(rows[0].u("blocker"), 0U);
}

TEST_F(KernelLock, fs_lock_not_for_malformed_calls) {
  constexpr int kNoType = 77;
  RECORD_EVENT("fs_lock", [&] {
    const int fd = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
    return lock_range(fd, F_SETLK, F_WRLCK, -5, 2) == -1 && errno == EINVAL &&
                   lock_range(fd, F_SETLK, F_WRLCK, INT64_MAX - 1, 8) == -1 && errno == EOVERFLOW &&
                   lock_range(fd, F_SETLK, kNoType, 0, 0) == -1 && errno == EINVAL
               ? 0
               : 1;
  });
  EXPECT_TRUE(rows_of_child().empty());
  EXPECT_EQ(recording_.rows("syscall_fcntl").size(), 3U);
}

TEST_F(KernelLock, fs_lock_of_an_open_file_that_waits) {
  RECORD_EVENT("fs_lock", [&] {
    return contend([](int fd) { return lock_range(fd, F_OFD_SETLK, F_WRLCK, 0, 10); },
                   [](int fd) { return lock_range(fd, F_OFD_SETLKW, F_WRLCK, 9, 1); },
                   [&] { return hold_while_it_waits_in(SYS_fcntl); });
  });
  const std::vector<Row> rows = rows_of_child();
  ASSERT_GE(rows.size(), 1U);
  expect(rows[0], {IOT_lock_F_WRLCK, IOT_lock_owner_open_file, IOT_vfs_call_fcntl_setlk, 9, 9});
  expect_wait(rows[0], "syscall_fcntl");
}

TEST_F(KernelLock, fs_lock_of_flock_that_waits) {
  RECORD_EVENT("fs_lock", [&] {
    return contend([](int fd) { return ::flock(fd, LOCK_SH); },
                   [](int fd) { return ::flock(fd, LOCK_EX) == 0 && ::close(fd) == 0 ? 0 : 1; },
                   [&] { return hold_while_it_waits_in(SYS_flock); });
  });
  const std::vector<Row> rows = rows_of_child();
  ASSERT_GE(rows.size(), 2U);
  expect(rows[0],
         {IOT_lock_F_WRLCK, IOT_lock_owner_flock, IOT_vfs_call_flock_lock_inode, 0, kLastByte});
  expect_wait(rows[0], "syscall_flock");
  expect(rows[1],
         {IOT_lock_F_UNLCK, IOT_lock_owner_flock, IOT_vfs_call_flock_lock_inode, 0, kLastByte});
  check_event(rows[1]);
  EXPECT_EQ(rows[1].u("duration_ns"), 0U);
}

TEST_F(KernelLock, fs_lock_with_a_wait_that_a_signal_ends) {
  RECORD_EVENT("fs_lock", [&] {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    if (::sigaction(SIGUSR1, &action, nullptr) != 0)
      return 1;
    return contend([](int fd) { return ::flock(fd, LOCK_EX); },
                   [](int fd) { return ::flock(fd, LOCK_SH) == -1 && errno == EINTR ? 0 : 1; },
                   [&] {
                     return hold_while_it_waits_in(SYS_flock) &&
                            ::kill(witness_->waiter, SIGUSR1) == 0 && hold_until_it_has_returned();
                   });
  });
  const std::vector<Row> rows = rows_of_child();
  ASSERT_GE(rows.size(), 1U);
  expect(rows[0], {IOT_lock_F_RDLCK, IOT_lock_owner_flock, IOT_vfs_call_flock_lock_inode, 0,
                   kLastByte, -EINTR});
  EXPECT_GE(rows[0].u("wait_ns"), seen_ns());
  EXPECT_EQ(rows[0].u("blocker"), static_cast<std::uint64_t>(witness_->holder));
}

TEST_F(KernelLock, fs_lock_that_is_waited_for_when_the_recording_stops) {
  const LeftBehind waiter;
  record_to_the_end([&] {
    const int fd = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
    if (lock_range(fd, F_OFD_SETLK, F_WRLCK, 0, 10) != 0)
      return 1;
    // It shares the descriptor that owns the lock.
    const bool is_waiting = waiter.start(SYS_fcntl, [&] {
      lock_range(::open(file_.c_str(), O_RDWR | O_CLOEXEC), F_SETLKW, F_WRLCK, 3, 4);
    });
    return is_waiting ? 0 : 1;
  });
  SKIP_UNLESS_SERVED(recording_, "fs_lock");
  const std::vector<Row> rows = recording_.rows(
      "fs_lock", "result", static_cast<std::uint64_t>(std::int64_t{IOT_UNFINISHED}));
  ASSERT_EQ(rows.size(), 1U);
  expect(rows[0], {IOT_lock_F_WRLCK, IOT_lock_owner_process, IOT_vfs_call_fcntl_setlk, 3, 6,
                   IOT_UNFINISHED});
  EXPECT_NE(rows[0].u("op_id"), 0U);
  EXPECT_GE(rows[0].u("wait_ns"), LeftBehind::kSlept_ns);
  EXPECT_LE(rows[0].u("wait_ns"), rows[0].u("duration_ns"));
}

} // namespace
} // namespace iotrail::live
