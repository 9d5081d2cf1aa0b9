/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Space that ext4 reserves for data without a place on the disk (delayed allocation). It is
 * reserved when data is written to the cache, and released when the data gets its place or is
 * dropped. ext4 counts clusters, and reports each change while it holds the count of the file.
 */
#include "track/attribution.bpf.h"
#include "track/core.bpf.h"

/* Runs before released space is subtracted from the count, and after reserved space is added. */
static __noinline int emit_reservation(iot_u64 inode_address, iot_s32 clusters, iot_u32 change) {
  const struct inode* inode = (const struct inode*)inode_address;
  struct attribution attribution = {};
  if (!inode || clusters <= 0 || is_stopped ||
      !find_attribution(&attribution, iot_current(), (struct inode*)inode, 0))
    return 0;
  const struct ext4_inode_info* own =
      (const void*)(inode_address - bpf_core_field_offset(struct ext4_inode_info, vfs_inode));
  const struct super_block* super_block = BPF_CORE_READ(inode, i_sb);
  const struct ext4_sb_info* of_ext4 = (const void*)BPF_CORE_READ(super_block, s_fs_info);
  const iot_u32 shift =
      (BPF_CORE_READ(inode, i_blkbits) + BPF_CORE_READ(of_ext4, s_cluster_bits)) & 63;
  const iot_u64 counted = BPF_CORE_READ(own, i_reserved_data_blocks);
  iot_u64 changed = (iot_u32)clusters;
  iot_u64 left = counted;
  if (change != IOT_fs_reservation_reserved) {
    if (changed > counted) /* the kernel does the same, and warns */
      changed = counted;
    left = counted - changed;
  }
  const iot_u32 device = BPF_CORE_READ(super_block, s_dev);
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_fs_reserve* record = IOT_RESERVE(fs_reserve, &place);
  if (!record)
    return 0;
  record->bytes = changed << shift;
  record->reserved_bytes = left << shift;
  record->file = attribution.file;
  record->device = device;
  record->change = change;
  iot_commit(&place, &attribution.owner, now_ns);
  return 0;
}

SEC("?tp_btf/ext4_da_reserve_space")
int BPF_PROG(reserve_ext4_many, const struct inode* inode, int clusters) {
  return emit_reservation((iot_u64)inode, clusters, IOT_fs_reservation_reserved);
}

/* For kernels that report one cluster at a time. */
SEC("?tp_btf/ext4_da_reserve_space")
int BPF_PROG(reserve_ext4_one, const struct inode* inode) {
  return emit_reservation((iot_u64)inode, 1, IOT_fs_reservation_reserved);
}

SEC("?tp_btf/ext4_da_update_reserve_space")
int BPF_PROG(reserve_ext4_placed, const struct inode* inode, int clusters) {
  return emit_reservation((iot_u64)inode, clusters, IOT_fs_reservation_placed);
}

SEC("?tp_btf/ext4_da_release_space")
int BPF_PROG(reserve_ext4_released, const struct inode* inode, int clusters) {
  return emit_reservation((iot_u64)inode, clusters, IOT_fs_reservation_released);
}
