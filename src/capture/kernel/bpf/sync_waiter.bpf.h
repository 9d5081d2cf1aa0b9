/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls of traced tasks that wait until a file's data is on its disk, by disk. A kernel thread that writes metadata to that
 * disk meanwhile (a journal's commit) does what they wait for: it is charged to one of them.
 */
#ifndef IOTRAIL_SYNC_WAITER_BPF_H
#define IOTRAIL_SYNC_WAITER_BPF_H

#include "core.bpf.h"

#define SYNC_WAITERS 4 /* of one disk that are known at once: of more, these stand for all */

struct sync_waiters {
  struct iot_owner waiter[SYNC_WAITERS]; /* tid 0: a free place; op_id 0: not told yet */
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 256);
  __type(key, iot_u32); /* the disk */
  __type(value, struct sync_waiters);
} sync_waiters SEC(".maps");

/*
 * The disk of the file system that a descriptor's file lies in. One that may have several disks (btrfs) names none: its own
 * number stands for them, whose major number no disk has. 0: not known.
 */
static __always_inline iot_u32 disk_of_fd(iot_s32 fd) {
  const struct file* file = (const struct file*)iot_file_pointer_of_fd(fd);
  if (!file)
    return 0;
  const struct gendisk* disk = BPF_CORE_READ(file, f_inode, i_sb, s_bdev, bd_disk);
  return disk ? IOT_DEVICE(BPF_CORE_READ(disk, major), BPF_CORE_READ(disk, first_minor))
              : BPF_CORE_READ(file, f_inode, i_sb, s_dev);
}

/* The call in progress begins to wait, unless all places are taken. */
static __noinline int iot_begin_sync(struct iot_task* task, iot_s32 fd) {
  static const struct sync_waiters none = {};
  iot_u32 disk = disk_of_fd(fd);
  if (!task || !disk)
    return 0;
  bpf_map_update_elem(&sync_waiters, &disk, &none, BPF_NOEXIST);
  struct sync_waiters* waiters = bpf_map_lookup_elem(&sync_waiters, &disk);
  if (!waiters)
    return 0;
  for (iot_u32 place = 0; place < SYNC_WAITERS; ++place) {
    struct iot_owner* waiter = &waiters->waiter[place];
    if (__sync_val_compare_and_swap(&waiter->tid, 0, task->owner.tid))
      continue;
    waiter->pid = task->owner.pid;
    waiter->parent_op = task->owner.parent_op;
    iot_store_release(&waiter->op_id, task->owner.op_id);
    task->sync_disk = disk;
    return 0;
  }
  return 0;
}

static __noinline int iot_end_sync(struct iot_task* task) {
  if (!task)
    return 0;
  iot_u32 disk = task->sync_disk;
  task->sync_disk = 0;
  struct sync_waiters* waiters = bpf_map_lookup_elem(&sync_waiters, &disk);
  if (!waiters)
    return 0;
  for (iot_u32 place = 0; place < SYNC_WAITERS; ++place) {
    struct iot_owner* waiter = &waiters->waiter[place];
    if (waiter->tid != task->owner.tid)
      continue;
    waiter->op_id = 0;
    __sync_lock_test_and_set(&waiter->tid, 0);
  }
  return 0;
}

/* Fills in who waits for what the running kernel thread does for the disk; 0: nobody. */
static __always_inline int find_sync_waiter(iot_u32 disk, struct iot_owner* owner) {
  if (!(bpf_get_current_task_btf()->flags & PF_KTHREAD))
    return 0;
  const struct sync_waiters* waiters = bpf_map_lookup_elem(&sync_waiters, &disk);
  if (!waiters)
    return 0;
  for (iot_u32 place = 0; place < SYNC_WAITERS; ++place)
    if (waiters->waiter[place].op_id) {
      *owner = waiters->waiter[place];
      return 1;
    }
  return 0;
}

#endif
