/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Locks of files. Tracepoints report each attempt: the lock was given, refused, or has to wait
 * (FILE_LOCK_DEFERRED) and is tried again when the task wakes. Its span begins with the first wait.
 * A lock without a wait has no span.
 */
#include "probes/vfs/vfs.bpf.h"

/* Constants of the kernel that no type has. */
#define FL_FLOCK 2
#define FL_CLOSE 64
#define FL_OFDLCK 1024
#define FILE_LOCK_DEFERRED 1

#define PID_LAST 0x3fffffff /* locks that a server keeps for others have a number below 0 */

struct seen_lock {
  iot_u64 file;
  iot_u64 owner;
  iot_s64 begin;
  iot_s64 end;
  iot_u32 flags;
  iot_u32 type;
  iot_u32 blocker; /* a process; 0: none, or unknown */
};

static __noinline int see_lock(struct seen_lock* seen, iot_u64 number) {
  const struct file_lock* lock = (const void*)number;
  const struct file_lock___whole* whole = (const void*)number;
  iot_u32 blocker = 0;
  if (bpf_core_field_exists(struct file_lock, c)) {
    seen->file = (iot_u64)BPF_CORE_READ(lock, c.flc_file);
    seen->owner = (iot_u64)BPF_CORE_READ(lock, c.flc_owner);
    seen->begin = BPF_CORE_READ(lock, fl_start);
    seen->end = BPF_CORE_READ(lock, fl_end);
    seen->flags = BPF_CORE_READ(lock, c.flc_flags);
    seen->type = BPF_CORE_READ(lock, c.flc_type);
    blocker = BPF_CORE_READ(lock, c.flc_blocker, flc_pid);
  } else {
    seen->file = (iot_u64)BPF_CORE_READ(whole, fl_file);
    seen->owner = (iot_u64)BPF_CORE_READ(whole, fl_owner);
    seen->begin = BPF_CORE_READ(whole, fl_start);
    seen->end = BPF_CORE_READ(whole, fl_end);
    seen->flags = BPF_CORE_READ(whole, fl_flags);
    seen->type = BPF_CORE_READ(whole, fl_type);
    blocker = BPF_CORE_READ(whole, fl_blocker, fl_pid);
  }
  seen->blocker = blocker <= PID_LAST ? blocker : 0;
  return 0;
}

static __always_inline iot_u32 lock_owner_of(const struct seen_lock* seen) {
  if (seen->flags & FL_FLOCK)
    return IOT_lock_owner_flock;
  const int is_of_file = seen->flags & FL_OFDLCK || seen->owner == seen->file;
  return is_of_file ? IOT_lock_owner_open_file : IOT_lock_owner_process;
}

static __always_inline void describe_lock(struct iot_span* span, struct iot_task* task,
                                          const struct seen_lock* seen, iot_u32 call) {
  span->file = iot_file_of(task, (const void*)seen->file);
  span->flags = IOT_LOCK_FLAGS(seen->type + 1, lock_owner_of(seen), call);
  span->offset = seen->begin;
  span->bytes = (iot_u64)seen->end;
  span->reserved = seen->blocker;
}

/* `detail` 0: it did not wait. */
static __noinline int emit_lock(struct iot_task* task, const struct iot_span* span, iot_s64 result,
                                iot_u64 now_ns) {
  if (!iot_file_wanted(span->file))
    return 0;
  struct iot_place place;
  struct iot_fs_lock* record = IOT_RESERVE_COLD(fs_lock, &place);
  if (!record)
    return (int)iot_lose_span(span->start_ns);
  record->duration_ns = now_ns - span->start_ns;
  record->wait_ns = span->detail ? now_ns - span->detail : 0;
  record->offset = span->offset;
  record->end = (iot_s64)span->bytes;
  record->result = visible_result(result);
  record->file = span->file;
  record->lock = IOT_LOCK_TYPE(span->flags);
  record->owner = IOT_LOCK_OWNER(span->flags);
  record->blocker = span->reserved;
  record->call = IOT_LOCK_CALL(span->flags);
  iot_commit(&place, iot_owner_of(task), span->start_ns);
  return 0;
}

static __always_inline int is_waiting_for_lock(struct iot_task* task) {
  const struct iot_span* inner = iot_span_innermost(task);
  return inner && inner->kind == IOT_KIND_fs_lock;
}

static __always_inline int begin_lock_wait(iot_u64 lock, iot_u32 call) {
  struct iot_task* task = iot_current();
  if (!task || !task->owner.op_id || is_waiting_for_lock(task))
    return 0;
  struct seen_lock seen;
  see_lock(&seen, lock);
  struct iot_span* span = iot_span_begin(task, IOT_KIND_fs_lock, 0);
  if (!span)
    return 0;
  describe_lock(span, task, &seen, call);
  span->detail = bpf_ktime_get_ns();
  span->start_ns = task->entry_ns;
  return 0;
}

/* The kernel refused the request before it had read all of it. */
static __always_inline int is_malformed(iot_s64 result) {
  return result == -EINVAL || result == -EOVERFLOW;
}

/*
 * A call asks for a lock. A call that began before the recording has no operation, so its lock is
 * not recorded.
 */
static __always_inline int end_lock(iot_u64 lock, iot_u32 call, iot_s64 result) {
  struct iot_task* task = iot_current();
  if (!task || !task->owner.op_id)
    return 0;
  if (is_waiting_for_lock(task)) {
    const struct iot_span* span = iot_span_end(task, IOT_KIND_fs_lock, 0);
    return span ? emit_lock(task, span, result, bpf_ktime_get_ns()) : 0;
  }
  if (is_malformed(result))
    return 0;
  struct seen_lock seen;
  see_lock(&seen, lock);
  struct iot_span span = {.start_ns = task->entry_ns};
  describe_lock(&span, task, &seen, call);
  span.reserved = 0;
  return emit_lock(task, &span, result, bpf_ktime_get_ns());
}

/* No call asked for this: the file is being closed, possibly after its call. */
static __always_inline int emit_lock_of_close(iot_u64 lock, iot_u32 call, iot_s64 result) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  struct seen_lock seen;
  see_lock(&seen, lock);
  struct iot_span span = {.start_ns = bpf_ktime_get_ns()};
  describe_lock(&span, task, &seen, call);
  return emit_lock(task, &span, result, span.start_ns);
}

__noinline int iot_end_flock(iot_s64 result) {
  struct iot_task* task = iot_busy(bpf_get_current_task_btf());
  if (!task || !is_waiting_for_lock(task))
    return 0;
  const struct iot_span* span = iot_span_end(task, IOT_KIND_fs_lock, 0);
  return span ? emit_lock(task, span, result, bpf_ktime_get_ns()) : 0;
}

/* All have the parameters (inode, lock, result). */
SEC("?tp_btf/posix_lock_inode")
int lock_posix(iot_u64* ctx) {
  return (iot_s32)ctx[2] == FILE_LOCK_DEFERRED
             ? begin_lock_wait(iot_number_of((const void*)ctx[1]), IOT_vfs_call_fcntl_setlk)
             : 0;
}

SEC("?tp_btf/fcntl_setlk")
int lock_fcntl(iot_u64* ctx) {
  return end_lock(iot_number_of((const void*)ctx[1]), IOT_vfs_call_fcntl_setlk, (iot_s32)ctx[2]);
}

SEC("?tp_btf/flock_lock_inode")
int lock_flock(iot_u64* ctx) {
  const iot_u64 lock = iot_number_of((const void*)ctx[1]);
  const iot_s32 result = (iot_s32)ctx[2];
  if (result == FILE_LOCK_DEFERRED)
    return begin_lock_wait(lock, IOT_vfs_call_flock_lock_inode);
  const struct file_lock___whole* whole = (const void*)lock;
  const iot_u32 flags = bpf_core_field_exists(struct file_lock, c)
                            ? BPF_CORE_READ((const struct file_lock*)lock, c.flc_flags)
                            : BPF_CORE_READ(whole, fl_flags);
  return flags & FL_CLOSE ? emit_lock_of_close(lock, IOT_vfs_call_flock_lock_inode, result)
                          : end_lock(lock, IOT_vfs_call_flock_lock_inode, result);
}

SEC("?tp_btf/locks_remove_posix")
int lock_close(iot_u64* ctx) {
  return emit_lock_of_close(iot_number_of((const void*)ctx[1]), IOT_vfs_call_locks_remove_posix,
                            (iot_s32)ctx[2]);
}
