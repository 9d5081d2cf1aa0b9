/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls that wait for a commit of ext4's journal, besides syncs of files: changes to a file system
 * or directory that commits each change (mount -o sync, chattr +D, chattr +S), a remount, a freeze.
 * A journal may have a disk of its own: its writes belong to those who wait for the disk of the
 * file system.
 */
#include "track/async.bpf.h"
#include "track/sync_waiter.bpf.h"

/* Returns the disk of the file system; 0: unknown. */
static __noinline iot_u32 iot_note_journal(const struct journal_s* journal) {
  if (!journal)
    return 0;
  iot_u32 own = disk_of_block_device(BPF_CORE_READ(journal, j_dev));
  const iot_u32 disk = disk_of_block_device(BPF_CORE_READ(journal, j_fs_dev));
  if (own && disk && own != disk && IOT_UPDATE(&journal_disks, &own, &disk, BPF_ANY) == -E2BIG)
    iot_count(IOT_COUNTER_kernel_journal_unknown);
  return disk;
}

/* The call in progress waits until the disk has all of a journal. A worker of io_uring is in none. */
static __always_inline void begin_wait_for(const struct journal_s* journal) {
  struct iot_task* task = iot_current();
  if (!task)
    return;
  const iot_u32 disk = iot_note_journal(journal);
  if (disk && task->owner.op_id && iot_file_of_bio_wanted(0))
    iot_begin_sync_on_disk(task, &task->owner, disk);
}

/* The end of a change. The task still has its handle. */
SEC("?tp_btf/jbd2_handle_stats")
int BPF_PROG(journal_wait_for_change, iot_u32 device, iot_u32 transaction, iot_u32 type,
             iot_u32 line, int interval, int sync) {
  if (!sync)
    return 0;
  const struct task_struct* current = bpf_get_current_task_btf();
  const struct jbd2_journal_handle* handle = BPF_CORE_READ(current, journal_info);
  begin_wait_for(BPF_CORE_READ(handle, h_transaction, t_journal));
  return 0;
}

static __always_inline const struct journal_s* journal_of(const struct super_block* file_system) {
  const struct ext4_sb_info* own = (const void*)BPF_CORE_READ(file_system, s_fs_info);
  return own ? BPF_CORE_READ(own, s_journal) : 0;
}

/*
 * The whole file system: sync(2), syncfs(2), a remount, a freeze. They call twice: the first call
 * starts the commit, and the second waits for it.
 */
SEC("?tp_btf/ext4_sync_fs")
int BPF_PROG(journal_wait_for_all, const struct super_block* file_system) {
  if (file_system)
    begin_wait_for(journal_of(file_system));
  return 0;
}

/* A file: its call or its operation is known to wait (journal.bpf.c), but not where the journal is. */
SEC("?tp_btf/ext4_sync_file_enter")
int BPF_PROG(journal_wait_for_file, struct file* trusted) {
  struct file* file = IOT_UNTRUSTED(file, trusted);
  if (iot_current())
    iot_note_journal(journal_of(BPF_CORE_READ(file, f_inode, i_sb)));
  return 0;
}
