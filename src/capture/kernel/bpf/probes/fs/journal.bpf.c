/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Journals of file systems (jbd2), and ext4's wait for its own; the equivalents of xfs and btrfs. A
 * commit runs in an untraced kernel thread. It is recorded if traced tasks use the file system,
 * which the programs here find out.
 */
#include "track/journal.bpf.h"
#include "track/async.bpf.h"
#include "track/core.bpf.h"
#include "track/sync_waiter.bpf.h"
#include "track/task_filter.bpf.h"

/* Commits in progress, by their thread: a journal has one. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IOT_JOURNAL_LIMIT);
  __type(key, iot_u32);
  __type(value, struct iot_commit);
} commits SEC(".maps");

/* Two consecutive transactions of a journal can be open at once: each has a word. */
static __always_inline void count_handle(iot_u32 device, iot_u32 transaction) {
  struct iot_journal* journal = find_journal(device);
  if (!journal)
    return;
  iot_u64* word = &journal->handles[transaction & 1];
  const iot_u64 first = (iot_u64)transaction << 32 | 1;
  const iot_u64 seen = *(volatile iot_u64*)word;
  if (seen >> 32 != transaction && __sync_val_compare_and_swap(word, seen, first) == seen)
    return;
  __sync_fetch_and_add(word, 1);
}

static __always_inline struct iot_commit* current_commit(void) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  return bpf_map_lookup_elem(&commits, &tid);
}

SEC("?tp_btf/jbd2_start_commit")
int BPF_PROG(journal_start_commit, struct journal_s* journal, struct transaction_s* transaction) {
  if (!journal || !transaction) /* never NULL, but verifiers assume it for a module's tracepoints */
    return 0;
  const struct block_device* holder = BPF_CORE_READ(journal, j_fs_dev);
  const struct gendisk* disk = BPF_CORE_READ(holder, bd_disk);
  struct iot_commit commit = {};
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  commit.disk = IOT_DEVICE(BPF_CORE_READ(disk, major), BPF_CORE_READ(disk, first_minor));
  if (is_stopped || !iot_device_wanted(commit.disk))
    return 0;
  commit.device = BPF_CORE_READ(holder, bd_dev);
  commit.transaction = transaction->t_tid;
  commit.pid = (iot_u32)(bpf_get_current_pid_tgid() >> 32);
  commit.is_of_all = iot_config.block_all && is_started && !iot_config.filter_files;
  commit.start_ns = bpf_ktime_get_ns();
  if (bpf_map_update_elem(&commits, &tid, &commit, BPF_ANY))
    iot_lose(IOT_COUNTER_kernel_journal_untracked);
  return 0;
}

SEC("?tp_btf/jbd2_commit_flushing")
int BPF_PROG(journal_commit_flushing) {
  struct iot_commit* commit = current_commit();
  if (commit)
    commit->flushing_ns = bpf_ktime_get_ns();
  return 0;
}

SEC("?tp_btf/jbd2_commit_logging")
int BPF_PROG(journal_commit_logging) {
  struct iot_commit* commit = current_commit();
  if (commit)
    commit->logging_ns = bpf_ktime_get_ns();
  return 0;
}

SEC("?tp_btf/jbd2_run_stats")
int BPF_PROG(journal_run_stats, iot_u32 device, iot_u32 transaction,
             struct transaction_run_stats_s* stats) {
  struct iot_commit* commit = current_commit();
  if (!commit || !stats)
    return 0;
  commit->running_ns = stats->rs_running * iot_config.tick_ns;
  commit->request_delay_ns = stats->rs_request_delay * iot_config.tick_ns;
  commit->handle_wait_ns = stats->rs_wait * iot_config.tick_ns;
  commit->handles = stats->rs_handle_count;
  commit->blocks = stats->rs_blocks;
  commit->blocks_logged = stats->rs_blocks_logged;
  return 0;
}

/* 0: no traced task is concerned. */
static __always_inline int is_of_traced(const struct iot_commit* commit, iot_u32* traced_handles) {
  iot_u32 device = commit->device;
  const struct iot_journal* journal = bpf_map_lookup_elem(&journals, &device);
  if (!journal)
    return commit->is_of_all;
  const iot_u64 word = journal->handles[commit->transaction & 1];
  if (word >> 32 == commit->transaction)
    *traced_handles = (iot_u32)word;
  return 1;
}

static __always_inline void emit_commit(const struct iot_commit* commit, iot_s64 result,
                                        iot_u32 traced_handles) {
  struct iot_owner owner = {};
  find_sync_waiter(commit->disk, &owner);
  owner.pid = commit->pid;
  owner.tid = (iot_u32)bpf_get_current_pid_tgid();
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_fs_journal_commit* record = IOT_RESERVE(fs_journal_commit, &place);
  if (!record)
    return;
  record->duration_ns = now_ns - commit->start_ns;
  record->running_ns = commit->running_ns;
  record->request_delay_ns = commit->request_delay_ns;
  record->handle_wait_ns = commit->handle_wait_ns;
  record->locked_ns = commit->flushing_ns - commit->start_ns;
  record->flushing_ns = commit->logging_ns - commit->flushing_ns;
  record->logging_ns = now_ns - commit->logging_ns;
  record->result = result;
  record->device = commit->device;
  record->transaction = commit->transaction;
  record->handles = commit->handles;
  record->traced_handles = traced_handles;
  record->blocks = commit->blocks;
  record->blocks_logged = commit->blocks_logged;
  iot_commit(&place, &owner, commit->start_ns);
}

/* Runs before the waiters are woken. */
SEC("?tp_btf/jbd2_end_commit")
int BPF_PROG(journal_end_commit, struct journal_s* journal) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  const struct iot_commit* commit = current_commit();
  iot_u32 traced_handles = 0;
  if (!commit || !journal)
    return 0;
  if (!is_stopped && iot_wants(IOT_KIND_fs_journal_commit) && is_of_traced(commit, &traced_handles))
    emit_commit(commit, journal->j_errno, traced_handles);
  bpf_map_delete_elem(&commits, &tid);
  return 0;
}

/*
 * Handles: a task has one at a time, and a nested one is part of it. They are not spans of the
 * task: a handle that could not be had has no end.
 */
struct journal_handle {
  iot_u64 asked_ns;
  iot_u64 had_ns; /* 0: not yet */
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IOT_REQUEST_LIMIT);
  __type(key, iot_u32); /* the task */
  __type(value, struct journal_handle);
} journal_handles SEC(".maps");

static __always_inline int ask_for_handle(void) {
  struct iot_task* task = iot_current();
  if (!task || iot_config.filter_files)
    return 0;
  iot_u32 tid = task->owner.tid;
  const struct journal_handle* outer = bpf_map_lookup_elem(&journal_handles, &tid);
  if (outer && outer->had_ns)
    return 0;
  const struct journal_handle asked = {.asked_ns = bpf_ktime_get_ns()};
  bpf_map_update_elem(&journal_handles, &tid, &asked, BPF_ANY);
  return 0;
}

SEC("?tp_btf/ext4_journal_start_inode") int BPF_PROG(journal_ask_of_inode) {
  return ask_for_handle();
}
SEC("?tp_btf/ext4_journal_start_sb") int BPF_PROG(journal_ask_of_sb) {
  return ask_for_handle();
}
SEC("?tp_btf/ext4_journal_start") int BPF_PROG(journal_ask) {
  return ask_for_handle();
}

SEC("?tp_btf/jbd2_handle_start")
int BPF_PROG(journal_handle_start, iot_u32 device, iot_u32 transaction) {
  struct iot_task* task = iot_current();
  if (!task || iot_config.filter_files || !iot_file_system_wanted(device))
    return 0;
  count_handle(device, transaction);
  if (!iot_wants(IOT_KIND_fs_journal_handle))
    return 0;
  iot_u32 tid = task->owner.tid;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct journal_handle* asked = bpf_map_lookup_elem(&journal_handles, &tid);
  if (asked && !asked->had_ns) {
    asked->had_ns = now_ns;
    return 0;
  }
  const struct journal_handle had = {.asked_ns = now_ns, .had_ns = now_ns};
  if (bpf_map_update_elem(&journal_handles, &tid, &had, BPF_ANY))
    iot_lose(IOT_COUNTER_kernel_journal_untracked);
  return 0;
}

SEC("?tp_btf/jbd2_handle_stats")
int BPF_PROG(journal_handle_stats, iot_u32 device, iot_u32 transaction, iot_u32 type, iot_u32 line,
             int interval, int sync, int requested_blocks, int dirtied_blocks) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  iot_u32 tid = task->owner.tid;
  const struct journal_handle* handle = bpf_map_lookup_elem(&journal_handles, &tid);
  if (!handle || !handle->had_ns)
    return 0;
  const struct journal_handle had = *handle;
  bpf_map_delete_elem(&journal_handles, &tid);
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_fs_journal_handle* record = IOT_RESERVE(fs_journal_handle, &place);
  if (!record)
    return 0;
  record->duration_ns = now_ns - had.asked_ns;
  record->wait_ns = had.had_ns - had.asked_ns;
  record->device = device;
  record->transaction = transaction;
  record->type = type;
  record->blocks_requested = (iot_u32)requested_blocks;
  record->blocks_dirtied = (iot_u32)dirtied_blocks;
  record->sync = sync != 0;
  iot_commit(&place, iot_owner_of(task), had.asked_ns);
  return 0;
}

/* The transaction with the data to be synced, as ext4 stores it with the inode. */
static __always_inline iot_u32 transaction_of(const struct inode* inode, iot_u32 datasync) {
  const struct ext4_inode_info* own =
      (const void*)((iot_u64)inode - bpf_core_field_offset(struct ext4_inode_info, vfs_inode));
  return datasync ? BPF_CORE_READ(own, i_datasync_tid) : BPF_CORE_READ(own, i_sync_tid);
}

#define BEGAN_TO_WAIT 2 /* in the detail of its span, beside IOT_SPAN_DATASYNC */
#define IS_DATASYNC(span) ((iot_u32)(span)->detail & IOT_SPAN_DATASYNC)

/* A worker of io_uring is in no call. A call may sync for an operation that it submitted. */
static __always_inline struct iot_owner owner_of_sync(struct iot_task* task) {
  struct iot_owner owner = *iot_owner_of(task);
  const struct iot_async* async = iot_async_of(0);
  iot_attribute_to_async(&owner, async);
  if (!async)
    attribute_to_submitted(&owner, task);
  return owner;
}

/*
 * The task now waits for the disk of this file, unless it already does. It does not yet in a write
 * to a file opened with O_DSYNC. The disk of a synced file of overlayfs is known only from here on.
 */
static __always_inline int begin_to_wait(struct iot_task* task, const struct file* file,
                                         iot_u32 key) {
  if (task->sync_disk && (task->sync_disk == disk_of_file(file) || !iot_file_of_bio_wanted(key)))
    return 0;
  const struct iot_owner owner = owner_of_sync(task);
  if (task->sync_disk)
    iot_end_sync_of_task(task, owner.op_id);
  iot_begin_sync_of_task(task, &owner, file, key);
  return 1;
}

SEC("?tp_btf/ext4_sync_file_enter")
int BPF_PROG(journal_sync_enter, struct file* trusted, int datasync) {
  struct file* file = IOT_UNTRUSTED(file, trusted);
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const struct inode* inode = file->f_inode;
  struct iot_span* span = iot_span_begin(task, IOT_KIND_fs_sync, (iot_u64)inode);
  if (!span)
    return 0;
  span->file = iot_identify(task, file->f_inode, file, 1);
  span->flags = inode->i_sb->s_dev;
  span->detail = datasync ? IOT_SPAN_DATASYNC : 0;
  if (begin_to_wait(task, file, span->file))
    span->detail |= BEGAN_TO_WAIT;
  if (iot_file_wanted(span->file))
    find_journal(span->flags);
  span->start_ns = bpf_ktime_get_ns();
  return 0;
}

SEC("?tp_btf/ext4_sync_file_exit")
int BPF_PROG(journal_sync_exit, struct inode* inode, int result) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const struct iot_owner owner = owner_of_sync(task);
  const struct iot_span* span = iot_span_end(task, IOT_KIND_fs_sync, (iot_u64)inode);
  if (span && span->detail & BEGAN_TO_WAIT)
    iot_end_sync_of_task(task, owner.op_id);
  if (!span || !iot_wants(IOT_KIND_fs_sync) || !iot_file_wanted(span->file))
    return 0;
  const iot_u64 duration_ns = bpf_ktime_get_ns() - span->start_ns;
  const iot_u32 transaction = transaction_of(inode, IS_DATASYNC(span));
  struct iot_place place;
  struct iot_fs_sync* record = IOT_RESERVE(fs_sync, &place);
  if (!record)
    return 0;
  record->duration_ns = duration_ns;
  record->result = result;
  record->file = span->file;
  record->device = span->flags;
  record->transaction = transaction;
  record->datasync = IS_DATASYNC(span);
  iot_commit(&place, &owner, span->start_ns);
  return 0;
}

/* xfs and btrfs */
static __always_inline iot_u32 is_kernel_thread(void) {
  return (bpf_get_current_task_btf()->flags & PF_KTHREAD) != 0;
}

/* Callers that reported a log force: 1: xfs reports it a second time for them; 0: no. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 64);
  __type(key, iot_u64);
  __type(value, iot_u32);
} log_force_callers SEC(".maps");

/* Whether a function is xfs_log_force() or xfs_log_force_seq(), here or in a module. */
static __noinline int is_log_force(iot_u64 address) {
  static const char format[] = "%ps";
  static const char all[] = "xfs_log_force";
  static const char up_to[] = "xfs_log_force_seq";
  char name[32] = {};
  if (bpf_snprintf(name, sizeof(name), format, &address, sizeof(address)) <= 0)
    return 0;
  const int is_up_to = bpf_strncmp(name, sizeof(up_to) - 1, up_to) == 0;
  if (!is_up_to && bpf_strncmp(name, sizeof(all) - 1, all) != 0)
    return 0;
  const char next = name[is_up_to ? sizeof(up_to) - 1 : sizeof(all) - 1];
  return next == 0 || next == ' ' || next == '.';
}

/*
 * xfs_log_force() and xfs_log_force_seq() report a force, and then call a function that reports it
 * once more.
 */
static __always_inline int is_reported_twice(iot_u64 caller) {
  const iot_u32* known = bpf_map_lookup_elem(&log_force_callers, &caller);
  if (known)
    return (int)*known;
  const iot_u32 is_second = (iot_u32)is_log_force(caller);
  bpf_map_update_elem(&log_force_callers, &caller, &is_second, BPF_ANY);
  return (int)is_second;
}

SEC("?tp_btf/xfs_log_force")
int BPF_PROG(journal_xfs_log_force, const struct xfs_mount* mount, iot_u64 sequence,
             iot_u64 caller) {
  struct iot_owner owner = {};
  if (!mount || is_reported_twice(caller))
    return 0;
  const iot_u32 device = BPF_CORE_READ(mount, m_super, s_dev);
  if (!find_asker(&owner, device, 0))
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_fs_log_force* record = IOT_RESERVE(fs_log_force, &place);
  if (!record)
    return 0;
  record->sequence = sequence;
  record->device = device;
  record->kernel_thread = is_kernel_thread();
  iot_commit(&place, &owner, now_ns);
  return 0;
}

/* Not `generation`, which may belong to a transaction that has begun since. */
SEC("?tp_btf/btrfs_transaction_commit")
int BPF_PROG(journal_btrfs_commit, const struct btrfs_fs_info* system) {
  struct iot_owner owner = {};
  if (!system)
    return 0;
  iot_u32 device = BPF_CORE_READ(system, sb, s_dev);
  if (!find_asker(&owner, device, bpf_map_lookup_elem(&journals, &device) != 0))
    return 0;
  const iot_u64 transaction = system->last_trans_committed;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_fs_transaction_commit* record = IOT_RESERVE(fs_transaction_commit, &place);
  if (!record)
    return 0;
  record->transaction = transaction;
  record->device = device;
  record->kernel_thread = is_kernel_thread();
  iot_commit(&place, &owner, now_ns);
  return 0;
}
