/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Memory on its way to a swap area and back, by its bios: one for each page or larger folio. The
 * folio has its place in the area. Memory that stays, compressed or known to be zeros, has no bio.
 */
#include "probes/block/block_class.bpf.h"
#include "track/core.bpf.h"

/* The records have one shape; only the kinds differ. */
_Static_assert(sizeof(struct iot_memory_swap_in) == sizeof(struct iot_memory_swap_out),
               "one shape");

/*
 * In flight, by bio. All entries are allocated at the start: memory is short when most of them are
 * needed.
 */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IOT_SWAP_LIMIT);
  __type(key, iot_u64);
  __type(value, struct iot_swap);
} swaps SEC(".maps");

static __noinline int emit_swap(const struct iot_swap* swap, iot_u64 duration_ns, iot_s32 result) {
  struct iot_place place;
  if (!swap)
    return 0;
  struct iot_memory_swap_in* record = iot_reserve(&place, swap->kind);
  if (!record)
    return 0;
  record->duration_ns = duration_ns;
  record->slot = swap->slot;
  record->sector = swap->sector;
  record->area = swap->area;
  record->device = swap->device;
  record->pages = swap->pages;
  record->result = result;
  iot_commit(&place, &swap->owner, swap->start_ns);
  return 0;
}

/*
 * The completion function separates a bio of the swap area from those that carry its pages further
 * down.
 */
static __always_inline int may_be_swap(iot_u64 end) {
  if (!iot_functions.end_swap_bio_read) /* the function is unknown */
    return 1;
  return end == iot_functions.end_swap_bio_read || end == iot_functions.end_swap_bio_write ||
         end == iot_functions.submit_bio_wait_endio;
}

/* 0: no swapping, or not wanted. A page that is being read belongs to no program yet. */
static __always_inline iot_u32 kind_of_swap(iot_u32 flags, iot_u64 page) {
  const iot_u32 operation = flags & IOT_CHOICE_block;
  if (operation == IOT_block_write)
    return iot_wants(IOT_KIND_memory_swap_out) && flags >> BIT_OF(__REQ_SWAP) & 1
               ? IOT_KIND_memory_swap_out
               : 0;
  return operation == IOT_block_read && iot_wants(IOT_KIND_memory_swap_in) &&
                 iot_class_of_memory(page) == IOT_io_class_swap
             ? IOT_KIND_memory_swap_in
             : 0;
}

/* Sets the owner: a traced task, or a kernel thread, which has no operation. */
static __always_inline int find_swapper(struct iot_owner* owner) {
  struct iot_task* task = iot_current();
  if (task) {
    *owner = *iot_owner_of(task);
    if (!task->owner.op_id) /* a worker thread of io_uring */
      iot_attribute_to_async(owner, iot_async_of(0));
    return 1;
  }
  if (!is_started || is_stopped || !(bpf_get_current_task_btf()->flags & PF_KTHREAD))
    return 0;
  attribute_to_running_task(owner);
  return 1;
}

/*
 * An entry of a swap area, as the kernel writes it in a folio: 58 bits of position, above them the
 * area.
 */
#define SWAP_SLOT_BITS 58

/* Stale entry: the previous bio at this address has ended unseen (docs/adr/0007). */
static __noinline int begin_swap(iot_u64 bio, const struct iot_swap* swap) {
  if (!swap)
    return 0;
  const struct iot_swap* before = bpf_map_lookup_elem(&swaps, &bio);
  if (before)
    emit_swap(before, 0, IOT_UNFINISHED);
  if (bpf_map_update_elem(&swaps, &bio, swap, BPF_ANY))
    emit_swap(swap, 0, IOT_UNFINISHED);
  return 0;
}

SEC("?tp_btf/block_bio_queue")
int BPF_PROG(memory_swap_queue, struct bio* trusted) {
  struct bio* bio = IOT_UNTRUSTED(bio, trusted);
  if (!may_be_swap((iot_u64)bio->bi_end_io) || !bio->bi_io_vec)
    return 0;
  const iot_u64 page = iot_number_of(bio->bi_io_vec->bv_page);
  struct iot_swap swap = {.kind = kind_of_swap(trusted->bi_opf, page)};
  swap.device = device_of(bio->bi_bdev->bd_disk);
  if (!swap.kind || !iot_device_wanted(swap.device) || !find_swapper(&swap.owner))
    return 0;
  const iot_u64 entry = WORD_OF(folio, page, private);
  swap.slot = entry & ((1ULL << SWAP_SLOT_BITS) - 1);
  swap.area = (iot_u32)(entry >> SWAP_SLOT_BITS);
  swap.sector = trusted->bi_iter.bi_sector;
  swap.pages = trusted->bi_iter.bi_size >> IOT_PAGE_SHIFT;
  swap.start_ns = bpf_ktime_get_ns();
  return begin_swap(iot_number_of(bio), &swap);
}

static __noinline int end_swap(iot_u64 bio, iot_u32 status) {
  const struct iot_swap* found = bpf_map_lookup_elem(&swaps, &bio);
  if (!found)
    return 0;
  const struct iot_swap swap = *found;
  bpf_map_delete_elem(&swaps, &bio);
  return emit_swap(&swap, bpf_ktime_get_ns() - swap.start_ns, error_of(status));
}

/* For a device without requests. */
SEC("?tp_btf/block_bio_complete")
int BPF_PROG(memory_swap_bio_complete, struct request_queue* queue, struct bio* trusted) {
  struct bio* bio = IOT_UNTRUSTED(bio, trusted);
  if (is_stopped || !may_be_swap((iot_u64)bio->bi_end_io))
    return 0;
  return end_swap(iot_number_of(bio), trusted->bi_status);
}

struct swap_walk {
  iot_u64 bio;
  iot_u32 bytes; /* finished ones that are left */
  iot_u32 status;
};

static long end_if_swap(iot_u32 index, struct swap_walk* walk) {
  if (!walk->bio)
    return 1;
  const struct bio* bio = IOT_TYPED(bio, walk->bio, iot_config.has_cast);
  void* end = 0;
  iot_u32 size = 0;
  IOT_LOAD(size, bio, bi_iter.bi_size, iot_config.has_cast);
  IOT_LOAD(end, bio, bi_end_io, iot_config.has_cast);
  if (size > walk->bytes)
    return 1;
  if (may_be_swap((iot_u64)end))
    end_swap(walk->bio, walk->status);
  walk->bytes -= size;
  walk->bio = bio_after(walk->bio);
  return 0;
}

/* The bios that these bytes finish are still whole: the kernel advances them after this hook. */
SEC("?tp_btf/block_rq_complete")
int BPF_PROG(memory_swap_rq_complete, struct request* trusted, int status, unsigned int bytes) {
  struct request* request = IOT_UNTRUSTED(request, trusted);
  struct swap_walk walk = {
      .bio = iot_number_of(request->bio), .bytes = bytes, .status = (iot_u32)status};
  if (is_stopped || !walk.bio || !bytes)
    return 0;
  if (bpf_loop(IOT_BIO_CHAIN_LIMIT, end_if_swap, &walk, 0) == IOT_BIO_CHAIN_LIMIT && walk.bio)
    iot_count(IOT_COUNTER_kernel_bio_chain_cut);
  return 0;
}
