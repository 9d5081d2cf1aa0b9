/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Traced operations that wait until data is on its disk, by disk: system calls, writes to files
 * opened with O_DSYNC, changes to file systems that commit each of them, operations of io_uring and
 * libaio. If a kernel thread writes metadata to that disk meanwhile (a commit of a journal), or has
 * it flush its cache, it works for them: the write is attributed to one of them.
 */
#ifndef IOTRAIL_SYNC_WAITER_BPF_H
#define IOTRAIL_SYNC_WAITER_BPF_H

#include "track/core.bpf.h"

#define SYNC_WAITERS                                                                               \
  4 /* waiters of one disk that are known at once; they represent any further ones */

struct sync_waiters {
  struct iot_owner waiter[SYNC_WAITERS]; /* tid 0: a free place; op_id 0: not stored yet */
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IOT_SYNC_DISK_LIMIT);
  __type(key, iot_u32); /* the disk */
  __type(value, struct sync_waiters);
} sync_waiters SEC(".maps");

#define ANY_DISK                                                                                   \
  (~0U) /* of sync(2), which waits for all disks, and of waiters for an unknown one */
#define OVERLAYFS_SUPER_MAGIC 0x794c7630

/* The disk of a file system, by the disk that holds its journal alone. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IOT_JOURNAL_LIMIT);
  __type(key, iot_u32);
  __type(value, iot_u32);
} journal_disks SEC(".maps");

/* 0: none. */
static __always_inline iot_u32 disk_of_block_device(const struct block_device* device) {
  const struct gendisk* disk = BPF_CORE_READ(device, bd_disk);
  return disk ? IOT_DEVICE(BPF_CORE_READ(disk, major), BPF_CORE_READ(disk, first_minor)) : 0;
}

/*
 * The disk of the file system that holds a file. A file system that may have several disks (btrfs)
 * has none: its own number stands for them, with a major number of no disk. For overlayfs it is
 * the disk of its upper directory, on any file system. 0: unknown.
 */
static __always_inline iot_u32 disk_of_file(const struct file* file) {
  if (!file)
    return 0;
  const struct super_block* file_system = BPF_CORE_READ(file, f_inode, i_sb);
  const iot_u32 disk = disk_of_block_device(BPF_CORE_READ(file_system, s_bdev));
  if (disk)
    return disk;
  return BPF_CORE_READ(file_system, s_magic) == OVERLAYFS_SUPER_MAGIC
             ? ANY_DISK
             : BPF_CORE_READ(file_system, s_dev);
}

/* The operation begins to wait, unless all places are taken. */
static __noinline int iot_begin_sync(const struct iot_owner* owner, iot_u32 disk) {
  static const struct sync_waiters none = {};
  if (!owner || !disk)
    return 0;
  const int error = IOT_UPDATE(&sync_waiters, &disk, &none, BPF_NOEXIST);
  struct sync_waiters* waiters = bpf_map_lookup_elem(&sync_waiters, &disk);
  if (!waiters) {
    if (error == -E2BIG)
      iot_count(IOT_COUNTER_kernel_sync_untracked);
    return 0;
  }
  for (iot_u32 place = 0; place < SYNC_WAITERS; ++place) {
    struct iot_owner* waiter = &waiters->waiter[place];
    if (__sync_val_compare_and_swap(&waiter->tid, 0, owner->tid))
      continue;
    waiter->pid = owner->pid;
    waiter->parent_op = owner->parent_op;
    iot_store_release(&waiter->op_id, owner->op_id);
    return 0;
  }
  return 0;
}

static __noinline int iot_end_sync(iot_u64 op_id, iot_u32 disk) {
  struct sync_waiters* waiters = bpf_map_lookup_elem(&sync_waiters, &disk);
  if (!waiters)
    return 0;
  for (iot_u32 place = 0; place < SYNC_WAITERS; ++place) {
    struct iot_owner* waiter = &waiters->waiter[place];
    if (waiter->op_id != op_id)
      continue;
    waiter->op_id = 0;
    __sync_lock_test_and_set(&waiter->tid, 0);
  }
  return 0;
}

/* The operation of a task begins to wait for this disk. */
static __noinline int iot_begin_sync_on_disk(struct iot_task* task, const struct iot_owner* owner,
                                             iot_u32 disk) {
  if (!task || task->sync_disk)
    return 0;
  task->sync_disk = disk;
  return iot_begin_sync(owner, disk);
}

/*
 * The operation of a task begins to wait for this file (NULL: for all files) with this key. A file
 * that is not wanted has no waiters.
 */
static __noinline int iot_begin_sync_of_task(struct iot_task* task, const struct iot_owner* owner,
                                             const struct file* file, iot_u32 key) {
  if (!iot_file_of_bio_wanted(key))
    return 0;
  return iot_begin_sync_on_disk(task, owner, file ? disk_of_file(file) : ANY_DISK);
}

static __noinline int iot_end_sync_of_task(struct iot_task* task, iot_u64 op_id) {
  if (!task)
    return 0;
  const iot_u32 disk = task->sync_disk;
  task->sync_disk = 0;
  return iot_end_sync(op_id, disk);
}

/* Sets *owner to a waiter for the disk; 0 if none. */
__noinline int iot_find_waiter_of(iot_u32 disk, struct iot_owner* owner) {
  const struct sync_waiters* waiters = bpf_map_lookup_elem(&sync_waiters, &disk);
  if (!waiters || !owner)
    return 0;
  for (iot_u32 place = 0; place < SYNC_WAITERS; ++place)
    if (waiters->waiter[place].op_id) {
      *owner = waiters->waiter[place];
      return 1;
    }
  return 0;
}

/* Sets *owner to the operation that it submitted and that waits for the disk; 0 if none. */
__noinline int iot_attribute_to_waiter_under(iot_u32 disk, struct iot_owner* owner) {
  const struct sync_waiters* waiters = bpf_map_lookup_elem(&sync_waiters, &disk);
  if (!waiters || !owner)
    return 0;
  for (iot_u32 place = 0; place < SYNC_WAITERS; ++place)
    if (waiters->waiter[place].parent_op == owner->op_id && waiters->waiter[place].op_id) {
      *owner = waiters->waiter[place];
      return 1;
    }
  return 0;
}

/*
 * A call that submits asynchronous operations writes their data itself if it was written at once,
 * or if the device was done before the call.
 */
static __always_inline int attribute_to_submitted(struct iot_owner* owner,
                                                  const struct iot_task* task) {
  return task->submitted_sync_disk &&
         iot_attribute_to_waiter_under(task->submitted_sync_disk, owner);
}

/* Sets *owner to a waiter for the work of the running kernel thread on the disk; 0 if none. */
static __always_inline int find_sync_waiter(iot_u32 disk, struct iot_owner* owner) {
  if (!(bpf_get_current_task_btf()->flags & PF_KTHREAD))
    return 0;
  const iot_u32* of_journal = bpf_map_lookup_elem(&journal_disks, &disk);
  return iot_find_waiter_of(disk, owner) ||
         (of_journal && iot_find_waiter_of(*of_journal, owner)) ||
         iot_find_waiter_of(ANY_DISK, owner);
}

#endif
