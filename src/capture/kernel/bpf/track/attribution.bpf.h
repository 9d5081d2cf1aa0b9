/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The owner of an event on a file that may happen in the context of others, as in write-back and
 * reclaim. The event is recorded if the running task is traced, or if a traced task has used the
 * file.
 */
#ifndef IOTRAIL_ATTRIBUTION_BPF_H
#define IOTRAIL_ATTRIBUTION_BPF_H

#include "track/async.bpf.h"
#include "track/core.bpf.h"
#include "track/self_io.bpf.h"
#include "track/task_filter.bpf.h"

/*
 * The owner of an event, and its file. find_attribution() returns 0 if the event has no owner.
 * `direct`: the verifier knows the type of the inode.
 */
struct attribution {
  struct iot_owner owner;
  iot_u32 file;
};

static __always_inline int find_attribution(struct attribution* attribution, struct iot_task* task,
                                            struct inode* inode, const int direct) {
  if (iot_is_self_io_page(task, inode))
    return 0;
  if (task) {
    attribution->file =
        direct ? iot_identify(task, inode, 0, 1) : iot_file_of_inode(task, inode, 0);
    attribution->owner = *iot_owner_of(task);
    if (!task->owner.op_id) /* a worker thread of io_uring */
      iot_attribute_to_async(&attribution->owner, iot_async_of(0));
  } else {
    attribution->file = iot_is_excluded() ? 0 : iot_file_known((iot_u64)inode);
    if (!attribution->file)
      return 0;
    attribution->owner.op_id = 0;
    attribution->owner.parent_op = 0;
    attribute_to_running_task(&attribution->owner);
  }
  return iot_file_wanted(attribution->file);
}

#endif
