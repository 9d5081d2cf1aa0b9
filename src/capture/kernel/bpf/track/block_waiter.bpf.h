/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Block I/O of kernel threads for operations that wait for a disk (sync_waiter.bpf.h).
 */
#ifndef IOTRAIL_BLOCK_WAITER_BPF_H
#define IOTRAIL_BLOCK_WAITER_BPF_H

#include "track/block_content.bpf.h"
#include "track/sync_waiter.bpf.h"

/*
 * The disk of metadata as disk_of_file() has it: of the inode with its pages, else `device`.
 */
__noinline iot_u32 iot_disk_of_metadata(iot_u64 vector, iot_u32 device) {
  const iot_u64 inode = vector ? iot_inode_of_page(WORD_OF(bio_vec, vector, bv_page)) : 0;
  const iot_u64 super_block = inode ? WORD_OF(inode, inode, i_sb) : 0;
  const iot_u32 number = super_block ? (iot_u32)WORD_OF(super_block, super_block, s_dev) : 0;
  return number && !(number >> IOT_MINOR_BITS) ? number : device;
}

/*
 * Sets *owner to a waiter for metadata that a kernel thread writes, or for a flush without data; 0:
 * neither, or no waiter.
 */
static __noinline int iot_attribute_to_waiter(struct iot_owner* owner, iot_u64 vector,
                                              iot_u32 flags, iot_u32 device) {
  const iot_u32 is_for_waiters =
      flags & (1U << BIT_OF(__REQ_META) | (vector ? 0 : 1U << BIT_OF(__REQ_PREFLUSH)));
  return owner && is_for_waiters && find_sync_waiter(iot_disk_of_metadata(vector, device), owner);
}

#endif
