/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The virtual file system. Each operation passes exactly one of the functions hooked for its event: vfs_readv does not
 * call vfs_read, nor vfs_iter_read, on any kernel. A second event for one call means a second file: that of the file
 * system below a stacked one.
 *
 * Everything is read at the entry and kept in the span, so that the ends need no argument: a kretprobe has none.
 */
#include "span.bpf.h"

#define O_APPEND 02000
#define RWF_APPEND 0x10

io_u64 io_vector_bytes(io_u64 vector, io_u32 count, io_u32 is_compat);

/* Kernel-internal results that a program sees as EINTR. */
static __always_inline io_s64 visible_result(io_s64 result) {
  return result <= -512 && result >= -516 ? -4 : result;
}

/* Reads and writes. `position` may be NULL: the file has none. */
struct vfs_transfer {
  io_u32 kind;
  io_u32 rwf_flags;
  io_u64 file;
  io_u64 position;
  io_u64 bytes;
};

/* `direct`: the file is an argument of a trampoline, whose type the verifier knows; else it is a number. */
static __always_inline int begin_transfer(struct io_task* task, const struct vfs_transfer* transfer,
                                          const int direct) {
  struct io_span* span = io_span_begin(task, transfer->kind, transfer->file);
  if (!span)
    return 0;
  const struct file* file = (const void*)transfer->file;
  io_u32 flags = 0;
  io_u32 mode = 0;
  if (direct) {
    flags = file->f_flags;
    mode = file->f_mode;
    span->file = io_identify(task, file->f_inode, file, 1);
  } else {
    flags = BPF_CORE_READ(file, f_flags);
    mode = BPF_CORE_READ(file, f_mode);
    span->file = io_file_of(task, file);
  }
  span->flags = flags;
  span->bytes = transfer->bytes;
  span->offset = IO_OFFSET_NONE;
  span->detail = 0;
  if (transfer->position && mode & FMODE_LSEEK) { /* a terminal is given one that means nothing */
    bpf_probe_read_kernel(&span->offset, sizeof(span->offset), (const void*)transfer->position);
    if (flags & O_APPEND || transfer->rwf_flags & RWF_APPEND)
      span->detail = transfer->position;
  }
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

/* Where an appending write went is known only afterwards, by the position that it left. */
static __always_inline io_s64 offset_of(const struct io_span* span, io_s64 result) {
  io_s64 end = 0;
  if (!span->detail || result <= 0 ||
      bpf_probe_read_kernel(&end, sizeof(end), (const void*)span->detail) || end < result)
    return span->offset;
  return end - result;
}

_Static_assert(sizeof(struct io_vfs_read) == sizeof(struct io_vfs_write), "one shape");

static __always_inline int end_transfer(io_u32 kind, io_u64 object, io_s64 result) {
  struct io_task* task = io_current();
  if (!task)
    return 0;
  const struct io_span* span = io_span_end(task, kind, object);
  if (!span || !io_file_wanted(span->file))
    return 0;
  const io_u64 duration_ns = bpf_ktime_get_ns() - span->start_ns;
  const io_s64 offset = kind == IO_KIND_vfs_write ? offset_of(span, result) : span->offset;
  if (!task->span_depth) { /* not of a file system below: the system call need not find out again */
    task->vfs_op = task->op_id;
    task->vfs_offset = offset;
    task->vfs_file = span->file;
  }
  struct io_slot slot;
  struct io_vfs_read* record = io_reserve(&slot, kind);
  if (!record)
    return 0;
  record->duration_ns = duration_ns;
  record->offset = offset;
  record->bytes_requested = span->bytes;
  record->result = visible_result(result);
  record->file = span->file;
  record->flags = span->flags;
  io_commit(&slot, task, span->start_ns);
  return 0;
}

/* vfs_read, vfs_write(file, buffer, count, &position) */
static __always_inline int begin_plain(io_u32 kind, io_u64 file, io_u64 count, io_u64 position,
                                       const int direct) {
  struct io_task* task = io_current();
  if (!task)
    return 0;
  const struct vfs_transfer transfer = {
      .kind = kind, .file = file, .position = position, .bytes = count};
  return begin_transfer(task, &transfer, direct);
}

/* vfs_readv, vfs_writev(file, vector, count, &position, flags) */
static __always_inline int begin_vector(io_u32 kind, io_u64 file, io_u64 vector, io_u64 count,
                                        io_u64 position, io_u32 rwf_flags, const int direct) {
  struct io_task* task = io_current();
  if (!task)
    return 0;
  const struct vfs_transfer transfer = {
      .kind = kind,
      .rwf_flags = rwf_flags,
      .file = file,
      .position = position,
      .bytes = io_vector_bytes(vector, (io_u32)count, task->is_compat)};
  return begin_transfer(task, &transfer, direct);
}

/* vfs_iter_read, vfs_iter_write(file, iterator, &position, flags): called by stacked file systems and splice */
static __always_inline int begin_iter(io_u32 kind, io_u64 file, const struct iov_iter* iter,
                                      io_u64 position, io_u32 rwf_flags, const int direct) {
  struct io_task* task = io_current();
  if (!task)
    return 0;
  const struct vfs_transfer transfer = {.kind = kind,
                                        .rwf_flags = rwf_flags,
                                        .file = file,
                                        .position = position,
                                        .bytes = BPF_CORE_READ(iter, count)};
  return begin_transfer(task, &transfer, direct);
}

/* Two programs end each function's span, and two begin it: of which tier F attaches one each, tier K the other. */
#define END_PROGRAMS(function, end, kind)                                                          \
  SEC("?fexit/" #function) int function##_exit(io_u64* ctx) {                                      \
    io_u64 result = 0;                                                                             \
    bpf_get_func_ret(ctx, &result);                                                                \
    return end(kind, ctx[0], (io_s64)result);                                                      \
  }                                                                                                \
  SEC("?kretprobe/" #function) int function##_kretprobe(struct pt_regs* regs) {                    \
    return end(kind, 0, (io_s64)IO_RESULT(regs));                                                  \
  }

#define PLAIN_PROGRAMS(function, kind)                                                             \
  SEC("?fentry/" #function) int function##_enter(io_u64* ctx) {                                    \
    return begin_plain(kind, ctx[0], ctx[2], ctx[3], 1);                                           \
  }                                                                                                \
  SEC("?kprobe/" #function) int function##_kprobe(struct pt_regs* regs) {                          \
    return begin_plain(kind, IO_PARAMETER_0(regs), IO_PARAMETER_2(regs), IO_PARAMETER_3(regs), 0); \
  }                                                                                                \
  END_PROGRAMS(function, end_transfer, kind)

#define VECTOR_PROGRAMS(function, kind)                                                            \
  SEC("?fentry/" #function) int function##_enter(io_u64* ctx) {                                    \
    io_u64 vector = 0;                                                                             \
    bpf_get_func_arg(ctx, 1, &vector); /* a number; ctx[1] would be a pointer to the verifier */   \
    return begin_vector(kind, ctx[0], vector, ctx[2], ctx[3], (io_u32)ctx[4], 1);                  \
  }                                                                                                \
  SEC("?kprobe/" #function) int function##_kprobe(struct pt_regs* regs) {                          \
    return begin_vector(kind, IO_PARAMETER_0(regs), IO_PARAMETER_1(regs), IO_PARAMETER_2(regs),    \
                        IO_PARAMETER_3(regs), (io_u32)IO_PARAMETER_4(regs), 0);                    \
  }                                                                                                \
  END_PROGRAMS(function, end_transfer, kind)

#define ITER_PROGRAMS(function, kind)                                                              \
  SEC("?fentry/" #function) int function##_enter(io_u64* ctx) {                                    \
    return begin_iter(kind, ctx[0], (const void*)ctx[1], ctx[2], (io_u32)ctx[3], 1);               \
  }                                                                                                \
  SEC("?kprobe/" #function) int function##_kprobe(struct pt_regs* regs) {                          \
    return begin_iter(kind, IO_PARAMETER_0(regs), (const void*)IO_PARAMETER_1(regs),               \
                      IO_PARAMETER_2(regs), (io_u32)IO_PARAMETER_3(regs), 0);                      \
  }                                                                                                \
  END_PROGRAMS(function, end_transfer, kind)

PLAIN_PROGRAMS(vfs_read, IO_KIND_vfs_read)
PLAIN_PROGRAMS(vfs_write, IO_KIND_vfs_write)
VECTOR_PROGRAMS(vfs_readv, IO_KIND_vfs_read)
VECTOR_PROGRAMS(vfs_writev, IO_KIND_vfs_write)
ITER_PROGRAMS(vfs_iter_read, IO_KIND_vfs_read)
ITER_PROGRAMS(vfs_iter_write, IO_KIND_vfs_write)

/*
 * Opening. do_dentry_open is passed by every open that found an inode, those of O_TMPFILE, of stacked file systems and
 * of exec included; its later parameters differ between kernels, the first does not. The inode is set meanwhile and
 * taken away again where opening fails: hence the dentry's at the entry, the file's own at the end.
 */
static __always_inline int begin_open(io_u64 number) {
  struct io_task* task = io_current();
  if (!task)
    return 0;
  struct io_span* span = io_span_begin(task, IO_KIND_vfs_open, number);
  if (!span)
    return 0;
  const struct file* file = (const void*)number;
  span->flags = BPF_CORE_READ(file, f_flags); /* the end clears O_CREAT and its like */
  span->file = io_file_of_inode(task, BPF_CORE_READ(file, f_path.dentry, d_inode), file);
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_open(io_u32 kind, io_u64 object, io_s64 result) {
  struct io_task* task = io_current();
  if (!task)
    return 0;
  struct io_span* span = io_span_end(task, kind, object);
  if (!span)
    return 0;
  result = (io_s32)result;
  const io_u64 duration_ns = bpf_ktime_get_ns() - span->start_ns;
  const io_u32 id = result ? span->file : io_file_of(task, (const void*)span->object);
  if (!io_file_wanted(id))
    return 0;
  struct io_slot slot;
  struct io_vfs_open* record = IO_RESERVE(vfs_open, &slot);
  if (!record)
    return 0;
  record->duration_ns = duration_ns;
  record->result = visible_result(result);
  record->file = id;
  record->flags = span->flags;
  io_commit(&slot, task, span->start_ns);
  return 0;
}

SEC("?fentry/do_dentry_open") int do_dentry_open_enter(io_u64* ctx) {
  return begin_open(ctx[0]);
}
SEC("?kprobe/do_dentry_open") int do_dentry_open_kprobe(struct pt_regs* regs) {
  return begin_open(IO_PARAMETER_0(regs));
}
END_PROGRAMS(do_dentry_open, end_open, IO_KIND_vfs_open)

/* vfs_fsync_range(file, start, end, datasync): fsync, fdatasync, msync, and writes that must be durable. */
static __always_inline int begin_fsync(io_u64 file, io_u64 start, io_u64 end, io_u64 datasync) {
  struct io_task* task = io_current();
  if (!task)
    return 0;
  struct io_span* span = io_span_begin(task, IO_KIND_vfs_fsync, file);
  if (!span)
    return 0;
  span->file = io_file_of(task, (const void*)file);
  span->offset = (io_s64)start;
  span->bytes = end;
  span->detail = datasync;
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_fsync(io_u32 kind, io_u64 object, io_s64 result) {
  struct io_task* task = io_current();
  if (!task)
    return 0;
  const struct io_span* span = io_span_end(task, kind, object);
  if (!span || !io_file_wanted(span->file))
    return 0;
  const io_u64 duration_ns = bpf_ktime_get_ns() - span->start_ns;
  struct io_slot slot;
  struct io_vfs_fsync* record = IO_RESERVE(vfs_fsync, &slot);
  if (!record)
    return 0;
  record->duration_ns = duration_ns;
  record->offset = span->offset;
  record->end = (io_s64)span->bytes;
  record->result = visible_result((io_s32)result);
  record->file = span->file;
  record->datasync = (io_u32)span->detail;
  io_commit(&slot, task, span->start_ns);
  return 0;
}

SEC("?fentry/vfs_fsync_range") int vfs_fsync_range_enter(io_u64* ctx) {
  return begin_fsync(ctx[0], ctx[1], ctx[2], (io_u32)ctx[3]);
}
SEC("?kprobe/vfs_fsync_range") int vfs_fsync_range_kprobe(struct pt_regs* regs) {
  return begin_fsync(IO_PARAMETER_0(regs), IO_PARAMETER_1(regs), IO_PARAMETER_2(regs),
                     (io_u32)IO_PARAMETER_3(regs));
}
END_PROGRAMS(vfs_fsync_range, end_fsync, IO_KIND_vfs_fsync)
