// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/syscalls.hpp"

#include <sys/syscall.h>

#include <array>

#include "capture/kernel/hooks.hpp"

namespace iotrail::capture::kernel {
namespace {

struct Call {
  io_u16 event;  // kind
  io_u16 number; // in the value table `syscall`: as on x86-64
  int native;    // on this machine
};

#define ROW(event, call, native) {IO_KIND_syscall_##event, IO_syscall_##call, native}

// Machines younger than x86-64 never had the calls that an *at call replaces.
constexpr Call kCalls[] = {
#ifdef SYS_open
    ROW(open, open, SYS_open),
    ROW(open, creat, SYS_creat),
    ROW(unlink, unlink, SYS_unlink),
    ROW(unlink, rmdir, SYS_rmdir),
    ROW(rename, rename, SYS_rename),
    ROW(mkdir, mkdir, SYS_mkdir),
    ROW(stat, stat, SYS_stat),
    ROW(stat, lstat, SYS_lstat),
#endif
#ifdef SYS_renameat
    ROW(rename, renameat, SYS_renameat),
#endif
    ROW(open, openat, SYS_openat),
    ROW(open, openat2, SYS_openat2),
    ROW(close, close, SYS_close),
    ROW(read, read, SYS_read),
    ROW(read, pread64, SYS_pread64),
    ROW(read, readv, SYS_readv),
    ROW(read, preadv, SYS_preadv),
    ROW(read, preadv2, SYS_preadv2),
    ROW(write, write, SYS_write),
    ROW(write, pwrite64, SYS_pwrite64),
    ROW(write, writev, SYS_writev),
    ROW(write, pwritev, SYS_pwritev),
    ROW(write, pwritev2, SYS_pwritev2),
    ROW(seek, lseek, SYS_lseek),
    ROW(sync, fsync, SYS_fsync),
    ROW(sync, fdatasync, SYS_fdatasync),
    ROW(sync, sync_file_range, SYS_sync_file_range),
    ROW(sync, syncfs, SYS_syncfs),
    ROW(sync, sync, SYS_sync),
    ROW(truncate, truncate, SYS_truncate),
    ROW(truncate, ftruncate, SYS_ftruncate),
    ROW(truncate, fallocate, SYS_fallocate),
    ROW(unlink, unlinkat, SYS_unlinkat),
    ROW(rename, renameat2, SYS_renameat2),
    ROW(mkdir, mkdirat, SYS_mkdirat),
    ROW(stat, fstat, SYS_fstat),
    ROW(stat, newfstatat, SYS_newfstatat),
    ROW(stat, statx, SYS_statx),
    ROW(mmap, mmap, SYS_mmap),
    ROW(munmap, munmap, SYS_munmap),
    ROW(msync, msync, SYS_msync),
    ROW(copy, sendfile, SYS_sendfile),
    ROW(copy, copy_file_range, SYS_copy_file_range),
    ROW(copy, splice, SYS_splice),
    ROW(aio_submit, io_submit, SYS_io_submit),
    ROW(aio_getevents, io_getevents, SYS_io_getevents),
    ROW(aio_getevents, io_pgetevents, SYS_io_pgetevents),
    ROW(uring_enter, io_uring_enter, SYS_io_uring_enter),
};

#if defined(__x86_64__)
// 32-bit programs; those whose arguments are laid out as in 64-bit ones or differ as syscall.bpf.c knows.
constexpr Call kCompatCalls[] = {
    ROW(read, read, 3),
    ROW(write, write, 4),
    ROW(open, open, 5),
    ROW(close, close, 6),
    ROW(open, creat, 8),
    ROW(unlink, unlink, 10),
    ROW(seek, lseek, 19),
    ROW(sync, sync, 36),
    ROW(rename, rename, 38),
    ROW(mkdir, mkdir, 39),
    ROW(unlink, rmdir, 40),
    ROW(munmap, munmap, 91),
    ROW(sync, fsync, 118),
    ROW(msync, msync, 144),
    ROW(read, readv, 145),
    ROW(write, writev, 146),
    ROW(sync, fdatasync, 148),
    ROW(read, pread64, 180),
    ROW(write, pwrite64, 181),
    ROW(copy, sendfile, 187),
    ROW(mmap, mmap, 192),         // mmap2: offset in pages
    ROW(truncate, truncate, 193), // truncate64: length in two registers, as the calls below
    ROW(truncate, ftruncate, 194),
    ROW(stat, stat, 195),
    ROW(stat, lstat, 196),
    ROW(stat, fstat, 197),
    ROW(copy, sendfile, 239),
    ROW(aio_getevents, io_getevents, 247),
    ROW(aio_submit, io_submit, 248),
    ROW(open, openat, 295),
    ROW(mkdir, mkdirat, 296),
    ROW(stat, newfstatat, 300),
    ROW(unlink, unlinkat, 301),
    ROW(rename, renameat, 302),
    ROW(copy, splice, 313),
    ROW(sync, sync_file_range, 314),
    ROW(truncate, fallocate, 324),
    ROW(read, preadv, 333),
    ROW(write, pwritev, 334),
    ROW(sync, syncfs, 344),
    ROW(rename, renameat2, 353),
    ROW(copy, copy_file_range, 377),
    ROW(read, preadv2, 378),
    ROW(write, pwritev2, 379),
    ROW(stat, statx, 383),
    ROW(aio_getevents, io_pgetevents, 416),
    ROW(uring_enter, io_uring_enter, 426),
    ROW(open, openat2, 437),
};
#else
constexpr std::array<Call, 0> kCompatCalls{};
#endif
#undef ROW

template <class Calls>
void fill(io_u16 (&table)[IO_SYSCALL_LIMIT], const Calls& calls, const Filter& filter) {
  for (const Call& call : calls) {
    const schema::Event* event = schema::find_event(call.event);
    if (event != nullptr && is_wanted(filter, *event))
      table[call.native] = IO_CALL(call.event & 0xff, call.number);
  }
}

} // namespace

void fill_calls(io_config& config, const Filter& filter) {
  fill(config.calls, kCalls, filter);
  fill(config.compat_calls, kCompatCalls, filter);
}

} // namespace iotrail::capture::kernel
