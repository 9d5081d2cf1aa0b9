/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The page cache. Much happens to a traced program's files in the context of others (write-back, reclaim): an event is
 * recorded when the running task is traced, or the file is one that a traced task has used.
 */
#include "folio.bpf.h"
#include "span.bpf.h"

struct whose {
  struct io_task* task; /* NULL: not traced */
  io_u32 file;
  io_u64 op_id;
  io_u32 pid;
  io_u32 tid;
};

/* False: the event is nobody's. `direct`: the verifier knows the inode's type. */
static __always_inline int find_whose(struct whose* whose, struct io_task* task,
                                      struct inode* inode, const int direct) {
  if (task) {
    whose->file = direct ? io_identify(task, inode, 0, 1) : io_file_of_inode(task, inode, 0);
    whose->op_id = task->op_id;
    whose->pid = task->pid;
    whose->tid = task->tid;
  } else {
    whose->file = io_file_known((io_u64)inode);
    if (!whose->file)
      return 0;
    const io_u64 both = bpf_get_current_pid_tgid();
    whose->op_id = 0;
    whose->pid = (io_u32)(both >> 32);
    whose->tid = (io_u32)both;
  }
  return io_file_wanted(whose->file);
}

/* Hits, additions, deletions and dirtied pages have records of one shape; the kinds differ. */
_Static_assert(sizeof(struct io_cache_hit) == sizeof(struct io_cache_add), "one shape");
_Static_assert(sizeof(struct io_cache_delete) == sizeof(struct io_cache_add), "one shape");
_Static_assert(sizeof(struct io_cache_dirty) == sizeof(struct io_cache_add), "one shape");

static __always_inline int emit_pages(io_u32 kind, const struct whose* whose, io_u64 index,
                                      io_u32 pages) {
  const io_u64 now_ns = bpf_ktime_get_ns();
  struct io_slot slot;
  struct io_cache_add* record = io_reserve(&slot, kind);
  if (!record)
    return 0;
  record->index = index;
  record->file = whose->file;
  record->pages = pages;
  io_commit_for(&slot, whose->op_id, whose->pid, whose->tid, now_ns);
  return 0;
}

static __always_inline int emit_folio(io_u32 kind, struct io_task* task, const struct folio* folio,
                                      const struct address_space* mapping) {
  struct whose whose;
  if (!find_whose(&whose, task, mapping->host, 1))
    return 0;
  return emit_pages(kind, &whose, folio->index, io_folio_pages(folio, 1));
}

/* A look-up in progress learns of the pages that it did not find: see cache_hit below. */
static __always_inline void note_added(struct io_task* task, const struct folio* folio) {
  struct io_span* lookup = io_span_innermost(task);
  if (lookup && lookup->kind == IO_KIND_cache_hit && lookup->object == (io_u64)folio->mapping &&
      folio->index < lookup->detail)
    lookup->detail = folio->index;
}

SEC("?tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(cache_filemap_add, struct folio* folio) {
  struct io_task* task = io_current();
  if (task && io_wants(IO_KIND_cache_hit))
    note_added(task, folio);
  if (!io_wants(IO_KIND_cache_add))
    return 0;
  return emit_folio(IO_KIND_cache_add, task, folio, folio->mapping);
}

SEC("?tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(cache_filemap_delete, struct folio* folio) {
  return emit_folio(IO_KIND_cache_delete, io_current(), folio, folio->mapping);
}

SEC("?tp_btf/writeback_dirty_folio")
int BPF_PROG(cache_dirty_folio, struct folio* folio, struct address_space* mapping) {
  return mapping ? emit_folio(IO_KIND_cache_dirty, io_current(), folio, mapping) : 0;
}

/*
 * Beginning of write-back. Everything that writes dirty pages passes do_writepages: the flusher, sync, and fsync, for
 * which there is no tracepoint. The tracepoint, where nothing else can be had, sees the flusher and sync only.
 */
static __always_inline int begin_writeback(struct inode* inode, io_s64 pages, io_u32 mode,
                                           const int direct) {
  struct whose whose;
  if (!find_whose(&whose, io_current(), inode, direct))
    return 0;
  const io_u64 now_ns = bpf_ktime_get_ns();
  struct io_slot slot;
  struct io_cache_writeback* record = IO_RESERVE(cache_writeback, &slot);
  if (!record)
    return 0;
  record->pages = pages;
  record->file = whose.file;
  record->sync = mode == WB_SYNC_ALL;
  io_commit_for(&slot, whose.op_id, whose.pid, whose.tid, now_ns);
  return 0;
}

SEC("?fentry/do_writepages")
int BPF_PROG(cache_do_writepages, struct address_space* mapping, struct writeback_control* wbc) {
  return begin_writeback(mapping->host, wbc->nr_to_write, wbc->sync_mode, 1);
}

SEC("?kprobe/do_writepages")
int cache_do_writepages_kprobe(struct pt_regs* regs) {
  const struct address_space* mapping = (const void*)IO_PARAMETER_0(regs);
  const struct writeback_control* wbc = (const void*)IO_PARAMETER_1(regs);
  return begin_writeback(BPF_CORE_READ(mapping, host), BPF_CORE_READ(wbc, nr_to_write),
                         BPF_CORE_READ(wbc, sync_mode), 0);
}

SEC("?tp_btf/writeback_single_inode_start")
int BPF_PROG(cache_single_inode_start, struct inode* inode, struct writeback_control* wbc,
             unsigned long pages) {
  return begin_writeback(inode, (io_s64)pages, wbc->sync_mode, 1);
}

/*
 * Hits. filemap_get_pages finds, or brings in, the pages of one step of a read; what it returns and did not add itself
 * was there: so hits and additions complement each other exactly. (folio_mark_accessed, which is often used for this,
 * is not called when a read goes on in the page where the one before ended.) Read-ahead that a hit sets off adds pages
 * behind those returned, hence the comparison with the lowest page added. A page that another task is still reading in
 * counts as found: no second I/O was needed.
 *
 * The span of the look-up: `offset` first page, `bytes` page after the last one wanted, `detail` lowest page added.
 */
static __always_inline int begin_lookup(struct kiocb* iocb, io_u64 bytes) {
  struct io_task* task = io_current();
  if (!task)
    return 0;
  struct io_span* span = io_span_begin(task, IO_KIND_cache_hit, (io_u64)iocb->ki_filp->f_mapping);
  if (!span)
    return 0;
  const io_u64 position = (io_u64)iocb->ki_pos;
  span->offset = (io_s64)(position >> IO_PAGE_SHIFT);
  span->bytes = (position + bytes + (1 << IO_PAGE_SHIFT) - 1) >> IO_PAGE_SHIFT;
  span->detail = ~0ULL;
  return 0;
}

/* Page after the last one in the batch, whose pages follow one another. */
static __always_inline io_u64 batch_end(struct folio_batch* batch, io_u32 count) {
  if (count == 1)
    return batch->folios[0]->index + io_folio_pages(batch->folios[0], 1);
  io_u64 number = 0;
  io_u64 index = 0;
  bpf_probe_read_kernel(&number, sizeof(number),
                        (const char*)batch + bpf_core_field_offset(struct folio_batch, folios) +
                            (io_u64)(count - 1) * sizeof(void*));
  const int cast = io_config.has_cast;
  const struct folio* last = IO_TYPED(folio, number, cast);
  IO_LOAD(index, last, index, cast);
  return index + io_folio_pages(last, cast);
}

static __always_inline io_u64 lower(io_u64 a, io_u64 b) {
  return a < b ? a : b;
}

static __always_inline int end_lookup(struct kiocb* iocb, struct folio_batch* batch) {
  struct io_task* task = io_current();
  if (!task)
    return 0;
  const struct file* file = iocb->ki_filp;
  const struct address_space* mapping = file->f_mapping;
  struct io_span* span = io_span_end(task, IO_KIND_cache_hit, (io_u64)mapping);
  const io_u32 count = batch->nr;
  if (!span || !count)
    return 0;
  const io_u64 first = (io_u64)span->offset;
  const io_u64 end = lower(lower(batch_end(batch, count), span->bytes), span->detail);
  if (end <= first)
    return 0;
  struct whose whose = {.op_id = task->op_id, .pid = task->pid, .tid = task->tid};
  struct inode* inode = mapping->host; /* differs from the file's for block devices */
  whose.file = io_identify(task, inode, inode == file->f_inode ? file : 0, 1);
  if (!io_file_wanted(whose.file))
    return 0;
  return emit_pages(IO_KIND_cache_hit, &whose, first, (io_u32)(end - first));
}

/* Its length used to come as the vector. The third argument is told apart by its place: a program that asks for a
 * fourth one is refused where there is none, and the next is tried. */
SEC("?fentry/filemap_get_pages")
int BPF_PROG(cache_get_pages_enter, struct kiocb* iocb, io_u64 bytes, struct folio_batch* batch,
             io_u64 need_uptodate) {
  asm volatile("" ::"r"(need_uptodate));
  return begin_lookup(iocb, bytes);
}

SEC("?fentry/filemap_get_pages")
int BPF_PROG(cache_get_pages_iter_enter, struct kiocb* iocb, struct iov_iter* iter) {
  return begin_lookup(iocb, iter->count);
}

SEC("?fexit/filemap_get_pages")
int BPF_PROG(cache_get_pages_exit, struct kiocb* iocb, io_u64 unused, struct folio_batch* batch) {
  return end_lookup(iocb, batch);
}
