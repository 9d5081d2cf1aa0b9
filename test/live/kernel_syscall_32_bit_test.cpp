// SPDX-License-Identifier: BSD-3-Clause
//
// System calls as 32-bit programs make them, where they differ from native ones. A 64-bit program can make them too.

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <new>
#include <vector>

#include "kernel_syscall_fixture.hpp"

namespace iotrail::live {
namespace {

// Call numbers on i386.
constexpr long kGetpid = 20, kLlseek = 140, kMmap2 = 192, kSetsockopt = 366;
constexpr long kPoll = 168, kNewSelect = 142, kPselect6 = 308, kPpoll = 309, kEpollWait = 256,
               kPselect6Time64 = 413, kPpollTime64 = 414, kEpollPwait2 = 441;

long call_32(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  long result;
  // The sixth argument is 0, in a register that compilers reserve. The bytes below the stack belong
  // to the compiler too.
  asm volatile("sub $128, %%rsp\n\t"
               "push %%rbp\n\t"
               "xor %%ebp, %%ebp\n\t"
               "int $0x80\n\t"
               "pop %%rbp\n\t"
               "add $128, %%rsp"
               : "=a"(result)
               : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
               : "memory", "cc", "r8", "r9", "r10", "r11");
  return static_cast<int>(result);
}

// A kernel without 32-bit calls kills a program that makes one.
bool has_32_bit_calls() {
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(call_32(kGetpid) == ::getpid() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

class Kernel32Bit : public KernelSyscall {
protected:
  void SetUp() override {
    if (!has_32_bit_calls())
      GTEST_SKIP() << "this kernel has no 32-bit system calls";
    KernelSyscall::SetUp();
  }
};

TEST_F(Kernel32Bit, a_seek_with_a_position_in_two_halves_has_its_result) {
  constexpr std::int64_t kFar = 0x1'8000'0005;
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDONLY);
    void* low = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    const long place = reinterpret_cast<long>(low);
    return call_32(kLlseek, fd, kFar >> 32, kFar & 0xffffffff, place, SEEK_SET) == 0 &&
                   *static_cast<std::int64_t*>(low) == kFar &&
                   call_32(kLlseek, fd, 0, 0, place, 99) == -EINVAL
               ? 0
               : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_seek", "call", IOT_syscall_lseek);
  ASSERT_EQ(rows.size(), 2U);
  check_operation(rows[0]);
  EXPECT_EQ(rows[0].s("offset"), kFar);
  EXPECT_EQ(rows[0].s("result"), kFar);
  EXPECT_EQ(rows[0].u("whence"), u(SEEK_SET));
  EXPECT_EQ(path_of(rows[0]), file_);
  EXPECT_EQ(rows[1].s("result"), -EINVAL);
  EXPECT_EQ(rows[1].u("whence"), 99U);
}

TEST_F(Kernel32Bit, memory_above_half_of_the_address_space_has_its_address) {
  constexpr std::uint64_t kHigh = 0xc000'0000;
  RECORD([] {
    return static_cast<std::uint32_t>(call_32(kMmap2, kHigh, 4096, PROT_READ,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                                              -1)) == kHigh
               ? 0
               : 1;
  });
  const Row row = one("syscall_mmap", IOT_syscall_mmap);
  EXPECT_EQ(row.u("address"), kHigh);
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_EQ(row.u("bytes"), 4096U);
}

TEST_F(Kernel32Bit, timeouts_of_sockets_are_of_32_or_of_64_bits) {
  constexpr int kTimeoutNew = 66; // SO_RCVTIMEO_NEW
  struct Times {
    std::int32_t narrow[2] = {2, 500'000};
    std::int64_t wide[2] = {3, 1};
  };
  RECORD([] {
    void* low = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    auto* times = new (low) Times;
    const auto at = [](const auto& member) { return reinterpret_cast<long>(&member); };
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    return call_32(kSetsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, at(times->narrow), 8) == 0 &&
                   call_32(kSetsockopt, fd, SOL_SOCKET, kTimeoutNew, at(times->wide), 16) == 0
               ? 0
               : 1;
  });
  const std::vector<Row>& rows = recording_.rows("syscall_sockopt");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].s("value"), 2'500'000'000);
  EXPECT_EQ(rows[1].s("value"), 3'000'001'000);
  for (const Row& row : rows)
    EXPECT_EQ(row.u("shape"), u(IOT_socket_value_duration_ns));
}

// Their times have 32 or 64 bits. The kernel overwrites some with the remaining time.
TEST_F(Kernel32Bit, polls_have_the_given_timeout) {
  struct Narrow {
    std::int32_t seconds, fraction;
  };
  struct Wide {
    std::int64_t seconds, fraction;
  };
  struct Times {
    Narrow micro{0, 2001}, select{0, 2'000'003}, poll{0, 2'000'005};
    Wide wide_select{0, 2'000'007}, wide_poll{0, 2'000'009}, epoll{0, 2'000'011};
    char event[16] = {};
  };
  RECORD([] {
    void* low = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    auto* times = new (low) Times;
    const auto at = [](const auto& member) { return reinterpret_cast<long>(&member); };
    const int epoll = ::epoll_create1(0);
    const long results[] = {call_32(kPoll, 0, 0, 3),
                            call_32(kPoll, 0, 0, 0),
                            call_32(kNewSelect, 0, 0, 0, 0, at(times->micro)),
                            call_32(kPselect6, 0, 0, 0, 0, at(times->select)),
                            call_32(kPpoll, 0, 0, at(times->poll)),
                            call_32(kPselect6Time64, 0, 0, 0, 0, at(times->wide_select)),
                            call_32(kPpollTime64, 0, 0, at(times->wide_poll)),
                            call_32(kEpollWait, epoll, at(times->event), 1, 4),
                            call_32(kEpollPwait2, epoll, at(times->event), 1, at(times->epoll))};
    return std::ranges::all_of(results, [](long result) { return result == 0; }) &&
                   times->micro.fraction == 0 && times->wide_poll.fraction == 0
               ? 0
               : 1;
  });
  std::vector<std::int64_t> timeouts_ns;
  std::vector<std::uint64_t> calls;
  for (const Row& row : recording_.rows("syscall_poll")) {
    check_operation(row);
    EXPECT_EQ(row.s("result"), 0);
    timeouts_ns.push_back(row.s("timeout_ns"));
    calls.push_back(row.u("call"));
  }
  EXPECT_EQ(timeouts_ns, (std::vector<std::int64_t>{3'000'000, 0, 2'001'000, 2'000'003, 2'000'005,
                                                    2'000'007, 2'000'009, 4'000'000, 2'000'011}));
  EXPECT_EQ(calls, (std::vector<std::uint64_t>{
                       IOT_syscall_poll, IOT_syscall_poll, IOT_syscall_select, IOT_syscall_pselect6,
                       IOT_syscall_ppoll, IOT_syscall_pselect6, IOT_syscall_ppoll,
                       IOT_syscall_epoll_wait, IOT_syscall_epoll_pwait2}));
}

} // namespace
} // namespace iotrail::live
