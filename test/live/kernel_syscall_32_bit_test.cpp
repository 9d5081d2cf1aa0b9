// SPDX-License-Identifier: BSD-3-Clause
//
// System calls as 32-bit programs make them, where they differ from native ones. A 64-bit program can make them too.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>

#include "kernel_syscall_fixture.hpp"

namespace iotrail::live {
namespace {

// Their numbers on i386.
constexpr long kGetpid = 20, kLlseek = 140, kMmap2 = 192;

long call_32(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  long result;
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
               : "memory", "r8", "r9", "r10", "r11");
  return static_cast<int>(result);
}

// A kernel without them ends a program that makes one.
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

TEST_F(Kernel32Bit, a_position_in_two_halves_is_told_with_where_it_leads) {
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

} // namespace
} // namespace iotrail::live
