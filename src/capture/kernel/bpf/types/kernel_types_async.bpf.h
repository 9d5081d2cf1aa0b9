/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The types of io_uring and libaio. Only kernel_types.bpf.h includes this file.
 */
#ifndef IOTRAIL_KERNEL_TYPES_ASYNC_BPF_H
#define IOTRAIL_KERNEL_TYPES_ASYNC_BPF_H

struct io_wq_work {
  u32 flags;
};
struct io_worker {
  struct io_wq_work* cur_work;
};
struct io_cqe {
  u64 user_data;
  s32 res;
  s32 fd;    /* at first */
  u32 flags; /* in the same place, when it is done */
};
struct io_uring_sqe {
  u8 opcode;
  u8 flags;
  s32 fd;
  union {
    u64 off;
  };
  union {
    u64 addr;
  };
  u32 len;
  union {
    u32 open_flags; /* or those of another call on paths */
  };
  u64 user_data;
  union {
    struct {
      u64 addr3;
    };
  };
};
struct io_uring_cqe {
  u64 user_data;
  s32 res;
  u32 flags;
};
struct io_kiocb {
  struct file* file;
  u8 opcode;
  u64 flags;
  struct io_cqe cqe;
  struct io_ring_ctx* ctx;
  struct io_wq_work work;
};
struct io_uring {
  u32 head;
  u32 tail;
};
struct io_rings {
  struct io_uring sq;
  struct io_uring cq;
};
struct io_ring_ctx {
  struct io_rings* rings;
};
struct io_rw {
  struct kiocb kiocb;
  u32 len;
  u32 flags;
};
struct io_ftrunc { /* since 6.9 */
  s64 len;
};
struct io_sr_msg {
  u32 len;
};
struct io_close {
  int fd;
  u32 file_slot;
};
struct io_epoll {
  int epfd;
};
struct io_sync {
  s64 len;
  s64 off;
  int mode;
};
struct filename {
  const char* name;
};
struct open_how {
  u64 flags;
};
struct io_open {
  int dfd;
  u32 file_slot;
  struct filename* filename;
  struct open_how how;
};
struct io_statx {
  int dfd;
  u32 flags;
  struct filename* filename;
};
struct io_mkdir {
  int dfd;
  struct filename* filename;
};
struct io_unlink {
  int dfd;
  int flags;
  struct filename* filename;
};
struct io_rename {
  int old_dfd;
  int new_dfd;
  struct filename* oldpath;
  struct filename* newpath;
  int flags;
};
struct io_link {
  int old_dfd;
  int new_dfd;
  struct filename* oldpath;
  struct filename* newpath;
  int flags;
};
struct io_xattr {
  struct filename* filename;
};
struct io_event {
  u64 obj;
};
struct aio_kiocb {
  struct kiocb rw;
  struct io_event ki_res;
};

#endif
