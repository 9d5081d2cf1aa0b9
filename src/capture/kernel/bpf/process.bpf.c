/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Life of tasks. Also what makes the filter by process tree: a child is traced because its parent was.
 */
#include "core.bpf.h"

#define SIGNAL_BITS 0x7f
#define STATUS_SHIFT 8
#define STATUS_BITS 0xff

/* Tells the collector of a new process; its program is still its parent's. */
static __always_inline void send_fork(const struct io_task* parent, const struct io_task* child,
                                      const struct task_struct* task, io_u64 ts_ns) {
  struct io_text_process* text =
      bpf_ringbuf_reserve(&texts, __builtin_offsetof(struct io_text_process, arguments), 0);
  if (!text) {
    io_count(IO_COUNTER_kernel_text_full);
    return;
  }
  text->text.type = IO_TEXT_FORK;
  text->text.id = 0;
  text->text.bytes = 0;
  text->ts_ns = ts_ns;
  text->pid = child->pid;
  text->parent_pid = parent->pid;
  text->exe_file = 0;
  text->arguments_bytes = 0;
  bpf_core_read(text->comm, sizeof(text->comm), &task->comm);
  bpf_ringbuf_submit(text, BPF_RB_NO_WAKEUP);
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(process_sched_process_fork, struct task_struct* parent_task,
             struct task_struct* task) {
  struct io_task* parent = io_current();
  if (!parent)
    return 0;
  struct io_task* child = io_claim(task);
  if (!child)
    return 0;
  const io_u64 now_ns = bpf_ktime_get_ns();
  if (child->pid != parent->pid)
    send_fork(parent, child, task, now_ns);
  if (!io_wants(IO_KIND_process_fork))
    return 0;
  struct io_slot slot;
  struct io_process_fork* record = IO_RESERVE(process_fork, &slot);
  if (!record)
    return 0;
  record->child_pid = child->pid;
  record->child_tid = child->tid;
  io_commit(&slot, parent, now_ns);
  return 0;
}

static __always_inline void send_exec(const struct io_task* own, const struct task_struct* task,
                                      io_u32 exe_file, io_u64 ts_ns) {
  struct io_text_process* text = bpf_ringbuf_reserve(&texts, sizeof(*text), 0);
  if (!text) {
    io_count(IO_COUNTER_kernel_text_full);
    return;
  }
  text->text.type = IO_TEXT_EXEC;
  text->text.id = 0;
  text->text.bytes = 0;
  text->ts_ns = ts_ns;
  text->pid = own->pid;
  text->parent_pid = (io_u32)BPF_CORE_READ(task, real_parent, tgid);
  text->exe_file = exe_file;
  bpf_core_read(text->comm, sizeof(text->comm), &task->comm);
  const io_u64 begin = BPF_CORE_READ(task, mm, arg_start);
  io_u64 bytes = BPF_CORE_READ(task, mm, arg_end) - begin;
  if (bytes > IO_PATH_BYTES)
    bytes = IO_PATH_BYTES;
  const int is_unread = bpf_probe_read_user(text->arguments, (io_u32)bytes, (const void*)begin);
  text->arguments_bytes = is_unread ? 0 : (io_u32)bytes;
  bpf_ringbuf_submit(text, BPF_RB_NO_WAKEUP);
  if (is_unread)
    io_count(IO_COUNTER_kernel_path_unread);
}

/* A thread that calls exec goes on under the id of its process, whose first thread has ended. */
static __always_inline struct io_task* executing_task(struct task_struct* task, io_u32 old_tid) {
  struct io_task* slot = io_slot_of((io_u32)task->pid);
  if (slot && slot->tid == (io_u32)task->pid && !slot->start_time)
    slot->awaits_exec = 0;
  struct io_task* own = io_current();
  if (old_tid == (io_u32)task->pid)
    return own;
  struct io_task* old = io_slot_of(old_tid);
  if (old && old->tid == old_tid && old->pid == (io_u32)task->tgid)
    old->is_dead = 1;
  else
    old = 0;
  if (!own)
    return old ? io_claim(task) : 0;
  own->is_dead = 0;
  own->group_exited = 0;
  own->op_id = 0;
  own->span_depth = 0;
  return own;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(process_sched_process_exec, struct task_struct* task, int old_tid,
             struct linux_binprm* binary) {
  struct io_task* own = executing_task(task, (io_u32)old_tid);
  if (!own)
    return 0;
  const io_u64 now_ns = bpf_ktime_get_ns();
  const io_u32 exe_file = io_file_of(own, binary->file);
  send_exec(own, task, exe_file, now_ns);
  if (!io_wants(IO_KIND_process_exec) || !io_file_wanted(exe_file))
    return 0;
  const io_u32 path = io_text_of_kernel((io_u64)BPF_CORE_READ(binary, filename));
  struct io_slot slot;
  struct io_process_exec* record = IO_RESERVE(process_exec, &slot);
  if (!record)
    return 0;
  record->path = path;
  record->old_tid = (io_u32)old_tid;
  io_commit(&slot, own, now_ns);
  return 0;
}

/*
 * The count of live threads has dropped already, so several that end together may all see none: the first to mark the
 * state of the group's leader, which is kept until then, is taken for the last.
 */
static __always_inline io_u32 is_last_of_group(struct task_struct* task) {
  if (BPF_CORE_READ(task, signal, live.counter) != 0)
    return 0;
  struct io_task* leader = io_slot_of((io_u32)task->tgid);
  if (!leader || leader->tid != (io_u32)task->tgid)
    leader = bpf_task_storage_get(&tasks, task->group_leader, 0, 0);
  if (!leader)
    return 1;
  leader->is_dead = 1;
  return __sync_lock_test_and_set(&leader->group_exited, 1) == 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(process_sched_process_exit, struct task_struct* task) {
  struct io_task* own = io_current();
  if (!own)
    return 0;
  if (own->op_id) {
    io_count(IO_COUNTER_kernel_span_unfinished);
    own->op_id = 0;
  }
  const io_u32 is_last = is_last_of_group(task);
  if (own->tid != own->pid)
    own->is_dead = 1;
  if (!io_wants(IO_KIND_process_exit))
    return 0;
  const io_u32 code = (io_u32)task->exit_code;
  const io_u64 now_ns = bpf_ktime_get_ns();
  struct io_slot slot;
  struct io_process_exit* record = IO_RESERVE(process_exit, &slot);
  if (!record)
    return 0;
  record->status = (io_s32)(code >> STATUS_SHIFT & STATUS_BITS);
  record->signal = code & SIGNAL_BITS;
  record->group_dead = is_last;
  io_commit(&slot, own, now_ns);
  return 0;
}
