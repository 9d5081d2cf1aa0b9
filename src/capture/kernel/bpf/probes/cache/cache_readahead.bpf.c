/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Reads into the page cache: windows of read-ahead, and refaults, which are pages that were dropped
 * recently.
 *
 * A window is recorded at the end of the function that reads it. Its final position shows the
 * length of the window. The functions call each other with the same control structure; the request
 * to the outermost counts. They are not spans of the task, since a look-up in the cache around them
 * expects its own span as the innermost.
 */
#include "track/attribution.bpf.h"
#include "track/core.bpf.h"
#include "types/folio.bpf.h"

struct read_ahead {
  struct iot_owner owner;
  iot_u64 start_ns;
  iot_u64 control; /* the kernel's struct readahead_control */
  iot_u64 index;
  iot_u64 state_begin; /* the earlier state of the file */
  iot_u32 state_size;
  iot_u32 pages;
  iot_u32 file;
  iot_u32 page_order;
  iot_u32 trigger;
  iot_u32 depth; /* functions inside the outermost one */
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IOT_READ_AHEAD_LIMIT);
  __type(key, iot_u32); /* the thread */
  __type(value, struct read_ahead);
} read_aheads SEC(".maps");

#define STATE_OF(control, field)                                                                   \
  BPF_CORE_READ((const struct readahead_control*)(control), ra, field)

static __noinline int begin_read_ahead(iot_u64 control, iot_u64 pages, iot_u32 trigger,
                                       iot_u32 page_order) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  struct read_ahead* outer = bpf_map_lookup_elem(&read_aheads, &tid);
  if (outer && outer->control == control) {
    ++outer->depth;
    outer->page_order = page_order;
    return 0;
  }
  const struct readahead_control* from = (const struct readahead_control*)control;
  struct attribution attribution = {};
  if (!find_attribution(&attribution, iot_current(), BPF_CORE_READ(from, mapping, host), 0)) {
    if (outer) /* its end was missed */
      bpf_map_delete_elem(&read_aheads, &tid);
    return 0;
  }
  const struct read_ahead begun = {.owner = attribution.owner,
                                   .start_ns = bpf_ktime_get_ns(),
                                   .control = control,
                                   .index = BPF_CORE_READ(from, _index),
                                   .state_begin = STATE_OF(control, start),
                                   .state_size = STATE_OF(control, size),
                                   .pages = (iot_u32)pages,
                                   .file = attribution.file,
                                   .page_order = page_order,
                                   .trigger = trigger};
  if (bpf_map_update_elem(&read_aheads, &tid, &begun, BPF_ANY) || outer)
    iot_lose(IOT_COUNTER_kernel_span_lost);
  return 0;
}

/* A small random read is done as it is and does not change the state of the file. */
static __always_inline int is_by_state(const struct read_ahead* begun, iot_u64 control,
                                       iot_u64 end) {
  const iot_u64 begin = STATE_OF(control, start);
  const iot_u32 size = STATE_OF(control, size);
  return begin != begun->state_begin || size != begun->state_size ||
         (begin == begun->index && end == begin + size);
}

static __noinline int end_read_ahead(void) {
  iot_u32 tid = (iot_u32)bpf_get_current_pid_tgid();
  struct read_ahead* begun = bpf_map_lookup_elem(&read_aheads, &tid);
  if (!begun)
    return 0;
  if (begun->depth) {
    --begun->depth;
    return 0;
  }
  const iot_u64 control = begun->control;
  const iot_u64 end = BPF_CORE_READ((const struct readahead_control*)control, _index);
  const int by_state = is_by_state(begun, control, end);
  const iot_u64 begin = by_state ? STATE_OF(control, start) : begun->index;
  /* The state may lie behind the end of the file. */
  const iot_u64 mark =
      by_state ? begin + STATE_OF(control, size) - STATE_OF(control, async_size) : end;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_cache_readahead* record = IOT_RESERVE(cache_readahead, &place);
  if (record) {
    record->duration_ns = now_ns - begun->start_ns;
    record->index = begun->index;
    record->window_index = begin;
    record->file = begun->file;
    record->pages = begun->pages;
    record->window_pages = end > begin ? (iot_u32)(end - begin) : 0;
    record->async_pages = end > mark ? (iot_u32)(end - mark) : 0;
    record->page_order = begun->page_order;
    record->trigger = begun->trigger;
    iot_commit(&place, &begun->owner, begun->start_ns);
  }
  bpf_map_delete_elem(&read_aheads, &tid);
  return 0;
}

/* The order was an argument before it became part of the file's state. */
static __always_inline int begin_ordered(iot_u64 control, iot_u64 order) {
  if (bpf_core_field_exists(struct file_ra_state, order))
    order = STATE_OF(control, order);
  return begin_read_ahead(control, 1, IOT_read_ahead_mapped, (iot_u32)order);
}

static __always_inline iot_u64 argument_of_trampoline(iot_u64* ctx, iot_u32 number) {
  iot_u64 argument = 0;
  bpf_get_func_arg(ctx, number, &argument);
  return argument;
}

#define READ_AHEAD_ENDS(function)                                                                  \
  SEC("?fexit/" #function) int function##_exit(iot_u64* ctx) {                                     \
    return end_read_ahead();                                                                       \
  }                                                                                                \
  SEC("?kretprobe/" #function) int function##_kretprobe(struct pt_regs* regs) {                    \
    return end_read_ahead();                                                                       \
  }
/* Argument number `wanted` of the function is the number of pages. */
#define READ_AHEAD_PROGRAMS(function, wanted, trigger)                                             \
  SEC("?fentry/" #function) int function##_enter(iot_u64* ctx) {                                   \
    return begin_read_ahead(argument_of_trampoline(ctx, 0), argument_of_trampoline(ctx, wanted),   \
                            trigger, 0);                                                           \
  }                                                                                                \
  SEC("?kprobe/" #function) int function##_kprobe(struct pt_regs* regs) {                          \
    return begin_read_ahead(IOT_PARAMETER_0(regs), IOT_PARAMETER_##wanted(regs), trigger, 0);      \
  }                                                                                                \
  READ_AHEAD_ENDS(function)

READ_AHEAD_PROGRAMS(page_cache_sync_ra, 1, IOT_read_ahead_miss)
READ_AHEAD_PROGRAMS(page_cache_async_ra, 2, IOT_read_ahead_mark)
READ_AHEAD_PROGRAMS(force_page_cache_ra, 1, IOT_read_ahead_advice)

SEC("?fentry/page_cache_ra_order")
int page_cache_ra_order_enter(iot_u64* ctx) {
  return begin_ordered(argument_of_trampoline(ctx, 0), argument_of_trampoline(ctx, 2));
}
SEC("?kprobe/page_cache_ra_order")
int page_cache_ra_order_kprobe(struct pt_regs* regs) {
  return begin_ordered(IOT_PARAMETER_0(regs), IOT_PARAMETER_2(regs));
}
READ_AHEAD_ENDS(page_cache_ra_order)

/*
 * For a page that was dropped to free memory, the kernel keeps a number in the cache
 * (mm/workingset.c). Its lowest bit says whether the page was in the working set. The cache keeps
 * it shifted by one.
 */
#define SHADOW_WORKING_SET_SHIFT 1

static __noinline int emit_refault(iot_u64 address, iot_u64 shadow) {
  const struct folio* folio = (const struct folio*)address;
  const iot_u64 mapping = (iot_u64)BPF_CORE_READ(folio, mapping);
  if (!mapping || mapping & MAPPING_FLAGS) /* memory that was swapped */
    return 0;
  struct inode* inode = BPF_CORE_READ((const struct address_space*)mapping, host);
  struct attribution attribution = {};
  if (!inode || !find_attribution(&attribution, iot_current(), inode, 0))
    return 0;
  const iot_u64 index = BPF_CORE_READ(folio, index);
  const iot_u32 pages = iot_folio_pages(folio, 0);
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_cache_refault* record = IOT_RESERVE(cache_refault, &place);
  if (!record)
    return 0;
  record->index = index;
  record->file = attribution.file;
  record->pages = pages;
  record->working_set = (iot_u32)(shadow >> SHADOW_WORKING_SET_SHIFT & 1);
  iot_commit(&place, &attribution.owner, now_ns);
  return 0;
}

SEC("?fentry/workingset_refault")
int cache_refault_enter(iot_u64* ctx) {
  return emit_refault(argument_of_trampoline(ctx, 0), argument_of_trampoline(ctx, 1));
}
SEC("?kprobe/workingset_refault")
int cache_refault_kprobe(struct pt_regs* regs) {
  return emit_refault(IOT_PARAMETER_0(regs), IOT_PARAMETER_1(regs));
}
