/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The page cache. Much happens to a traced program's files in the context of others (write-back, reclaim): charge.bpf.h.
 */
#include "charge.bpf.h"
#include "core.bpf.h"
#include "folio.bpf.h"

/* Hits, additions, deletions and dirtied pages have records of one shape; the kinds differ. */
_Static_assert(sizeof(struct iot_cache_hit) == sizeof(struct iot_cache_add), "one shape");
_Static_assert(sizeof(struct iot_cache_delete) == sizeof(struct iot_cache_add), "one shape");
_Static_assert(sizeof(struct iot_cache_dirty) == sizeof(struct iot_cache_add), "one shape");

static __always_inline int emit_pages(iot_u32 kind, const struct charge* charge, iot_u64 index,
                                      iot_u32 pages) {
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_cache_add* record = iot_reserve(&place, kind);
  if (!record)
    return 0;
  record->index = index;
  record->file = charge->file;
  record->pages = pages;
  iot_commit(&place, &charge->owner, now_ns);
  return 0;
}

static __always_inline int emit_folio(iot_u32 kind, struct iot_task* task,
                                      const struct folio* folio,
                                      const struct address_space* mapping) {
  struct charge charge;
  if (!find_charge(&charge, task, mapping->host, 1))
    return 0;
  return emit_pages(kind, &charge, folio->index, iot_folio_pages(folio, 1));
}

/* A look-up in progress learns of the pages that it did not find: see cache_hit below. */
static __always_inline void note_added(struct iot_task* task, const struct folio* folio) {
  struct iot_span* lookup = iot_span_innermost(task);
  if (lookup && lookup->kind == IOT_KIND_cache_hit && lookup->object == (iot_u64)folio->mapping &&
      folio->index < lookup->detail)
    lookup->detail = folio->index;
}

SEC("?tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(cache_filemap_add, struct folio* trusted) {
  struct folio* folio = IOT_UNTRUSTED(folio, trusted);
  struct iot_task* task = iot_current();
  if (task && iot_wants(IOT_KIND_cache_hit))
    note_added(task, folio);
  if (!iot_wants(IOT_KIND_cache_add))
    return 0;
  return emit_folio(IOT_KIND_cache_add, task, folio, folio->mapping);
}

SEC("?tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(cache_filemap_delete, struct folio* trusted) {
  struct folio* folio = IOT_UNTRUSTED(folio, trusted);
  return emit_folio(IOT_KIND_cache_delete, iot_current(), folio, folio->mapping);
}

SEC("?tp_btf/writeback_dirty_folio")
int BPF_PROG(cache_dirty_folio, struct folio* trusted, struct address_space* trusted_mapping) {
  struct folio* folio = IOT_UNTRUSTED(folio, trusted);
  struct address_space* mapping = IOT_UNTRUSTED(address_space, trusted_mapping);
  return mapping ? emit_folio(IOT_KIND_cache_dirty, iot_current(), folio, mapping) : 0;
}

/* What set off the write-back that a thread of the kernel is at, by its tid. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 256);
  __type(key, iot_u32);
  __type(value, iot_u32);
} flush_reasons SEC(".maps");

SEC("?tp_btf/writeback_start")
int BPF_PROG(cache_flush_begin, void* wb, struct wb_writeback_work* work) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  iot_u32 reason = iot_config.writeback_reasons[work->reason & (IOT_REASON_LIMIT - 1)];
  bpf_map_update_elem(&flush_reasons, &tid, &reason, BPF_ANY);
  return 0;
}

SEC("?tp_btf/writeback_written")
int BPF_PROG(cache_flush_end, void* wb, struct wb_writeback_work* work) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  bpf_map_delete_elem(&flush_reasons, &tid);
  return 0;
}

static __always_inline iot_u32 writeback_reason(void) {
  if (!(bpf_get_current_task_btf()->flags & PF_KTHREAD))
    return IOT_writeback_reason_call;
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  const iot_u32* reason = bpf_map_lookup_elem(&flush_reasons, &tid);
  return reason ? *reason : IOT_writeback_reason_unknown;
}

/*
 * Beginning of write-back. Everything that writes dirty pages passes do_writepages: the flusher, sync, and fsync, for
 * which there is no tracepoint. The tracepoint, where nothing else can be had, sees the flusher and sync only.
 */
static __always_inline int begin_writeback(struct inode* inode, iot_s64 pages, iot_u32 mode,
                                           const int direct) {
  struct charge charge;
  if (!find_charge(&charge, iot_current(), inode, direct))
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_cache_writeback* record = IOT_RESERVE(cache_writeback, &place);
  if (!record)
    return 0;
  record->pages = pages;
  record->file = charge.file;
  record->sync = mode == WB_SYNC_ALL;
  record->reason = writeback_reason();
  iot_commit(&place, &charge.owner, now_ns);
  return 0;
}

SEC("?fentry/do_writepages")
int BPF_PROG(cache_do_writepages, struct address_space* mapping, struct writeback_control* wbc) {
  return begin_writeback(mapping->host, wbc->nr_to_write, wbc->sync_mode, 1);
}

SEC("?kprobe/do_writepages")
int cache_do_writepages_kprobe(struct pt_regs* regs) {
  const struct address_space* mapping = (const void*)IOT_PARAMETER_0(regs);
  const struct writeback_control* wbc = (const void*)IOT_PARAMETER_1(regs);
  return begin_writeback(BPF_CORE_READ(mapping, host), BPF_CORE_READ(wbc, nr_to_write),
                         BPF_CORE_READ(wbc, sync_mode), 0);
}

SEC("?tp_btf/writeback_single_inode_start")
int BPF_PROG(cache_single_inode_start, struct inode* trusted, struct writeback_control* control,
             unsigned long pages) {
  struct inode* inode = IOT_UNTRUSTED(inode, trusted);
  struct writeback_control* wbc = IOT_UNTRUSTED(writeback_control, control);
  return begin_writeback(inode, (iot_s64)pages, wbc->sync_mode, 1);
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
static __always_inline int begin_lookup(struct kiocb* iocb, iot_u64 bytes) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  struct iot_span* span =
      iot_span_begin(task, IOT_KIND_cache_hit, (iot_u64)iocb->ki_filp->f_mapping);
  if (!span)
    return 0;
  const iot_u64 position = (iot_u64)iocb->ki_pos;
  span->offset = (iot_s64)(position >> IOT_PAGE_SHIFT);
  span->bytes = (position + bytes + (1 << IOT_PAGE_SHIFT) - 1) >> IOT_PAGE_SHIFT;
  span->detail = ~0ULL;
  return 0;
}

/* Page after the last one in the batch, whose pages follow one another. */
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

static __always_inline int end_lookup(struct kiocb* iocb, struct folio_batch* batch) {
  struct iot_task* task = iot_current();
  if (!task)
    return 0;
  const struct file* file = iocb->ki_filp;
  const struct address_space* mapping = file->f_mapping;
  struct iot_span* span = iot_span_end(task, IOT_KIND_cache_hit, (iot_u64)mapping);
  const iot_u32 count = batch->nr;
  if (!span || !count)
    return 0;
  const iot_u64 first = (iot_u64)span->offset;
  const iot_u64 end = lower(lower(batch_end(batch, count), span->bytes), span->detail);
  if (end <= first)
    return 0;
  struct charge charge = {.owner = task->owner};
  struct inode* inode = mapping->host; /* differs from the file's for block devices */
  charge.file = iot_identify(task, inode, inode == file->f_inode ? file : 0, 1);
  if (!iot_file_wanted(charge.file))
    return 0;
  return emit_pages(IOT_KIND_cache_hit, &charge, first, (iot_u32)(end - first));
}

/* Its length used to come as the vector. The third argument is told apart by its place: a program that asks for a
 * fourth one is refused where there is none, and the next is tried. */
SEC("?fentry/filemap_get_pages")
int BPF_PROG(cache_get_pages_enter, struct kiocb* iocb, iot_u64 bytes, struct folio_batch* batch,
             iot_u64 need_uptodate) {
  asm volatile("" ::"r"(need_uptodate));
  return begin_lookup(iocb, bytes);
}

SEC("?fentry/filemap_get_pages")
int BPF_PROG(cache_get_pages_iter_enter, struct kiocb* iocb, struct iov_iter* iter) {
  return begin_lookup(iocb, iter->count);
}

SEC("?fexit/filemap_get_pages")
int BPF_PROG(cache_get_pages_exit, struct kiocb* iocb, iot_u64 unused, struct folio_batch* batch) {
  return end_lookup(iocb, batch);
}
