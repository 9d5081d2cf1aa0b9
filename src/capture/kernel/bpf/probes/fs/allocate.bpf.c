/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The position of data on the disk: each range of a file that gets a place there, once. Two
 * tracepoints in the same task report it: one takes a place, the second names the range of the
 * file. The place is kept here until the second comes. The second alone is not enough: the range
 * may have had its place before, or have been merged with one that had.
 */
#include "track/attribution.bpf.h"
#include "track/call.bpf.h"
#include "track/core.bpf.h"
#include "track/journal.bpf.h"

struct taken_place {
  iot_u64 first; /* ext4: 0; xfs: block of the file system; btrfs: byte */
  iot_u64 count; /* xfs: blocks */
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IOT_ALLOCATION_LIMIT);
  __type(key, iot_u32); /* the task */
  __type(value, struct taken_place);
} taken_places SEC(".maps");

iot_s64 taken_count; /* number of entries: most often 0, and the tracepoints are frequent */

/*
 * Any task of the machine takes places. While programs are being attached or detached, the program
 * for the second tracepoint may be missing: a place would stay here and count for the next range.
 */
static __noinline int take_place(iot_u64 first, iot_u64 count) {
  if (!is_started)
    return 0;
  const struct taken_place place = {.first = first, .count = count};
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  if (bpf_map_update_elem(&taken_places, &tid, &place, BPF_NOEXIST) == 0) {
    __sync_fetch_and_add(&taken_count, 1);
    return 0;
  }
  iot_count(IOT_COUNTER_kernel_allocation_untracked);
  bpf_map_update_elem(&taken_places, &tid, &place, BPF_EXIST);
  return 0;
}

/* The place that the running task has taken; NULL: none. */
static __always_inline const struct taken_place* find_taken_place(void) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  return *(volatile iot_s64*)&taken_count ? bpf_map_lookup_elem(&taken_places, &tid) : 0;
}

static __noinline int forget_place(void) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  if (bpf_map_delete_elem(&taken_places, &tid) == 0)
    __sync_fetch_and_add(&taken_count, -1);
  return 0;
}

struct allocation {
  iot_u64 offset;
  iot_u64 bytes;
  iot_u64 disk_offset;
  iot_u64 disk_bytes;
  iot_u32 allocation;
  iot_u32 compression;
};

/* 0: the file is not recorded. */
static __noinline int emit_allocation(iot_u64 inode, const struct allocation* from) {
  struct attribution attribution = {};
  if (!from || is_stopped ||
      !find_attribution(&attribution, iot_current(), (struct inode*)inode, 0))
    return 0;
  if (!iot_wants(IOT_KIND_fs_allocate))
    return 1;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  const iot_u32 device = BPF_CORE_READ((const struct inode*)inode, i_sb, s_dev);
  struct iot_place place;
  struct iot_fs_allocate* record = IOT_RESERVE(fs_allocate, &place);
  if (!record)
    return 1;
  record->offset = from->offset;
  record->bytes = from->bytes;
  record->disk_offset = from->disk_offset;
  record->disk_bytes = from->disk_bytes;
  record->file = attribution.file;
  record->device = device;
  record->allocation = from->allocation;
  record->compression = from->compression;
  iot_commit(&place, &attribution.owner, now_ns);
  return 1;
}

/*
 * ext4. It takes more blocks than it maps if clusters are larger than blocks. A range may then also
 * get a place in a cluster that the file has. Blocks that are mapped as new may be old, unwritten
 * ones.
 */
#define EXT4_MB_HINT_DATA 0x0020 /* of a regular file */

SEC("?tp_btf/ext4_allocate_blocks")
int BPF_PROG(allocate_ext4_take, struct ext4_allocation_request* request) {
  return request && request->flags & EXT4_MB_HINT_DATA && request->len ? take_place(0, 0) : 0;
}

SEC("?tp_btf/ext4_get_implied_cluster_alloc_exit")
int BPF_PROG(allocate_ext4_take_part, void* super_block, void* map, int is_found) {
  return is_found ? take_place(0, 0) : 0;
}

static __always_inline int end_ext4(const struct inode* inode, const struct ext4_map_blocks* map,
                                    int result) {
  if (!inode || !map || !find_taken_place())
    return 0;
  forget_place();
  if (result <= 0 || (inode->i_mode & IOT_CHOICE_file_type) != IOT_file_type_regular)
    return 0; /* the place has been given back */
  const iot_u32 shift = inode->i_blkbits & 63;
  const iot_u32 unwritten = 1U << bpf_core_enum_value(enum bh_state_bits, BH_Unwritten);
  struct allocation allocation = {.offset = (iot_u64)map->m_lblk << shift,
                                  .bytes = (iot_u64)map->m_len << shift,
                                  .disk_offset = map->m_pblk << shift};
  allocation.disk_bytes = allocation.bytes;
  allocation.allocation =
      map->m_flags & unwritten ? IOT_fs_allocation_unwritten : IOT_fs_allocation_written;
  return emit_allocation((iot_u64)inode, &allocation);
}

SEC("?tp_btf/ext4_ext_map_blocks_exit")
int BPF_PROG(allocate_ext4_extent, struct inode* inode, u32 flags, struct ext4_map_blocks* map,
             int result) {
  end_ext4(inode, map, result);
  return 0;
}

/* For files without extents. */
SEC("?tp_btf/ext4_ind_map_blocks_exit")
int BPF_PROG(allocate_ext4_block, struct inode* inode, u32 flags, struct ext4_map_blocks* map,
             int result) {
  end_ext4(inode, map, result);
  return 0;
}

/*
 * xfs. A taken place enters the extents of the file in memory, alone or as part of one, which then
 * has the position in the file. The high bits of a block are the number of its group.
 */
#define XFS_ALLOC_USERDATA 1
#define NULLAGBLOCK (~0U)
#define BMAP_ATTRFORK (1U << 8)
#define BMAP_COWFORK (1U << 9)

static __always_inline int take_xfs(const struct xfs_alloc_arg* args) {
  if (!args || !(args->datatype & XFS_ALLOC_USERDATA) || args->agbno == NULLAGBLOCK)
    return 0;
  const iot_u32 group_bits = BPF_CORE_READ(args, mp, m_sb.sb_agblklog) & 63;
  return take_place((iot_u64)args->agno << group_bits | args->agbno, args->len);
}

SEC("?tp_btf/xfs_alloc_vextent_finish")
int BPF_PROG(allocate_xfs_take, struct xfs_alloc_arg* args) {
  return take_xfs(args);
}
/* Older kernels: each way to take a place has its own tracepoint. */
SEC("?tp_btf/xfs_alloc_exact_done")
int BPF_PROG(allocate_xfs_take_exact, struct xfs_alloc_arg* args) {
  return take_xfs(args);
}
SEC("?tp_btf/xfs_alloc_cur")
int BPF_PROG(allocate_xfs_take_near, struct xfs_alloc_arg* args) {
  return take_xfs(args);
}
SEC("?tp_btf/xfs_alloc_size_done")
int BPF_PROG(allocate_xfs_take_size, struct xfs_alloc_arg* args) {
  return take_xfs(args);
}
SEC("?tp_btf/xfs_alloc_small_freelist")
int BPF_PROG(allocate_xfs_take_small, struct xfs_alloc_arg* args) {
  return take_xfs(args);
}

/*
 * As in fs/xfs/libxfs/xfs_iext_tree.c: 54 bits of position in the file, 52 bits of block, 1 bit for
 * unwritten, 21 bits of length.
 */
struct xfs_extent {
  iot_u64 offset;
  iot_u64 first;
  iot_u64 count;
  iot_u32 is_unwritten;
};

static __always_inline struct xfs_extent extent_at(const struct xfs_iext_cursor* cursor) {
  struct {
    iot_u64 lo;
    iot_u64 hi;
  } packed = {};
  bpf_probe_read_kernel(&packed, sizeof(packed),
                        (const void*)((iot_u64)BPF_CORE_READ(cursor, leaf) +
                                      (iot_u64)(iot_u32)cursor->pos * sizeof(packed)));
  return (struct xfs_extent){.offset = packed.lo & ((1ULL << 54) - 1),
                             .first = packed.lo >> 54 | packed.hi >> 22 << 10,
                             .count = packed.hi & ((1ULL << 21) - 1),
                             .is_unwritten = packed.hi >> 21 & 1};
}

static __always_inline int end_xfs(const struct xfs_inode* inode,
                                   const struct xfs_iext_cursor* cursor, iot_u32 state) {
  const struct taken_place* place = find_taken_place();
  if (!inode || !cursor || !place || state & BMAP_ATTRFORK)
    return 0;
  const struct xfs_extent extent = extent_at(cursor);
  const iot_u64 before = place->first - extent.first;
  if (before + place->count > extent.count || before > extent.count)
    return 0; /* another part of the same change */
  const struct xfs_mount* mount = BPF_CORE_READ(inode, i_mount);
  const iot_u32 group_bits = BPF_CORE_READ(mount, m_sb.sb_agblklog) & 63;
  const iot_u32 shift = BPF_CORE_READ(mount, m_sb.sb_blocklog) & 63;
  const iot_u64 block = (place->first >> group_bits) * BPF_CORE_READ(mount, m_sb.sb_agblocks) +
                        (place->first & ((1ULL << group_bits) - 1));
  struct allocation allocation = {.offset = (extent.offset + before) << shift,
                                  .bytes = place->count << shift,
                                  .disk_offset = block << shift};
  allocation.disk_bytes = allocation.bytes;
  allocation.allocation = state & BMAP_COWFORK  ? IOT_fs_allocation_copy_on_write
                          : extent.is_unwritten ? IOT_fs_allocation_unwritten
                                                : IOT_fs_allocation_written;
  forget_place();
  return emit_allocation((iot_u64)inode + bpf_core_field_offset(struct xfs_inode, i_vnode),
                         &allocation);
}

SEC("?tp_btf/xfs_iext_insert")
int BPF_PROG(allocate_xfs_insert, struct xfs_inode* inode, struct xfs_iext_cursor* cursor,
             int state) {
  end_xfs(inode, cursor, (iot_u32)state);
  return 0;
}

SEC("?tp_btf/xfs_bmap_post_update")
int BPF_PROG(allocate_xfs_update, struct xfs_inode* inode, struct xfs_iext_cursor* cursor,
             int state) {
  end_xfs(inode, cursor, (iot_u32)state);
  return 0;
}

/*
 * btrfs. An ordered extent is data on its way to the disk, most often to a new place. Space from
 * fallocate has no ordered extent: it appears as data space that the call takes, and as the first
 * reference to that space.
 */
#define BTRFS_IN_PLACE (1UL << 1 | 1UL << 2) /* BTRFS_ORDERED_NOCOW, BTRFS_ORDERED_PREALLOC */
#define BTRFS_BLOCK_GROUP_DATA 1

SEC("?tp_btf/btrfs_ordered_extent_add")
int BPF_PROG(allocate_btrfs_ordered, const struct btrfs_inode* inode,
             const struct btrfs_ordered_extent* ordered) {
  if (!inode || !ordered)
    return 0;
  if (find_taken_place())
    forget_place(); /* the place was taken for this */
  if (ordered->flags & BTRFS_IN_PLACE)
    return 0;
  const struct allocation allocation = {.offset = ordered->file_offset,
                                        .bytes = ordered->num_bytes,
                                        .disk_offset = ordered->disk_bytenr,
                                        .disk_bytes = ordered->disk_num_bytes,
                                        .allocation = IOT_fs_allocation_written,
                                        .compression = (iot_u32)ordered->compress_type};
  const iot_u64 of = (iot_u64)inode + bpf_core_field_offset(struct btrfs_inode, vfs_inode);
  if (emit_allocation(of, &allocation))
    find_journal(BPF_CORE_READ((const struct inode*)of, i_sb, s_dev));
  return 0;
}

static __always_inline int is_in_fallocate(const struct iot_task* task) {
  return task && task->owner.op_id && IOT_CALL_NUMBER(task->call) == IOT_syscall_fallocate;
}

static __always_inline int take_btrfs(const struct btrfs_block_group* group, iot_u64 first) {
  return group && group->flags & BTRFS_BLOCK_GROUP_DATA && is_in_fallocate(iot_current())
             ? take_place(first, 0)
             : 0;
}

/*
 * The place is passed as numbers, or in the search structure since "btrfs: pass
 * find_free_extent_ctl to allocator tracepoints" (kernel commit cfc2de0fce01), which came with size
 * classes.
 */
SEC("?tp_btf/btrfs_reserve_extent")
int allocate_btrfs_take(unsigned long long* ctx) {
  const struct btrfs_block_group* group = (const struct btrfs_block_group*)ctx[0];
  if (!bpf_core_field_exists(struct find_free_extent_ctl, size_class))
    return take_btrfs(group, ctx[1]);
  const struct find_free_extent_ctl* search = (const struct find_free_extent_ctl*)ctx[1];
  return search ? take_btrfs(group, search->search_start) : 0;
}

/* The call names the file. */
static __noinline int end_btrfs(iot_u64 first, iot_u64 bytes, iot_u64 inode_number,
                                iot_u64 offset) {
  const struct taken_place* place = find_taken_place();
  const struct iot_task* task = iot_current();
  if (!place || place->first != first || !is_in_fallocate(task))
    return 0;
  forget_place();
  const struct pt_regs* regs = (const struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
  const iot_s32 fd = fd_of_call(regs, task->call);
  const struct file* file = (const struct file*)iot_file_pointer_of_fd(fd);
  const struct inode* inode = file ? BPF_CORE_READ(file, f_inode) : 0;
  if (!inode || BPF_CORE_READ(inode, i_ino) != inode_number) {
    iot_count(IOT_COUNTER_kernel_allocation_untracked);
    return 0;
  }
  const struct allocation allocation = {.offset = offset,
                                        .bytes = bytes,
                                        .disk_offset = first,
                                        .disk_bytes = bytes,
                                        .allocation = IOT_fs_allocation_unwritten};
  emit_allocation((iot_u64)inode, &allocation);
  return 0;
}

/* The target of a reference is in its node, or in a structure around it, which is passed too. */
SEC("?tp_btf/add_delayed_data_ref")
int allocate_btrfs_reference(unsigned long long* ctx) {
  const struct btrfs_delayed_ref_node* node = (const struct btrfs_delayed_ref_node*)ctx[1];
  if (!node || !find_taken_place())
    return 0;
  if (!bpf_core_type_exists(struct btrfs_delayed_data_ref))
    return end_btrfs(
        node->bytenr, node->num_bytes, BPF_CORE_READ(node, data_ref.objectid),
        BPF_CORE_READ(node, data_ref.offset)); /* in a union: verifiers see its first part */
  const struct btrfs_delayed_data_ref* reference = (const struct btrfs_delayed_data_ref*)ctx[2];
  return reference
             ? end_btrfs(node->bytenr, node->num_bytes, reference->objectid, reference->offset)
             : 0;
}
