/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The virtual file system. Each operation passes exactly one of the functions hooked for its event:
 * vfs_readv calls neither vfs_read nor vfs_iter_read, on any kernel. A second event in one call
 * belongs to a second file: the file of the file system below a stacked one.
 *
 * Everything is read at the entry and kept in the span, so that the ends need no argument: a
 * kretprobe has none.
 */
#include "probes/vfs/vfs.bpf.h"

iot_u64 iot_vector_bytes(iot_u64 vector, iot_u32 count, iot_u32 is_compat);

/* Reads and writes. `position` may be NULL: the file has none. */
struct vfs_transfer {
  iot_u32 kind;
  iot_u32 rwf_flags;
  iot_u64 file;
  iot_u64 position;
  iot_u64 bytes;
};

/*
 * Whether a write of at least one byte also passes vfs_fsync_range. Direct I/O may be durable
 * without it, and file systems may have other ways.
 */
static __noinline int is_synced(iot_u64 number, iot_u32 rwf_flags) {
  const struct file* file = (const void*)number;
  const iot_u32 flags = BPF_CORE_READ(file, f_flags);
  if (flags & IOT_open_O_DIRECT ||
      !(flags & IOT_open_O_DSYNC || rwf_flags & (IOT_rwf_RWF_DSYNC | IOT_rwf_RWF_SYNC)))
    return 0;
  const struct inode* inode = BPF_CORE_READ(file, f_inode);
  if ((BPF_CORE_READ(inode, i_mode) & IOT_CHOICE_file_type) != IOT_file_type_regular)
    return 0;
  switch ((iot_u32)BPF_CORE_READ(inode, i_sb, s_magic)) {
#define FILE_SYSTEM(type, magic, has_events, syncs_writes, is_served)                              \
  case magic:                                                                                      \
    return syncs_writes;
#include "file_systems.def"
  default:
    return 0;
  }
}

/*
 * `direct`: the file is an argument of a trampoline, with a type that the verifier knows; else it
 * is a number.
 */
static __always_inline int begin_transfer(struct iot_task* task,
                                          const struct vfs_transfer* transfer, const int direct) {
  struct iot_span* span = iot_span_begin(task, transfer->kind, transfer->file);
  if (!span)
    return 0;
  const struct file* file = (const void*)transfer->file;
  iot_u32 flags = 0;
  iot_u32 mode = 0;
  if (direct) {
    flags = file->f_flags;
    mode = file->f_mode;
    span->file = iot_identify(task, file->f_inode, file, 1);
  } else {
    flags = BPF_CORE_READ(file, f_flags);
    mode = BPF_CORE_READ(file, f_mode);
    span->file = iot_file_of(task, file);
  }
  span->flags = flags;
  span->bytes = transfer->bytes;
  span->offset = IOT_OFFSET_NONE;
  span->reserved = 0;
  if (transfer->kind == IOT_KIND_vfs_write) {
    span->detail = 0;
    if (flags & IOT_open_O_DSYNC || transfer->rwf_flags)
      span->reserved = (iot_u32)is_synced(transfer->file, transfer->rwf_flags);
  }
  if (transfer->position && mode & FMODE_LSEEK) { /* a terminal has a position without a meaning */
    span->offset = iot_read_word(transfer->position);
    if (transfer->kind == IOT_KIND_vfs_write &&
        (flags & IOT_open_O_APPEND || transfer->rwf_flags & IOT_rwf_RWF_APPEND))
      span->detail = transfer->position;
  }
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

/* The position of an appending write follows from the position that it left. */
static __always_inline iot_s64 offset_of(const struct iot_span* span, iot_s64 result) {
  const iot_s64 end = span->detail && result > 0 ? (iot_s64)iot_read_word(span->detail) : 0;
  return end && end >= result ? end - result : span->offset;
}

_Static_assert(sizeof(struct iot_vfs_read) == sizeof(struct iot_vfs_write), "one shape");

static __always_inline int end_transfer(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const struct iot_span* span = iot_span_end(task, kind, object);
  note_below(task, kind);
  if (!span)
    return 0;
  const iot_s64 offset = kind == IOT_KIND_vfs_write ? offset_of(span, result) : span->offset;
  task->moved.op_id = span->op_id;
  task->moved.offset = offset;
  task->moved.file = span->file;
  if (!iot_file_wanted(span->file))
    return 0;
  if (span->reserved && result > 0)
    task->needs_fsync = IOT_BELOW(IOT_KIND_vfs_fsync);
  const iot_u64 duration_ns = bpf_ktime_get_ns() - span->start_ns;
  struct iot_place place;
  struct iot_vfs_read* record = iot_reserve(&place, kind);
  if (!record)
    return (int)iot_lose_span(span->start_ns);
  record->duration_ns = duration_ns;
  record->offset = offset;
  record->bytes_requested = span->bytes;
  record->result = visible_result(result);
  IOT_WORD(record->file) = IOT_WORD(span->file);
  iot_commit(&place, iot_owner_of(task), span->start_ns);
  return 0;
}

_Static_assert(__builtin_offsetof(struct iot_vfs_read, flags) ==
                       __builtin_offsetof(struct iot_vfs_read, file) + 4 &&
                   __builtin_offsetof(struct iot_span, flags) ==
                       __builtin_offsetof(struct iot_span, file) + 4 &&
                   __builtin_offsetof(struct iot_span, file) % 8 == 0,
               "file and flags are copied as one word");

/* vfs_read, vfs_write(file, buffer, count, &position) */
static __always_inline int begin_plain(iot_u32 kind, iot_u64 file, iot_u64 count, iot_u64 position,
                                       const int direct) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const struct vfs_transfer transfer = {
      .kind = kind, .file = file, .position = position, .bytes = count};
  return begin_transfer(task, &transfer, direct);
}

/* vfs_readv, vfs_writev(file, vector, count, &position, flags) */
static __always_inline int begin_vector(iot_u32 kind, iot_u64 file, iot_u64 vector, iot_u64 count,
                                        iot_u64 position, iot_u32 rwf_flags, const int direct) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const struct vfs_transfer transfer = {
      .kind = kind,
      .rwf_flags = rwf_flags,
      .file = file,
      .position = position,
      .bytes = iot_vector_bytes(vector, (iot_u32)count, (task->call & IOT_CALL_COMPAT) != 0)};
  return begin_transfer(task, &transfer, direct);
}

/* vfs_iter_read, vfs_iter_write(file, iterator, &position, flags): called by stacked file systems and splice */
static __always_inline int begin_iter(iot_u32 kind, iot_u64 file, const struct iov_iter* iter,
                                      iot_u64 position, iot_u32 rwf_flags, const int direct) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const struct vfs_transfer transfer = {.kind = kind,
                                        .rwf_flags = rwf_flags,
                                        .file = file,
                                        .position = position,
                                        .bytes = BPF_CORE_READ(iter, count)};
  return begin_transfer(task, &transfer, direct);
}

#define PLAIN_PROGRAMS(function, kind)                                                             \
  SEC("?fentry/" #function) int function##_enter(iot_u64* ctx) {                                   \
    return begin_plain(kind, ctx[0], ctx[2], ctx[3], 1);                                           \
  }                                                                                                \
  SEC("?kprobe/" #function) int function##_kprobe(struct pt_regs* regs) {                          \
    return begin_plain(kind, IOT_PARAMETER_0(regs), IOT_PARAMETER_2(regs), IOT_PARAMETER_3(regs),  \
                       0);                                                                         \
  }                                                                                                \
  /* The result is behind the four parameters. */                                                  \
  SEC("?fexit/" #function) int function##_exit(iot_u64* ctx) {                                     \
    return end_transfer(kind, ctx[0], (iot_s64)ctx[4]);                                            \
  }                                                                                                \
  SEC("?kretprobe/" #function) int function##_kretprobe(struct pt_regs* regs) {                    \
    return end_transfer(kind, 0, (iot_s64)IOT_RESULT(regs));                                       \
  }

#define VECTOR_PROGRAMS(function, kind)                                                            \
  SEC("?fentry/" #function) int function##_enter(iot_u64* ctx) {                                   \
    iot_u64 vector = 0;                                                                            \
    bpf_get_func_arg(ctx, 1, &vector); /* a number; to the verifier, ctx[1] would be a pointer */  \
    return begin_vector(kind, ctx[0], vector, ctx[2], ctx[3], (iot_u32)ctx[4], 1);                 \
  }                                                                                                \
  SEC("?kprobe/" #function) int function##_kprobe(struct pt_regs* regs) {                          \
    return begin_vector(kind, IOT_PARAMETER_0(regs), IOT_PARAMETER_1(regs), IOT_PARAMETER_2(regs), \
                        IOT_PARAMETER_3(regs), (iot_u32)IOT_PARAMETER_4(regs), 0);                 \
  }                                                                                                \
  END_PROGRAMS(function, end_transfer, kind)

#define ITER_PROGRAMS(function, kind)                                                              \
  SEC("?fentry/" #function) int function##_enter(iot_u64* ctx) {                                   \
    return begin_iter(kind, ctx[0], (const void*)ctx[1], ctx[2], (iot_u32)ctx[3], 1);              \
  }                                                                                                \
  SEC("?kprobe/" #function) int function##_kprobe(struct pt_regs* regs) {                          \
    return begin_iter(kind, IOT_PARAMETER_0(regs), (const void*)IOT_PARAMETER_1(regs),             \
                      IOT_PARAMETER_2(regs), (iot_u32)IOT_PARAMETER_3(regs), 0);                   \
  }                                                                                                \
  END_PROGRAMS(function, end_transfer, kind)

PLAIN_PROGRAMS(vfs_read, IOT_KIND_vfs_read)
PLAIN_PROGRAMS(vfs_write, IOT_KIND_vfs_write)
VECTOR_PROGRAMS(vfs_readv, IOT_KIND_vfs_read)
VECTOR_PROGRAMS(vfs_writev, IOT_KIND_vfs_write)
ITER_PROGRAMS(vfs_iter_read, IOT_KIND_vfs_read)
ITER_PROGRAMS(vfs_iter_write, IOT_KIND_vfs_write)

/*
 * Opening. Every open that found an inode passes do_dentry_open, also those of O_TMPFILE, of
 * stacked file systems and of exec. Its later parameters differ between kernels, the first does
 * not. The function sets the inode, and removes it if opening fails: so the entry reads the
 * dentry's, the end the file's.
 */
static __always_inline int begin_open(iot_u64 number) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  struct iot_span* span = iot_span_begin(task, IOT_KIND_vfs_open, number);
  if (!span)
    return 0;
  const struct file* file = (const void*)number;
  span->flags = BPF_CORE_READ(file, f_flags); /* the function clears O_CREAT and similar flags */
  span->file = iot_file_of_inode(task, BPF_CORE_READ(file, f_path.dentry, d_inode), file);
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_open(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_span* span = ended.span;
  result = (iot_s32)result;
  if (span && !result) {
    span->file = iot_file_of(ended.task, (const void*)span->object);
    ended.chosen_by = span->file;
  }
  struct iot_vfs_open* record = VFS_RESERVE(vfs_open, &ended);
  if (!record)
    return 0;
  record->result = visible_result(result);
  record->file = span->file;
  record->flags = span->flags;
  VFS_COMMIT(record, &ended);
  return 0;
}

SEC("?fentry/do_dentry_open") int do_dentry_open_enter(iot_u64* ctx) {
  return begin_open(ctx[0]);
}
SEC("?kprobe/do_dentry_open") int do_dentry_open_kprobe(struct pt_regs* regs) {
  return begin_open(IOT_PARAMETER_0(regs));
}
END_PROGRAMS(do_dentry_open, end_open, IOT_KIND_vfs_open)

/*
 * Making data durable: fsync, fdatasync, msync, and writes that must be durable. vfs_fsync() calls
 * vfs_fsync_range(), or has it inlined; the inner call is part of the span of the outer one.
 */
static __always_inline int begin_fsync(iot_u64 file, iot_u64 start, iot_u64 end, iot_u64 datasync) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  struct iot_span* outer = iot_span_innermost(task);
  if (outer && outer->kind == IOT_KIND_vfs_fsync && outer->object == file) {
    ++outer->reserved;
    return 0;
  }
  struct iot_span* span = iot_span_begin(task, IOT_KIND_vfs_fsync, file);
  if (!span)
    return 0;
  span->reserved = 0;
  span->file = iot_file_of(task, (const void*)file);
  span->offset = (iot_s64)start;
  span->bytes = end;
  span->detail = datasync;
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

static __always_inline int end_fsync(iot_u32 kind, iot_u64 object, iot_s64 result) {
  struct iot_task* task = iot_current();
  struct iot_span* inner = task ? iot_span_innermost(task) : 0;
  if (inner && inner->kind == kind && inner->reserved) {
    --inner->reserved;
    return 0;
  }
  struct vfs_ended ended = vfs_end(kind, object);
  struct iot_vfs_fsync* record = VFS_RESERVE(vfs_fsync, &ended);
  if (!record)
    return 0;
  const struct iot_span* span = ended.span;
  record->offset = span->offset;
  record->end = (iot_s64)span->bytes;
  record->result = visible_result((iot_s32)result);
  record->file = span->file;
  record->datasync = (iot_u32)span->detail;
  VFS_COMMIT(record, &ended);
  return 0;
}

#define WHOLE_FILE 0x7fffffffffffffffULL

SEC("?fentry/vfs_fsync") int vfs_fsync_enter(iot_u64* ctx) {
  return begin_fsync(ctx[0], 0, WHOLE_FILE, (iot_u32)ctx[1]);
}
SEC("?kprobe/vfs_fsync") int vfs_fsync_kprobe(struct pt_regs* regs) {
  return begin_fsync(IOT_PARAMETER_0(regs), 0, WHOLE_FILE, (iot_u32)IOT_PARAMETER_1(regs));
}
END_PROGRAMS(vfs_fsync, end_fsync, IOT_KIND_vfs_fsync)

SEC("?fentry/vfs_fsync_range") int vfs_fsync_range_enter(iot_u64* ctx) {
  return begin_fsync(ctx[0], ctx[1], ctx[2], (iot_u32)ctx[3]);
}
SEC("?kprobe/vfs_fsync_range") int vfs_fsync_range_kprobe(struct pt_regs* regs) {
  return begin_fsync(IOT_PARAMETER_0(regs), IOT_PARAMETER_1(regs), IOT_PARAMETER_2(regs),
                     (iot_u32)IOT_PARAMETER_3(regs));
}
END_PROGRAMS(vfs_fsync_range, end_fsync, IOT_KIND_vfs_fsync)

/* fsync() and fdatasync() on a kernel that has inlined their functions up to the file system. */
static __always_inline void emit_fsync_of_call(struct iot_task* task, iot_s64 result,
                                               iot_u64 now_ns) {
  const struct pt_regs* regs = (const void*)bpf_task_pt_regs(bpf_get_current_task_btf());
  const iot_u32 file = iot_file_of_fd(fd_of_call(regs, task->call));
  if (!iot_file_wanted(file))
    return;
  struct iot_place place;
  struct iot_vfs_fsync* record = IOT_RESERVE(vfs_fsync, &place);
  if (!record) {
    iot_lose_span(task->entry_ns);
    return;
  }
  record->duration_ns = now_ns - task->entry_ns;
  record->offset = 0;
  record->end = (iot_s64)WHOLE_FILE;
  record->result = visible_result(result);
  record->file = file;
  record->datasync = IOT_CALL_NUMBER(task->call) == IOT_syscall_fdatasync;
  iot_commit(&place, iot_owner_of(task), task->entry_ns);
}

__noinline int iot_find_bypassed(iot_u32 kind, iot_s64 result, iot_u64 now_ns) {
  struct iot_task* task = iot_busy(bpf_get_current_task_btf());
  if (!task)
    return 0;
  if (kind == (IOT_KIND_vfs_fsync & 0xff) && kind == IOT_CALL_BELOW(task->call)) {
    if (result != -EBADF)
      emit_fsync_of_call(task, result, now_ns);
    return 0;
  }
  if (result < 0)
    return 0;
  iot_lose(IOT_COUNTER_kernel_hook_bypassed);
  iot_u32 zero = 0;
  struct iot_counter_values* own = bpf_map_lookup_elem(&counters, &zero);
  if (own)
    __sync_fetch_and_add(&own->bypassed[kind & (IOT_BELOW_LIMIT - 1)], 1);
  return 0;
}
