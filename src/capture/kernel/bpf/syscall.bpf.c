/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * System calls. Entry gives the task an operation and the time; everything else is read at the return, where the
 * arguments still lie in the saved registers, the pages of paths are in memory, and positions are final.
 */
#include "core.bpf.h"

#define O_CREAT 0100
#define O_TMPFILE_BIT 020000000
#define CREAT_FLAGS 01101 /* O_CREAT | O_WRONLY | O_TRUNC */
#define AT_FDCWD (-100)
#define AT_REMOVEDIR 0x200
#define AT_EMPTY_PATH 0x1000
#define MAP_ANONYMOUS 0x20
#define MODE_TYPE 0170000
#define MODE_REGULAR 0100000
#define MODE_BLOCK 0060000
#define FMODE_LSEEK 4 /* the kernel's mark of a file that has a position */
#define EINTR 4
#define ERESTART_FIRST                                                                             \
  512 /* kernel-internal results that a program sees as EINTR, or as a call begun again */
#define ERESTART_LAST 516

/* Classes: the low byte of the kinds. */
#define CLASS(name) (IO_KIND_syscall_##name & 0xff)

/* One call at its return. `compat` is a constant wherever this is used. */
struct returned {
  struct pt_regs* regs;
  struct io_task* task;
  io_u64 duration_ns;
  io_s64 result;
  io_u32 number;
};

static __noinline io_u32 file_of_fd(struct io_task* task, io_s32 fd) {
  if (!io_config.has_cast) {
    struct file* small = io_small_file_of_fd(fd);
    if (small)
      return io_identify(task, small->f_inode, small, 1);
  }
  const io_u64 file = io_file_of_fd(fd);
  return file ? io_file_of(task, (const void*)file) : 0;
}

static __always_inline int begin_call(struct pt_regs* regs, long number) {
  struct io_task* task = io_current();
  if (!task)
    return 0;
  io_u32 native = (io_u32)number & ~0x40000000U; /* the mark of the x32 ABI */
  if (native >= IO_SYSCALL_LIMIT)
    return 0;
  const io_u32 is_compat = IO_IS_COMPAT(bpf_get_current_task_btf()) != 0;
  const io_u32 call = is_compat ? io_config.compat_calls[native] : io_config.calls[native];
  if (!call)
    return 0;
  task->op_id = io_new_op(task);
  task->call = call;
  task->is_compat = is_compat;
  if (IO_CALL_CLASS(call) == CLASS(close))
    task->entry_file = file_of_fd(task, (io_s32)IO_ARGUMENT_0(regs, is_compat));
  task->entry_ns = bpf_ktime_get_ns();
  return 0;
}

/* A 64-bit argument: one register, or two in 32-bit programs. */
#define WIDE(low, high, compat)                                                                    \
  ((compat) ? (io_s64)((io_u64)(high) << 32 | (io_u32)(low)) : (io_s64)(low))

/* Sum of the lengths of an iovec array. A function of its own: checked once, with any arguments. */
__noinline io_u64 io_vector_bytes(io_u64 vector, io_u32 count, io_u32 is_compat) {
  io_u64 sum = 0;
  for (io_u32 index = 0; index < IO_VECTOR_LIMIT && index < count; ++index) {
    if (is_compat) {
      io_u32 length = 0;
      bpf_probe_read_user(&length, sizeof(length), (const void*)(vector + index * 8 + 4));
      sum += length;
    } else {
      io_u64 length = 0;
      bpf_probe_read_user(&length, sizeof(length), (const void*)(vector + index * 16 + 8));
      sum += length;
    }
  }
  return sum;
}

struct target {
  io_u32 file;
  io_s64 offset; /* of the descriptor, -1: it has none */
};

/*
 * The file of a call that moves `moved` bytes, and the position at which it began: the descriptor's position now, less
 * what was moved. The position at entry would be wrong wherever threads wait for each other or O_APPEND is set.
 */
static __always_inline struct target describe(struct io_task* task, struct file* file, io_s64 moved,
                                              int cast) {
  struct target target = {.offset = IO_OFFSET_NONE};
  struct inode* inode = 0;
  io_u32 f_mode = 0;
  io_u16 i_mode = 0;
  IO_LOAD(f_mode, file, f_mode, cast);
  IO_LOAD(inode, file, f_inode, cast);
  if (f_mode & FMODE_LSEEK) {
    IO_LOAD(target.offset, file, f_pos, cast);
    IO_LOAD(i_mode, inode, i_mode, cast);
    const io_u32 type = i_mode & MODE_TYPE;
    const int advances = type == MODE_REGULAR || type == MODE_BLOCK; /* /dev/zero does not */
    if (advances && moved > 0 && target.offset >= moved)
      target.offset -= moved;
  }
  target.file = io_identify(task, inode, file, cast);
  return target;
}

static __always_inline struct target target_of(struct io_task* task, io_s32 fd, io_s64 moved) {
  const struct target none = {.offset = IO_OFFSET_NONE};
  if (!io_config.has_cast) {
    struct file* small = io_small_file_of_fd(fd);
    if (small)
      return describe(task, small, moved, 1);
  }
  const io_u64 number = io_file_of_fd(fd);
  if (!number)
    return none;
  if (!io_config.has_cast)
    return describe(task, (struct file*)number, moved, 0);
  struct file* file = IO_TYPED(file, number, 1);
  return describe(task, file, moved, 1);
}

/* Reads and writes have records of one shape; the kinds differ. */
_Static_assert(sizeof(struct io_syscall_read) == sizeof(struct io_syscall_write), "one shape");

static __always_inline void transfer(struct returned* call, io_u32 kind, int compat) {
  struct pt_regs* regs = call->regs;
  const io_s32 fd = (io_s32)IO_ARGUMENT_0(regs, compat);
  io_u64 bytes = IO_ARGUMENT_2(regs, compat);
  io_s64 given = IO_OFFSET_NONE;
  io_u32 flags = 0;
  switch (call->number) {
  case IO_syscall_read:
  case IO_syscall_write:
    break;
  case IO_syscall_pread64:
  case IO_syscall_pwrite64:
    given = WIDE(IO_ARGUMENT_3(regs, compat), IO_ARGUMENT_4(regs, compat), compat);
    break;
  case IO_syscall_preadv2:
  case IO_syscall_pwritev2:
    flags = (io_u32)IO_ARGUMENT_5(regs, compat);
    given = WIDE(IO_ARGUMENT_3(regs, compat), IO_ARGUMENT_4(regs, compat), compat);
    break;
  case IO_syscall_preadv:
  case IO_syscall_pwritev:
    given = WIDE(IO_ARGUMENT_3(regs, compat), IO_ARGUMENT_4(regs, compat), compat);
    break;
  }
  if (call->number != IO_syscall_read && call->number != IO_syscall_write &&
      call->number != IO_syscall_pread64 && call->number != IO_syscall_pwrite64)
    bytes = io_vector_bytes(IO_ARGUMENT_1(regs, compat), (io_u32)bytes, (io_u32)compat);
  const struct target target = target_of(call->task, fd, call->result);
  if (!io_file_wanted(target.file))
    return;
  struct io_slot slot;
  struct io_syscall_read* record = io_reserve(&slot, kind);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->offset = given != IO_OFFSET_NONE ? given : target.offset;
  record->bytes_requested = bytes;
  record->result = call->result;
  record->file = target.file;
  record->fd = fd;
  record->flags = flags;
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void opened(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const io_u32 number = call->number;
  io_s32 fd = AT_FDCWD;
  io_u64 path = IO_ARGUMENT_0(regs, compat);
  io_u64 flags = IO_ARGUMENT_1(regs, compat);
  io_u64 mode = IO_ARGUMENT_2(regs, compat);
  if (number == IO_syscall_creat) {
    mode = flags;
    flags = CREAT_FLAGS;
  } else if (number == IO_syscall_openat || number == IO_syscall_openat2) {
    fd = (io_s32)path;
    path = flags;
    flags = mode;
    mode = IO_ARGUMENT_3(regs, compat);
  }
  if (number == IO_syscall_openat2) {
    io_u64 how[2] = {};
    bpf_probe_read_user(how, sizeof(how), (const void*)flags);
    flags = how[0];
    mode = how[1];
  }
  const io_u32 file = call->result >= 0 ? file_of_fd(call->task, (io_s32)call->result) : 0;
  if (!io_file_wanted(file))
    return;
  const io_u32 text = io_text_of_user(path);
  struct io_slot slot;
  struct io_syscall_open* record = IO_RESERVE(syscall_open, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->result = call->result;
  record->file = file;
  record->path = text;
  record->fd = fd;
  record->flags = (io_u32)flags;
  record->mode = flags & (O_CREAT | O_TMPFILE_BIT) ? (io_u32)mode : 0;
  record->call = number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void closed(struct returned* call, int compat) {
  const io_u32 file = call->task->entry_file;
  if (!io_file_wanted(file))
    return;
  struct io_slot slot;
  struct io_syscall_close* record = IO_RESERVE(syscall_close, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->result = call->result;
  record->file = file;
  record->fd = (io_s32)IO_ARGUMENT_0(call->regs, compat);
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void sought(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const io_s32 fd = (io_s32)IO_ARGUMENT_0(regs, compat);
  const io_u32 file = file_of_fd(call->task, fd);
  if (!io_file_wanted(file))
    return;
  struct io_slot slot;
  struct io_syscall_seek* record = IO_RESERVE(syscall_seek, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->offset =
      compat ? (io_s64)(io_s32)IO_ARGUMENT_1(regs, compat) : (io_s64)IO_ARGUMENT_1(regs, compat);
  record->result = call->result;
  record->file = file;
  record->fd = fd;
  record->whence = (io_u32)IO_ARGUMENT_2(regs, compat);
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void synced(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const int has_fd = call->number != IO_syscall_sync;
  const io_s32 fd = has_fd ? (io_s32)IO_ARGUMENT_0(regs, compat) : IO_NO_FD;
  const io_u32 file = has_fd ? file_of_fd(call->task, fd) : 0;
  if (!io_file_wanted(file))
    return;
  struct io_slot slot;
  struct io_syscall_sync* record = IO_RESERVE(syscall_sync, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->offset = IO_OFFSET_NONE;
  record->bytes = 0;
  record->result = call->result;
  record->file = file;
  record->fd = fd;
  record->flags = 0;
  if (call->number == IO_syscall_sync_file_range) {
    const io_u64 second = IO_ARGUMENT_2(regs, compat);
    const io_u64 third = IO_ARGUMENT_3(regs, compat);
    record->offset = WIDE(IO_ARGUMENT_1(regs, compat), second, compat);
    record->bytes = (io_u64)(compat ? WIDE(third, IO_ARGUMENT_4(regs, compat), 1) : (io_s64)second);
    record->flags = (io_u32)(compat ? IO_ARGUMENT_5(regs, compat) : third);
  }
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void truncated(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const int has_path = call->number == IO_syscall_truncate;
  const io_s32 fd = has_path ? IO_NO_FD : (io_s32)IO_ARGUMENT_0(regs, compat);
  const io_u32 file = has_path ? 0 : file_of_fd(call->task, fd);
  if (!io_file_wanted(file))
    return;
  const io_u32 text = has_path ? io_text_of_user(IO_ARGUMENT_0(regs, compat)) : 0;
  struct io_slot slot;
  struct io_syscall_truncate* record = IO_RESERVE(syscall_truncate, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  if (call->number == IO_syscall_fallocate) {
    const io_u64 third = IO_ARGUMENT_3(regs, compat);
    record->offset = WIDE(IO_ARGUMENT_2(regs, compat), third, compat);
    record->bytes =
        (io_u64)(compat ? WIDE(IO_ARGUMENT_4(regs, compat), IO_ARGUMENT_5(regs, compat), 1)
                        : (io_s64)third);
  } else {
    record->offset = IO_OFFSET_NONE;
    record->bytes = (io_u64)WIDE(IO_ARGUMENT_1(regs, compat), IO_ARGUMENT_2(regs, compat), compat);
  }
  record->result = call->result;
  record->file = file;
  record->path = text;
  record->fd = fd;
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void unlinked(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const int is_at = call->number == IO_syscall_unlinkat;
  const io_u64 path = is_at ? IO_ARGUMENT_1(regs, compat) : IO_ARGUMENT_0(regs, compat);
  if (!io_file_wanted(0))
    return;
  const io_u32 text = io_text_of_user(path);
  struct io_slot slot;
  struct io_syscall_unlink* record = IO_RESERVE(syscall_unlink, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->result = call->result;
  record->path = text;
  record->fd = is_at ? (io_s32)IO_ARGUMENT_0(regs, compat) : AT_FDCWD;
  record->flags = is_at ? (io_u32)IO_ARGUMENT_2(regs, compat) : 0;
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void renamed(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const int is_at = call->number != IO_syscall_rename;
  const io_u64 old_path = is_at ? IO_ARGUMENT_1(regs, compat) : IO_ARGUMENT_0(regs, compat);
  const io_u64 new_path = is_at ? IO_ARGUMENT_3(regs, compat) : IO_ARGUMENT_1(regs, compat);
  if (!io_file_wanted(0))
    return;
  const io_u32 old_text = io_text_of_user(old_path);
  const io_u32 new_text = io_text_of_user(new_path);
  struct io_slot slot;
  struct io_syscall_rename* record = IO_RESERVE(syscall_rename, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->result = call->result;
  record->path = old_text;
  record->new_path = new_text;
  record->fd = is_at ? (io_s32)IO_ARGUMENT_0(regs, compat) : AT_FDCWD;
  record->new_fd = is_at ? (io_s32)IO_ARGUMENT_2(regs, compat) : AT_FDCWD;
  record->flags = call->number == IO_syscall_renameat2 ? (io_u32)IO_ARGUMENT_4(regs, compat) : 0;
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void made_directory(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const int is_at = call->number == IO_syscall_mkdirat;
  const io_u64 path = is_at ? IO_ARGUMENT_1(regs, compat) : IO_ARGUMENT_0(regs, compat);
  if (!io_file_wanted(0))
    return;
  const io_u32 text = io_text_of_user(path);
  struct io_slot slot;
  struct io_syscall_mkdir* record = IO_RESERVE(syscall_mkdir, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->result = call->result;
  record->path = text;
  record->fd = is_at ? (io_s32)IO_ARGUMENT_0(regs, compat) : AT_FDCWD;
  record->mode = (io_u32)(is_at ? IO_ARGUMENT_2(regs, compat) : IO_ARGUMENT_1(regs, compat));
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void looked_up(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const io_u32 number = call->number;
  const int is_at = number == IO_syscall_newfstatat || number == IO_syscall_statx;
  io_s32 fd = is_at || number == IO_syscall_fstat ? (io_s32)IO_ARGUMENT_0(regs, compat) : AT_FDCWD;
  io_u64 path = is_at ? IO_ARGUMENT_1(regs, compat) : IO_ARGUMENT_0(regs, compat);
  io_u32 flags = 0;
  if (number == IO_syscall_newfstatat)
    flags = (io_u32)IO_ARGUMENT_3(regs, compat);
  else if (number == IO_syscall_statx)
    flags = (io_u32)IO_ARGUMENT_2(regs, compat);
  else if (number == IO_syscall_fstat)
    path = 0;
  const io_u32 text = path ? io_text_of_user(path) : 0;
  const int names_fd = number == IO_syscall_fstat || (!text && flags & AT_EMPTY_PATH);
  const io_u32 file = names_fd ? file_of_fd(call->task, fd) : 0;
  if (!io_file_wanted(file))
    return;
  struct io_slot slot;
  struct io_syscall_stat* record = IO_RESERVE(syscall_stat, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->result = call->result;
  record->file = file;
  record->path = text;
  record->fd = fd;
  record->flags = flags;
  record->call = number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline int is_error(io_s64 result) {
  return (io_u64)result >= (io_u64)-4095LL;
}

static __always_inline void mapped(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const io_u32 flags = (io_u32)IO_ARGUMENT_3(regs, compat);
  const int has_file = !(flags & MAP_ANONYMOUS);
  const io_s32 fd = has_file ? (io_s32)IO_ARGUMENT_4(regs, compat) : IO_NO_FD;
  const io_u32 file = has_file ? file_of_fd(call->task, fd) : 0;
  if (!io_file_wanted(file))
    return;
  const io_u64 offset = IO_ARGUMENT_5(regs, compat);
  struct io_slot slot;
  struct io_syscall_mmap* record = IO_RESERVE(syscall_mmap, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->address = is_error(call->result) ? 0 : (io_u64)call->result;
  record->offset =
      !has_file ? IO_OFFSET_NONE : (io_s64)(compat ? (io_u64)(io_u32)offset << 12 : offset);
  record->bytes = IO_ARGUMENT_1(regs, compat);
  record->result = is_error(call->result) ? call->result : 0;
  record->file = file;
  record->fd = fd;
  record->prot = (io_u32)IO_ARGUMENT_2(regs, compat);
  record->flags = flags;
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void unmapped(struct returned* call, int compat) {
  if (!io_file_wanted(0))
    return;
  struct io_slot slot;
  struct io_syscall_munmap* record = IO_RESERVE(syscall_munmap, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->address = IO_ARGUMENT_0(call->regs, compat);
  record->bytes = IO_ARGUMENT_1(call->regs, compat);
  record->result = call->result;
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void memory_synced(struct returned* call, int compat) {
  if (!io_file_wanted(0))
    return;
  struct io_slot slot;
  struct io_syscall_msync* record = IO_RESERVE(syscall_msync, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->address = IO_ARGUMENT_0(call->regs, compat);
  record->bytes = IO_ARGUMENT_1(call->regs, compat);
  record->result = call->result;
  record->flags = (io_u32)IO_ARGUMENT_2(call->regs, compat);
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

/* sendfile(out, in, offset, count); copy_file_range and splice(in, offset, out, offset, count, flags) */
static __always_inline void copied(struct returned* call, int compat) {
  struct pt_regs* regs = call->regs;
  const int is_sendfile = call->number == IO_syscall_sendfile;
  const io_s32 first = (io_s32)IO_ARGUMENT_0(regs, compat);
  const io_s32 in_fd = is_sendfile ? (io_s32)IO_ARGUMENT_1(regs, compat) : first;
  const io_s32 out_fd = is_sendfile ? first : (io_s32)IO_ARGUMENT_2(regs, compat);
  const io_u32 in_file = file_of_fd(call->task, in_fd);
  const io_u32 out_file = file_of_fd(call->task, out_fd);
  if (!io_file_wanted(in_file) && !io_file_wanted(out_file))
    return;
  struct io_slot slot;
  struct io_syscall_copy* record = IO_RESERVE(syscall_copy, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->bytes_requested = is_sendfile ? IO_ARGUMENT_3(regs, compat) : IO_ARGUMENT_4(regs, compat);
  record->result = call->result;
  record->in_file = in_file;
  record->out_file = out_file;
  record->in_fd = in_fd;
  record->out_fd = out_fd;
  record->flags = call->number == IO_syscall_splice ? (io_u32)IO_ARGUMENT_5(regs, compat) : 0;
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void aio_submitted(struct returned* call, int compat) {
  if (!io_file_wanted(0))
    return;
  struct io_slot slot;
  struct io_syscall_aio_submit* record = IO_RESERVE(syscall_aio_submit, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->context = IO_ARGUMENT_0(call->regs, compat);
  record->requested = (io_s64)IO_ARGUMENT_1(call->regs, compat);
  record->result = call->result;
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void aio_reaped(struct returned* call, int compat) {
  if (!io_file_wanted(0))
    return;
  struct io_slot slot;
  struct io_syscall_aio_getevents* record = IO_RESERVE(syscall_aio_getevents, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->context = IO_ARGUMENT_0(call->regs, compat);
  record->minimum = (io_s64)IO_ARGUMENT_1(call->regs, compat);
  record->maximum = (io_s64)IO_ARGUMENT_2(call->regs, compat);
  record->result = call->result;
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void uring_entered(struct returned* call, int compat) {
  if (!io_file_wanted(0))
    return;
  struct io_slot slot;
  struct io_syscall_uring_enter* record = IO_RESERVE(syscall_uring_enter, &slot);
  if (!record)
    return;
  record->duration_ns = call->duration_ns;
  record->result = call->result;
  record->to_submit = (io_u32)IO_ARGUMENT_1(call->regs, compat);
  record->min_complete = (io_u32)IO_ARGUMENT_2(call->regs, compat);
  record->fd = (io_s32)IO_ARGUMENT_0(call->regs, compat);
  record->flags = (io_u32)IO_ARGUMENT_3(call->regs, compat);
  record->call = call->number;
  io_commit(&slot, call->task, call->task->entry_ns);
}

static __always_inline void emit_rare(struct returned* call, io_u32 class, int compat) {
  switch (class) {
  case CLASS(truncate):
    return truncated(call, compat);
  case CLASS(unlink):
    return unlinked(call, compat);
  case CLASS(rename):
    return renamed(call, compat);
  case CLASS(mkdir):
    return made_directory(call, compat);
  case CLASS(msync):
    return memory_synced(call, compat);
  case CLASS(copy):
    return copied(call, compat);
  case CLASS(aio_submit):
    return aio_submitted(call, compat);
  case CLASS(aio_getevents):
    return aio_reaped(call, compat);
  case CLASS(uring_enter):
    return uring_entered(call, compat);
  }
}

static __always_inline void emit(struct returned* call, io_u32 class, int compat) {
  switch (class) {
  case CLASS(read):
    return transfer(call, IO_KIND_syscall_read, compat);
  case CLASS(write):
    return transfer(call, IO_KIND_syscall_write, compat);
  case CLASS(open):
    return opened(call, compat);
  case CLASS(close):
    return closed(call, compat);
  case CLASS(seek):
    return sought(call, compat);
  case CLASS(stat):
    return looked_up(call, compat);
  case CLASS(sync):
    return synced(call, compat);
  case CLASS(mmap):
    return mapped(call, compat);
  case CLASS(munmap):
    return unmapped(call, compat);
  default:
    return emit_rare(call, class, compat);
  }
}

static __noinline int end_compat_call(struct returned* call, io_u32 class) {
  call->result = (io_s32)call->result;
  emit(call, class, 1);
  return 0;
}

static __always_inline int end_call(struct pt_regs* regs, long result) {
  struct io_task* task = io_current();
  if (!task || !task->op_id)
    return 0;
  const io_u32 class = IO_CALL_CLASS(task->call);
  struct returned call = {
      .regs = regs,
      .task = task,
      .duration_ns = bpf_ktime_get_ns() - task->entry_ns,
      .result = result,
      .number = IO_CALL_NUMBER(task->call),
  };
  if (result <= -ERESTART_FIRST && result >= -ERESTART_LAST)
    call.result = -EINTR;
  if (task->is_compat)
    end_compat_call(&call, class);
  else
    emit(&call, class, 0);
  task->op_id = 0;
  return 0;
}

SEC("?tp_btf/sys_enter")
int BPF_PROG(syscall_sys_enter, struct pt_regs* regs, long number) {
  return begin_call(regs, number);
}

SEC("?tp_btf/sys_exit")
int BPF_PROG(syscall_sys_exit, struct pt_regs* regs, long result) {
  return end_call(regs, result);
}
