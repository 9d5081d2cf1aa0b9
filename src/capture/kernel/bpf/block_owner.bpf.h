/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Whose block I/O is. Bios are known by their address from the moment they are queued until the request that carries
 * them ends, so that work done in interrupts and kernel threads is still told by whose it is. This holds whatever is
 * recorded.
 *
 * A bio is traced when the task that queues it is, when its first page belongs to a file that a traced task has used
 * (write-back of that file), when a kernel thread writes what a traced task waits for (sync_waiter.bpf.h), or when the
 * recording is of a device. A request is traced when one of its bios is.
 */
#ifndef IOTRAIL_BLOCK_OWNER_BPF_H
#define IOTRAIL_BLOCK_OWNER_BPF_H

#include "async.bpf.h"
#include "block_fields.bpf.h"
#include "block_flush.bpf.h"
#include "own.bpf.h"
#include "sync_waiter.bpf.h"
#include "syscall.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IOT_BIO_LIMIT);
  __type(key, iot_u64);
  __type(value, struct iot_bio);
} bios SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IOT_REQUEST_LIMIT);
  __type(key, iot_u64);
  __type(value, struct iot_request);
} requests SEC(".maps");

#define BDEVFS_MAGIC 0x62646576
#define MAPPING_FLAGS 3 /* low bits of page->mapping: not a file's page */
#define COMPOUND_TAIL 1

/* The inode whose page a bio carries first; 0: metadata, a program's own memory, a block device. */
static __always_inline iot_u64 inode_of_bio(const struct bio* bio) {
  if (bio->bi_opf & 1U << BIT_OF(__REQ_META) || !bio->bi_io_vec)
    return 0;
  const struct bio_vec* vector =
      (const struct bio_vec*)((iot_u64)bio->bi_io_vec +
                              bio->bi_iter.bi_idx * sizeof(struct bio_vec));
  const struct page* page = BPF_CORE_READ(vector, bv_page);
  const iot_u64 head = BPF_CORE_READ(page, compound_head);
  if (head & COMPOUND_TAIL)
    page = (const struct page*)(head - COMPOUND_TAIL);
  const iot_u64 mapping = (iot_u64)BPF_CORE_READ(page, mapping);
  if (!mapping || mapping & MAPPING_FLAGS)
    return 0;
  const struct inode* host = BPF_CORE_READ((const struct address_space*)mapping, host);
  /* Memory of other kinds has anything in this place: an inode points back at its mapping. */
  if (!host || (iot_u64)BPF_CORE_READ(host, i_mapping) != mapping ||
      BPF_CORE_READ(host, i_sb, s_magic) == BDEVFS_MAGIC)
    return 0;
  return (iot_u64)host;
}

/* The iocb that the end of a bio of direct I/O completes, whoever queues it; NULL: it has none, or is not known. */
static __always_inline const struct kiocb* iocb_of_direct_bio(const struct bio* bio) {
  const iot_u64 end = (iot_u64)bio->bi_end_io;
  if (bpf_core_type_exists(struct iomap_dio) && end && end == iot_functions.iomap_dio_bio_end_io)
    return BPF_CORE_READ((const struct iomap_dio*)bio->bi_private, iocb);
  if (bpf_core_type_exists(struct blkdev_dio) && end &&
      end == iot_functions.blkdev_bio_end_io_async)
    return BPF_CORE_READ(
        (const struct blkdev_dio*)((iot_u64)bio - bpf_core_field_offset(struct blkdev_dio, bio)),
        iocb);
  return 0;
}

/* Direct I/O of a call that waits: the file is the one that the call in progress names. */
static __always_inline iot_u32 file_of_call(struct iot_task* task, iot_u32 flags) {
  const iot_u32 kind = (iot_u32)(task->call & IOT_CALL_KIND_BITS) >> 16;
  if (!task->owner.op_id || (kind != IOT_KIND_syscall_read && kind != IOT_KIND_syscall_write) ||
      flags & (1U << BIT_OF(__REQ_META) | 1U << BIT_OF(__REQ_SWAP)))
    return 0;
  const struct pt_regs* regs = (const struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
  return iot_file_of_fd(fd_of_call(regs, task->call));
}

/* Fills whose the bio is; 0: it is not traced. */
static __always_inline int find_owner(struct iot_bio* entry, const struct bio* bio,
                                      iot_u32 device) {
  struct iot_task* task = iot_current();
  const struct kiocb* iocb = iocb_of_direct_bio(bio);
  const iot_u64 inode = iocb ? (iot_u64)BPF_CORE_READ(iocb, ki_filp, f_inode) : inode_of_bio(bio);
  const struct iot_async* async = iot_async_of(iocb);
  entry->queued_ns = bpf_ktime_get_ns();
  if (inode && iot_is_own_page(task, (const void*)inode))
    return 0;
  if (task) {
    entry->owner = task->owner;
    iot_charge_async(&entry->owner, async);
    entry->file =
        inode ? iot_file_of_inode(task, (const void*)inode, 0) : file_of_call(task, bio->bi_opf);
    return iot_file_of_bio_wanted(entry->file);
  }
  const iot_u64 both = bpf_get_current_pid_tgid();
  entry->owner.pid = (iot_u32)(both >> 32);
  entry->owner.tid = (iot_u32)both;
  if (inode)
    entry->file = iot_file_known(inode);
  else if (bio->bi_opf & 1U << BIT_OF(__REQ_META) && find_sync_waiter(device, &entry->owner))
    return iot_file_of_bio_wanted(0);
  return ((iot_config.block_all && is_started) || entry->file) &&
         iot_file_of_bio_wanted(entry->file);
}

/* One walk over the bios of a request; in memory, so that the verifier checks each step alike. */
struct bio_walk {
  iot_u64 bio; /* where it stands; 0: behind the last one */
  iot_u32 count;
  iot_u32 bytes; /* that are finished */
  iot_u32 is_traced;
  struct iot_bio first; /* of the traced ones */
};

static __always_inline void step_on(struct bio_walk* walk, struct bio* bio) {
  struct bio* next = 0;
  IOT_LOAD(next, bio, bi_next, iot_config.has_cast);
  walk->bio = (iot_u64)next;
}

static long find_traced(iot_u32 index, struct bio_walk* walk) {
  iot_u64 key = walk->bio;
  if (!key)
    return 1;
  const struct iot_bio* entry = bpf_map_lookup_elem(&bios, &key);
  if (entry) {
    walk->first = *entry;
    walk->is_traced = 1;
    return 1;
  }
  step_on(walk, IOT_TYPED(bio, key, iot_config.has_cast));
  return 0;
}

static __always_inline void count_cut(const struct bio_walk* walk) {
  if (walk->bio && !walk->is_traced)
    iot_count(IOT_COUNTER_kernel_bio_chain_cut);
}

/* The first traced bio of a request; 0: it has none. Most often it is the very first. */
static __always_inline int find_first(struct request* request, struct iot_bio* first) {
  struct bio_walk walk = {.bio = (iot_u64)request->bio};
  if (!find_traced(0, &walk))
    bpf_loop(IOT_BIO_CHAIN_LIMIT, find_traced, &walk, 0);
  count_cut(&walk);
  if (walk.is_traced)
    *first = walk.first;
  return (int)walk.is_traced;
}

static long count_bio(iot_u32 index, struct bio_walk* walk) {
  if (!walk->bio)
    return 1;
  ++walk->count;
  step_on(walk, IOT_TYPED(bio, walk->bio, iot_config.has_cast));
  return 0;
}

static __always_inline iot_u32 count_bios(struct request* request) {
  struct bio_walk walk = {.bio = (iot_u64)request->bio};
  count_bio(0, &walk);
  if (walk.bio)
    bpf_loop(IOT_BIO_CHAIN_LIMIT, count_bio, &walk, 0);
  count_cut(&walk);
  return walk.count;
}

static long forget_bio(iot_u32 index, struct bio_walk* walk) {
  iot_u64 key = walk->bio;
  if (!key)
    return 1;
  struct bio* bio = IOT_TYPED(bio, key, iot_config.has_cast);
  iot_u32 size = 0;
  IOT_LOAD(size, bio, bi_iter.bi_size, iot_config.has_cast);
  if (size > walk->bytes)
    return 1;
  walk->bytes -= size;
  walk->is_traced |= bpf_map_delete_elem(&bios, &key) == 0;
  step_on(walk, bio);
  return 0;
}

/*
 * Forgets the bios that these bytes finish. They are still whole: the kernel advances them after this hook. True: one
 * of them at least was traced.
 */
static __always_inline int forget_bios(struct request* request, iot_u32 bytes) {
  struct bio_walk walk = {.bio = (iot_u64)request->bio, .bytes = bytes};
  if (!forget_bio(0, &walk))
    bpf_loop(IOT_BIO_CHAIN_LIMIT, forget_bio, &walk, 0);
  return (int)walk.is_traced;
}

#endif
