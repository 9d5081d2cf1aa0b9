/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Pages of the page cache: found, added, dirtied. cache_readahead.bpf.c, cache_writeback.bpf.c and
 * cache_leave.bpf.c trace what brings them in, writes them back and drops them.
 */
#include "track/attribution.bpf.h"
#include "track/core.bpf.h"
#include "types/folio.bpf.h"

/* The records of hits, additions and dirtied pages have one shape; only the kinds differ. */
_Static_assert(sizeof(struct iot_cache_hit) == sizeof(struct iot_cache_add), "one shape");
_Static_assert(sizeof(struct iot_cache_dirty) == sizeof(struct iot_cache_add), "one shape");

static __always_inline int emit_pages(iot_u32 kind, const struct iot_owner* owner, iot_u32 file,
                                      iot_u64 index, iot_u32 pages) {
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_cache_add* record = iot_reserve(&place, kind);
  if (!record)
    return 0;
  record->index = index;
  record->file = file;
  record->pages = pages;
  iot_commit(&place, owner, now_ns);
  return 0;
}

static __always_inline int emit_folio(iot_u32 kind, struct iot_task* task,
                                      const struct folio* folio,
                                      const struct address_space* mapping) {
  struct attribution attribution;
  if (!find_attribution(&attribution, task, mapping->host, 1))
    return 0;
  return emit_pages(kind, &attribution.owner, attribution.file, folio->index,
                    iot_folio_pages(folio, 1));
}

/*
 * Hits. filemap_get_pages finds or adds the pages of one step of a read. Pages that it returns and
 * its operation did not add were in the cache: hits and additions complement each other exactly.
 * folio_mark_accessed would not do: a read that continues in the page of the previous one does not
 * call it. A page that another task is still reading counts as found: it needed no second I/O.
 *
 * Only the end of a look-up is hooked: the arguments are still unchanged, and a program at the
 * begin would add half the cost. Pages that look-ups add are therefore remembered in the task, as
 * runs, until a look-up returns them.
 */
/* Return addresses in the function. A call from behind it is a look-up too, or adds nothing. */
#define LOOKUP_BYTES 4096
#define ADDING_FRAMES 16

static __noinline int is_below_lookup(void* context) {
  iot_u64 frames[ADDING_FRAMES] = {};
  if (!iot_functions.filemap_get_pages) /* the address is unknown */
    return 1;
  bpf_get_stack(context, frames, sizeof(frames), 0);
#pragma unroll
  for (int i = 0; i < ADDING_FRAMES; ++i)
    if (frames[i] - iot_functions.filemap_get_pages < LOOKUP_BYTES)
      return 1;
  return 0;
}

/* The running task holds the inode's lock for writing. */
static __always_inline int is_writing(const struct inode* inode) {
  if (!bpf_core_field_exists(inode->i_rwsem.owner))
    return 0;
  const iot_u64 owner = (iot_u64)inode->i_rwsem.owner.counter;
  return !(owner & RWSEM_READER_OWNED) &&
         (owner & ~RWSEM_OWNER_FLAGS) == (iot_u64)bpf_get_current_task_btf();
}

/*
 * In a call that only reads, all added pages are from look-ups, except in faults, which are
 * operations of their own. Other calls do several things (copies, submissions of aio and io_uring).
 * Threads of io_uring have no call: they add pages that they write, and read ahead on request.
 */
static __always_inline int is_reading(const struct iot_task* task) {
  return task->op_depth || (task->owner.op_id && (task->call & IOT_CALL_KIND_BITS) ==
                                                     (iot_u64)IOT_KIND_syscall_read << 16);
}

static __always_inline int is_run_of(const struct iot_added_run* run, const struct iot_task* task,
                                     iot_u64 mapping) {
  return run->mapping == mapping && run->op_id == task->owner.op_id;
}

/*
 * Completed operations need no look-ups any more. The operation of a fault lies within the
 * operation of a call.
 */
static __always_inline int is_free(const struct iot_added_run* run, const struct iot_task* task) {
  return !run->mapping ||
         (run->op_id != task->owner.op_id && (run->op_id != task->owner.parent_op || !run->op_id));
}

static __always_inline void note_added(void* context, struct iot_task* task,
                                       const struct folio* folio) {
  const struct address_space* mapping = folio->mapping;
  const iot_u64 cache = iot_number_of(mapping);
  const iot_u64 begin = folio->index;
  const iot_u64 end = begin + iot_folio_pages(folio, 1);
  struct iot_added* added = &task->added;
  iot_u64 place = IOT_ADDED_RUNS; /* none */
  iot_u64 before = IOT_ADDED_RUNS;
#pragma unroll
  for (int i = IOT_ADDED_RUNS - 1; i >= 0; --i) { /* the first run is dropped */
    struct iot_added_run* run = &added->runs[i];
    if (is_free(run, task))
      place = i;
    else if (is_run_of(run, task, cache) && run->end == begin)
      before = i;
  }
  /*
   * From here on the verifier does not know which run it is, so it need not follow each path
   * through the loop.
   */
  place = iot_hide_range(place);
  before = iot_hide_range(before);
  const int is_known = before < IOT_ADDED_RUNS;
  if (!is_reading(task) && (is_writing(mapping->host) || (!is_known && !is_below_lookup(context))))
    return;
  if (is_known) {
    added->runs[before & (IOT_ADDED_RUNS - 1)].end = end;
    return;
  }
  added->are_any = 1;
  if (place >= IOT_ADDED_RUNS) {
    added->is_short = 1;
    return;
  }
  struct iot_added_run* run = &added->runs[place & (IOT_ADDED_RUNS - 1)];
  run->op_id = task->owner.op_id;
  run->begin = begin;
  run->end = end;
  run->mapping = cache;
}

SEC("?tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(cache_filemap_add, struct folio* trusted) {
  struct folio* folio = IOT_UNTRUSTED(folio, trusted);
  struct iot_task* task = iot_current();
  if (task && iot_wants(IOT_KIND_cache_hit))
    note_added(ctx, task, folio);
  if (!iot_wants(IOT_KIND_cache_add))
    return 0;
  return emit_folio(IOT_KIND_cache_add, task, folio, folio->mapping);
}

SEC("?tp_btf/writeback_dirty_folio")
int BPF_PROG(cache_dirty_folio, struct folio* trusted, struct address_space* trusted_mapping) {
  struct folio* folio = IOT_UNTRUSTED(folio, trusted);
  struct address_space* mapping = IOT_UNTRUSTED(address_space, trusted_mapping);
  return mapping ? emit_folio(IOT_KIND_cache_dirty, iot_current(), folio, mapping) : 0;
}

/* The page after the last one of the batch, which has consecutive pages. */
static __always_inline iot_u64 batch_end(struct folio_batch* batch, iot_u32 count) {
  if (count == 1)
    return batch->folios[0]->index + iot_folio_pages(batch->folios[0], 1);
  iot_u64 number = 0;
  iot_u64 index = 0;
  bpf_probe_read_kernel(&number, sizeof(number),
                        (const char*)batch + bpf_core_field_offset(struct folio_batch, folios) +
                            (iot_u64)(count - 1) * sizeof(void*));
  const int cast = iot_config.has_cast;
  const struct folio* last = IOT_TYPED(folio, number, cast);
  IOT_LOAD(index, last, index, cast);
  return index + iot_folio_pages(last, cast);
}

static __always_inline iot_u64 lower(iot_u64 a, iot_u64 b) {
  return a < b ? a : b;
}

/* Global, so that the verifier checks it once: hits beside additions are rare. */
__noinline int iot_emit_hit(iot_u64 first, iot_u32 pages, iot_u32 file) {
  struct iot_task* task = iot_busy(bpf_get_current_task_btf());
  return task ? emit_pages(IOT_KIND_cache_hit, iot_owner_of(task), file, first, pages) : 0;
}

/*
 * The first run of a cache that ends behind `at`. `end` becomes its begin if no run is before it.
 */
static __always_inline struct iot_added_run next_run(const struct iot_task* task, iot_u64 mapping,
                                                     iot_u64 at, iot_u64 end) {
  struct iot_added_run next = {.begin = end, .end = end};
#pragma unroll
  for (int i = 0; i < IOT_ADDED_RUNS; ++i) {
    const struct iot_added_run* run = &task->added.runs[i];
    if (is_run_of(run, task, mapping) && run->end > at && run->begin < next.begin) {
      next.begin = run->begin;
      next.end = run->end;
    }
  }
  return next;
}

/*
 * Forgets the runs that a look-up up to `end` has passed. Threads without operations do one thing
 * after another.
 */
static __always_inline void forget_runs(struct iot_task* task, iot_u64 mapping, iot_u64 end) {
  iot_u32 are_any = 0;
#pragma unroll
  for (int i = 0; i < IOT_ADDED_RUNS; ++i) {
    struct iot_added_run* run = &task->added.runs[i];
    if (is_free(run, task) || (is_run_of(run, task, mapping) && (run->end <= end || !run->op_id)))
      run->mapping = 0;
    are_any |= run->mapping != 0;
  }
  task->added.are_any = are_any;
}

/* A look-up of the pages up to `end` by a task that has added some. */
static __noinline int emit_among_added(struct iot_task* task, iot_u64 mapping, iot_u64 first,
                                       iot_u64 end, iot_u32 file) {
  if (task->added.is_short) { /* the pages that it found are unknown */
    task->added = (struct iot_added){};
    iot_lose(IOT_COUNTER_kernel_span_lost);
    return 0;
  }
  iot_u64 at = first;
  for (int i = 0; i <= IOT_ADDED_RUNS && at < end; ++i) {
    const struct iot_added_run next = next_run(task, mapping, at, end);
    if (next.begin > at && iot_file_wanted(file))
      iot_emit_hit(at, (iot_u32)(next.begin - at), file);
    at = next.end;
  }
  forget_runs(task, mapping, end);
  return 0;
}

/* Local id of the file of the look-up if the layer vfs is in a read of it; else 0. */
static __always_inline iot_u32 file_of_reading(struct iot_task* task, const struct file* file) {
  if (!iot_wants(IOT_KIND_vfs_read))
    return 0;
  const struct iot_span* span = iot_span_innermost(task);
  return span && span->kind == IOT_KIND_vfs_read && span->object == (iot_u64)file ? span->file : 0;
}

/* `error` 0: the batch has at least one folio. */
static __always_inline int end_lookup(struct kiocb* iocb, iot_u64 bytes, struct folio_batch* batch,
                                      int error) {
  struct iot_task* task = error ? 0 : iot_current();
  if (!task)
    return 0;
  const struct file* file = iocb->ki_filp;
  const struct address_space* mapping = file->f_mapping;
  const iot_u64 position = (iot_u64)iocb->ki_pos;
  const iot_u64 first = position >> IOT_PAGE_SHIFT;
  iot_u64 end = (position + bytes + (1 << IOT_PAGE_SHIFT) - 1) >> IOT_PAGE_SHIFT; /* as wanted */
  if (end != first + 1)
    end = lower(end, batch_end(batch, batch->nr));
  /* Pages of a block device belong to the inode of its disk, not to the inode of the file. */
  const int is_of_file = (iot_u64)mapping == (iot_u64)&file->f_inode->i_data;
  iot_u32 id = is_of_file ? file_of_reading(task, file) : 0;
  if (!id) {
    struct inode* inode = mapping->host;
    id = iot_identify(task, inode, inode == file->f_inode ? file : 0, 1);
  }
  if (task->added.are_any)
    return emit_among_added(task, iot_number_of(mapping), first, end, id);
  if (end <= first || !iot_file_wanted(id))
    return 0;
  return emit_pages(IOT_KIND_cache_hit, iot_owner_of(task), id, first, (iot_u32)(end - first));
}

/*
 * Before, the vector held the length. With three arguments the result is the fourth: a kernel
 * refuses a program that asks for a fifth, and the next is tried.
 */
SEC("?fexit/filemap_get_pages")
int BPF_PROG(cache_get_pages_exit, struct kiocb* iocb, iot_u64 bytes, struct folio_batch* batch,
             iot_u64 need_uptodate, int error) {
  return end_lookup(iocb, bytes, batch, error);
}

SEC("?fexit/filemap_get_pages")
int BPF_PROG(cache_get_pages_iter_exit, struct kiocb* iocb, struct iov_iter* iter,
             struct folio_batch* batch, int error) {
  return end_lookup(iocb, iter->count, batch, error);
}
