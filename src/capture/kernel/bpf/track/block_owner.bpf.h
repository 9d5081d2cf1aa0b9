/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The owner of block I/O. Bios are known by address from when they are queued until their request
 * ends, whatever is recorded. Work in interrupts and kernel threads therefore has an owner.
 *
 * A bio is traced in four cases. A traced task queues it. A traced task has used the file of its
 * first page (write-back). A kernel thread writes what a traced task waits for (sync_waiter.bpf.h).
 * The recording names the device. A request is traced if one of its bios is.
 */
#ifndef IOTRAIL_BLOCK_OWNER_BPF_H
#define IOTRAIL_BLOCK_OWNER_BPF_H

#include "track/block_call.bpf.h"
#include "track/block_compressed.bpf.h"
#include "track/block_flush.bpf.h"
#include "track/block_mapped.bpf.h"
#include "track/block_waiter.bpf.h"
#include "track/self_io.bpf.h"
#include "track/sync_waiter.bpf.h"
#include "track/task_filter.bpf.h"

/* The direct I/O of iomap that a bio of btrfs completes; 0: it is no direct I/O, or unknown. */
__noinline iot_u64 iot_iomap_dio_of_btrfs(iot_u64 bio) {
  if (!bpf_core_field_exists(struct btrfs_bio, end_io) || !iot_functions.btrfs_dio_end_io)
    return 0;
  iot_u64 own = bio - bpf_core_field_offset(struct btrfs_bio, bio);
  if (!WORD_OF(btrfs_bio, own, end_io)) /* the front part of a split bio */
    own = WORD_OF(btrfs_bio, own, private);
  return own && WORD_OF(btrfs_bio, own, end_io) == iot_functions.btrfs_dio_end_io
             ? WORD_OF(btrfs_bio, own, private)
             : 0;
}

/*
 * The direct I/O of iomap that a bio with the completion function `end` completes; 0: none, or
 * unknown.
 */
static __always_inline iot_u64 iomap_dio_of(const struct bio* bio, iot_u64 end) {
  if (!bpf_core_type_exists(struct iomap_dio) || !end)
    return 0;
  if (end == iot_functions.iomap_dio_bio_end_io)
    return iot_number_of(bio->bi_private);
  return end == iot_functions.btrfs_simple_end_io ? iot_iomap_dio_of_btrfs(iot_number_of(bio)) : 0;
}

/* The iocb that a bio of direct I/O completes, as a number; 0: it has none, or is unknown. */
static __always_inline iot_u64 iocb_of_direct_bio(const struct bio* bio, iot_u64 end) {
  const int cast = iot_config.has_cast;
  struct kiocb* iocb = 0;
  const iot_u64 of_iomap = iomap_dio_of(bio, end);
  if (of_iomap) {
    const struct iomap_dio* dio = IOT_TYPED(iomap_dio, of_iomap, cast);
    IOT_LOAD(iocb, dio, iocb, cast);
    return iot_number_of(iocb);
  }
  if (bpf_core_type_exists(struct blkdev_dio) && end &&
      end == iot_functions.blkdev_bio_end_io_async) {
    const struct blkdev_dio* dio = IOT_TYPED(
        blkdev_dio, iot_number_of(bio) - bpf_core_field_offset(struct blkdev_dio, bio), cast);
    IOT_LOAD(iocb, dio, iocb, cast);
    return iot_number_of(iocb);
  }
  return 0;
}

/* The first task that waits for a completion; 0: none. */
static __always_inline iot_u64 waiter_of_completion(iot_u64 completion) {
  const iot_u64 list = completion + bpf_core_field_offset(struct completion, wait.task_list);
  const iot_u64 first = WORD_OF(list_head, list, next);
  return first && first != list
             ? WORD_OF(swait_queue, first - bpf_core_field_offset(struct swait_queue, task_list),
                       task)
             : 0;
}

/* The task that submitted direct I/O in progress; 0: unknown. */
static __always_inline iot_u64 submitter_of_direct_bio(iot_u64 bio, iot_u64 of_iomap) {
  if (of_iomap)
    return WORD_OF(iomap_dio, of_iomap, submit.waiter);
  const iot_u64 end = WORD_OF(bio, bio, bi_end_io);
  return end && end == iot_functions.submit_bio_wait_endio
             ? waiter_of_completion(WORD_OF(bio, bio, bi_private))
             : 0;
}

/* Sets *owner to the operation of libaio of an iocb; 0: unknown. */
static __always_inline int find_aio_of(iot_u64 iocb, iot_u32 process, struct iot_owner* owner) {
  const struct iot_async_key key = {
      .number = WORD_OF(aio_kiocb, iocb, ki_res.obj), .scope = process, .by = IOT_ASYNC_BY_IOCB};
  const struct iot_async* async = bpf_map_lookup_elem(&asyncs, &key);
  if (!async)
    return 0;
  *owner = async->owner;
  return 1;
}

/* Sets *owner to the operation that a traced task waits in; 0: none. */
static __always_inline int find_operation_of(iot_u32 tid, struct iot_owner* owner) {
  struct iot_task* task = iot_bucket_of(tid);
  if (!tid || task->live_tid != tid || !task->owner.op_id)
    return 0;
  *owner = *iot_owner_of(task);
  return 1;
}

/*
 * Sets *owner to the submitter of direct I/O that a kernel thread queues: a limit of a control
 * group delayed it, or btrfs uses its own threads. 0: unknown. The task may be gone: values from
 * its memory are looked up, not trusted.
 */
static __noinline int find_direct_submitter(iot_u64 bio, iot_u64 of_iomap,
                                            struct iot_owner* owner) {
  const iot_u64 task = submitter_of_direct_bio(bio, of_iomap);
  if (!owner || !task)
    return 0;
  const iot_u64 iocb = of_iomap ? WORD_OF(iomap_dio, of_iomap, iocb) : 0;
  const iot_u64 complete = iocb ? end_of_iocb(iocb) : 0;
  if (!complete)
    return find_operation_of((iot_u32)WORD_OF(task_struct, task, pid), owner);
  return complete == iot_functions.aio_complete_rw &&
         find_aio_of(iocb, (iot_u32)WORD_OF(task_struct, task, tgid), owner);
}

static __always_inline iot_u64 inode_of_iocb(iot_u64 number) {
  const int cast = iot_config.has_cast;
  const struct kiocb* iocb = IOT_TYPED(kiocb, number, cast);
  struct file* file = 0;
  struct inode* inode = 0;
  IOT_LOAD(file, iocb, ki_filp, cast);
  IOT_LOAD(inode, file, f_inode, cast);
  return iot_number_of(inode);
}

/*
 * Selects bios of an excluded task: those for a recorded operation, and pages of files that
 * recorded calls have used. A sample attributes such pages to the task's own calls.
 */
static __always_inline int is_for_others(int has_pages, const struct iot_async* async,
                                         iot_u32 flags) {
  return async || (!iot_config.sample_of && !iot_config.excludes_write_back && has_pages &&
                   flags & IS_WRITE);
}

/* Sets *owner to the operation for which the running task passes a bio on; 0: unknown. */
static __always_inline int find_submitter(struct iot_owner* owner, const struct bio* bio,
                                          iot_u64 end, const struct iot_async* async) {
  if (!async)
    return find_direct_submitter(iot_number_of(bio), iomap_dio_of(bio, end), owner);
  *owner = async->owner;
  return 1;
}

/*
 * The file of an untraced task's bio. It may be new if the task uses it for a recorded operation.
 */
static __always_inline iot_u32 file_for_others(iot_u64 inode, const struct iot_async* async) {
  struct iot_task* own =
      iot_config.filters_tasks && async ? iot_state_of(bpf_get_current_task_btf()) : 0;
  return own ? iot_file_of_inode(own, (const void*)inode, 0) : iot_file_known(inode);
}

/* Fills in the owner of a bio that no traced task queues; 0: it is not traced. */
static __always_inline int find_other_owner(struct iot_bio* entry, struct content* content,
                                            const struct bio* bio, iot_u64 end,
                                            const struct iot_async* async, iot_u32 flags,
                                            iot_u32 device) {
  if (iot_is_excluded() && !is_for_others((int)content->has_pages, async, flags))
    return 0;
  attribute_to_running_task(&entry->owner);
  const int has_submitter = find_submitter(&entry->owner, bio, end, async);
  content->by_kernel_thread = has_submitter && bpf_get_current_task_btf()->flags & PF_KTHREAD;
  if (content->inode)
    entry->file = file_for_others(content->inode, async);
  else if (iot_attribute_to_waiter(&entry->owner, iot_number_of(bio->bi_io_vec), flags, device))
    return 1; /* only wanted operations are known to wait */
  const int is_wanted =
      has_submitter || (iot_config.block_all && is_started && !iot_is_suppressed());
  const int is_written_back = entry->file && !(iot_config.excludes_write_back && flags & IS_WRITE);
  return (is_wanted || is_written_back) && iot_file_of_bio_wanted(entry->file);
}

/*
 * Fills in the owner of a traced task's bio; 1: the operation waits for its disk, on a wanted file.
 */
static __always_inline int attribute_to_task(struct iot_owner* owner, struct iot_task* task,
                                             const struct iot_async* async, iot_u32 flags) {
  *owner = *iot_owner_of(task);
  iot_attribute_to_async(owner, async);
  return task->sync_disk ||
         (async ? async->sync_disk != 0 : flags & IS_WRITE && attribute_to_submitted(owner, task));
}

/*
 * Fills in the content of a bio that is not mapped. Returns the iocb that it completes; 0: unknown.
 */
static __always_inline iot_u64 find_content(struct content* content, const struct bio* trusted,
                                            const struct bio* bio, iot_u32 flags) {
  const iot_u64 end = (iot_u64)trusted->bi_end_io;
  content->compressed = compressed_of_bio(bio, end);
  if (content->compressed) {
    content->inode = iot_inode_of_compressed(content->compressed);
    content->has_pages = content->inode != 0;
    content->is_compressed = 1;
    return 0;
  }
  if (!(flags & IS_WRITE) && is_decompressed(bio, end)) {
    content->is_compressed = 1;
    return 0;
  }
  const iot_u64 iocb = iocb_of_direct_bio(bio, end);
  content->inode = iocb ? inode_of_iocb(iocb) : inode_of_bio(bio, trusted->bi_iter.bi_idx, flags);
  content->has_pages = content->inode && !iocb;
  content->is_direct = iocb != 0;
  return iocb;
}

/*
 * Fills in owner and content of a mapped bio; 0: the bio above is unknown. Pages of another file
 * than that bio's are memory that a program maps: direct I/O.
 */
__noinline int iot_find_mapped(struct iot_bio* entry, struct content* content, iot_u64 bio,
                               iot_u32 flags) {
  if (!entry || !content || !iot_find_content_above(content, bio, flags))
    return 0;
  content->above = find_owner_above(entry, bio);
  if (!content->above)
    return 0;
  if (content->has_pages && iot_file_known(content->inode) != entry->file) {
    content->inode = 0;
    content->has_pages = 0;
    content->is_direct = 1;
  }
  return 1;
}

/*
 * An unknown operation of libaio or io_uring, although such operations are followed: it is
 * excluded.
 */
static __noinline int iot_is_of_excluded(iot_u64 iocb) {
  const iot_u64 complete = iocb ? end_of_iocb(iocb) : 0;
  return complete &&
         (complete == iot_functions.aio_complete_rw || complete == iot_functions.io_complete_rw ||
          complete == iot_functions.io_complete_rw_iopoll);
}

/* Fills in owner and content of a bio; 0: it is not traced. `trusted`: the argument as it came. */
static __always_inline int find_owner(struct iot_bio* entry, struct content* content,
                                      struct bio* trusted, iot_u32 flags, iot_u32 device) {
  const struct bio* bio = IOT_UNTRUSTED(bio, trusted);
  const iot_u64 end = (iot_u64)trusted->bi_end_io;
  struct iot_task* task = iot_current();
  entry->queued_ns = bpf_ktime_get_ns();
  entry->device = device;
  if (is_handed_on(end) && iot_find_mapped(entry, content, iot_number_of(bio), flags))
    return 1;
  const iot_u64 iocb = content->carrier ? 0 : find_content(content, trusted, bio, flags);
  const iot_u64 inode = content->inode;
  const struct iot_async* async = iot_async_of(iocb);
  if (inode && iot_is_self_io_page(task, (const void*)inode))
    return 0;
  if (iot_config.filters_operations && iot_config.follows_async && !async &&
      iot_is_of_excluded(iocb))
    return 0;
  if (task) {
    content->is_of_fault = task->op_depth && !async;
    const int is_waited_for =
        attribute_to_task(&entry->owner, task, async, flags) ||
        (!inode && !entry->owner.op_id && /* kernel threads are traced where all tasks are */
         iot_attribute_to_waiter(&entry->owner, iot_number_of(bio->bi_io_vec), flags, device));
    entry->file =
        inode ? iot_file_of_inode(task, (const void*)inode, 0) : file_of_call(task, flags);
    if (content->is_compressed && !inode)
      iot_find_read_file(content, task, flags);
    return iot_file_of_bio_wanted(entry->file) || (!entry->file && is_waited_for);
  }
  return find_other_owner(entry, content, bio, end, async, flags, device);
}

/*
 * Walks over the bios of a request. Most requests have one bio and need no walk. The state of a
 * walk is in memory, so that the verifier checks each step alike.
 */
struct bio_walk {
  iot_u64 bio; /* the current bio; 0: behind the last one */
  iot_u32 count;
  iot_u32 bytes; /* finished ones that are left */
  iot_u32 is_traced;
};

static __always_inline iot_u64 bio_after(iot_u64 at) {
  const struct bio* bio = IOT_TYPED(bio, at, iot_config.has_cast);
  struct bio* next = 0;
  IOT_LOAD(next, bio, bi_next, iot_config.has_cast);
  return iot_number_of(next);
}

static long find_traced(iot_u32 index, struct bio_walk* walk) {
  if (!walk->bio || iot_find_bio(walk->bio))
    return 1;
  walk->bio = bio_after(walk->bio);
  return 0;
}

/* The first traced bio from `bio` on; 0: none. */
static __noinline iot_u64 iot_find_first_traced(iot_u64 bio) {
  struct bio_walk walk = {.bio = bio};
  if (bpf_loop(IOT_BIO_CHAIN_LIMIT, find_traced, &walk, 0) < IOT_BIO_CHAIN_LIMIT)
    return walk.bio;
  iot_count(IOT_COUNTER_kernel_bio_chain_cut);
  return 0;
}

/*
 * The first traced bio of a request with the bios from `first_bio` on; NULL: none. Most often it is
 * the first.
 */
static __always_inline const struct iot_bio* find_first(const struct bio* first_bio) {
  const iot_u64 bio = iot_number_of(first_bio);
  if (!bio)
    return 0;
  const struct iot_bio* first = iot_find_bio(bio);
  if (first)
    return first;
  const iot_u64 later = iot_find_first_traced(bio);
  return later ? iot_find_bio(later) : 0;
}

static long count_bio(iot_u32 index, struct bio_walk* walk) {
  if (!walk->bio)
    return 1;
  ++walk->count;
  walk->bio = bio_after(walk->bio);
  return 0;
}

static __noinline iot_u32 iot_count_bios(iot_u64 bio) {
  struct bio_walk walk = {.bio = bio};
  bpf_loop(IOT_BIO_CHAIN_LIMIT, count_bio, &walk, 0);
  if (walk.bio)
    iot_count(IOT_COUNTER_kernel_bio_chain_cut);
  return walk.count;
}

static __always_inline iot_u32 count_bios(const struct bio* bio) {
  if (!bio)
    return 0;
  return bio->bi_next ? iot_count_bios(iot_number_of(bio)) : 1;
}

static long forget_bio(iot_u32 index, struct bio_walk* walk) {
  if (!walk->bio)
    return 1;
  struct bio* bio = IOT_TYPED(bio, walk->bio, iot_config.has_cast);
  iot_u32 size = 0;
  IOT_LOAD(size, bio, bi_iter.bi_size, iot_config.has_cast);
  if (size > walk->bytes)
    return 1;
  walk->bytes -= size;
  walk->is_traced |= (iot_u32)iot_take_bio(walk->bio);
  walk->bio = bio_after(walk->bio);
  return 0;
}

static __noinline int iot_forget_bios(iot_u64 bio, iot_u32 bytes) {
  struct bio_walk walk = {.bio = bio, .bytes = bytes};
  bpf_loop(IOT_BIO_CHAIN_LIMIT + 1, forget_bio, &walk, 0);
  return (int)walk.is_traced;
}

/*
 * Forgets the bios that these bytes finish. They are still whole: the kernel advances them after
 * this hook. True: at least one was traced.
 */
static __always_inline int forget_bios(const struct request* request, iot_u32 bytes) {
  const struct bio* bio = request->bio;
  if (!bio || bio->bi_iter.bi_size > bytes)
    return 0;
  return bio->bi_next ? iot_forget_bios(iot_number_of(bio), bytes)
                      : iot_take_bio(iot_number_of(bio));
}

#endif
