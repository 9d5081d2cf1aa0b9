/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The block layer: requests on their way to the device and back. Bios on their way to requests are
 * in block_bio.bpf.c; block_owner.bpf.h finds their owners.
 */
#include "track/block_owner.bpf.h"

/* The fields of the records of all requests. `trusted`: the argument as it came. */
#define DESCRIBE_REQUEST(record, from, trusted)                                                    \
  do {                                                                                             \
    (record)->request = (iot_u64)(from);                                                           \
    (record)->sector = (trusted)->__sector;                                                        \
    (record)->bytes = (trusted)->__data_len;                                                       \
    (record)->device = device_of((from)->q->disk);                                                 \
    (record)->flags = flags_of((trusted)->cmd_flags);                                              \
  } while (0)

SEC("?tp_btf/block_rq_insert")
int BPF_PROG(block_rq_insert, struct request* trusted) {
  struct request* request = IOT_UNTRUSTED(request, trusted);
  const struct iot_bio* first = find_first(request->bio);
  if (!first)
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_block_insert* record = IOT_RESERVE(block_insert, &place);
  if (!record)
    return 0;
  DESCRIBE_REQUEST(record, request, trusted);
  iot_commit(&place, &first->owner, now_ns);
  return 0;
}

/* Whether the end of a request has to be noticed. */
static __always_inline int wants_completion(void) {
  return iot_wants(IOT_KIND_block_complete) || iot_wants(IOT_KIND_block_error) ||
         iot_wants(IOT_KIND_device_scsi) || iot_wants(IOT_KIND_device_nvme);
}

static __always_inline void emit_issue(iot_u64 request, const struct bio* bio,
                                       const struct iot_request* entry) {
  const iot_u32 bios_carried = count_bios(bio);
  struct iot_place place;
  struct iot_block_issue* record = IOT_RESERVE(block_issue, &place);
  if (!record)
    return;
  record->request = request;
  record->sector = entry->sector;
  record->bytes = entry->bytes;
  record->device = entry->device;
  record->flags = entry->flags;
  record->bios = bios_carried;
  record->tags_in_use = entry->tags_in_use;
  record->hardware_queue = (iot_u16)entry->hardware_queue;
  DESCRIBE_WISHES(record, bio);
  iot_commit(&place, &entry->first.owner, entry->issued_ns);
}

/*
 * A recording of all requests of a disk also has those without a known bio: their bios were queued
 * before it began. A driver's own commands are no I/O of the disk.
 */
static __always_inline int is_of_whole_disk(iot_u32 operation, iot_u32 device) {
  return iot_config.block_all && is_started && !is_stopped && !iot_config.filters_tasks &&
         !FILTERS_FILES && operation < IOT_block_driver_in && iot_device_wanted(device);
}

SEC("?tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request* trusted) {
  struct request* request = IOT_UNTRUSTED(request, trusted);
  const iot_u64 key = iot_number_of(request);
  /*
   * A completion in an interrupt where tracepoints run no program: docs/adr/0007. The request
   * may serve others' I/O by now.
   */
  if (iot_take_request(key))
    iot_lose(IOT_COUNTER_kernel_completion_missed);
  struct iot_request entry;
  entry.device = device_of(request->q->disk);
  const struct bio* bio = request->bio;
  const struct iot_bio* first = find_first(bio);
  if (first) {
    entry.first = *first;
  } else if (!find_flush(request, entry.device, &entry.first)) {
    if (!is_of_whole_disk(operation_of(trusted->cmd_flags), entry.device))
      return 0;
    entry.first = (struct iot_bio){.queued_ns = bpf_ktime_get_ns(), .device = entry.device};
  }
  if (is_flushed_behind(bio, trusted->cmd_flags))
    await_flush(iot_number_of(bio), entry.device, &entry.first);
  const struct blk_mq_hw_ctx* queue = request->mq_hctx;
  entry.handed_over_ns = 0;
  entry.sector = trusted->__sector;
  entry.flags = flags_of(trusted->cmd_flags);
  entry.bytes = trusted->__data_len;
  entry.tags_in_use = tags_in_use(queue);
  entry.hardware_queue = queue->queue_num;
  entry.reserved = 0;
  entry.issued_ns = bpf_ktime_get_ns();
  /* A request with bios is counted when it ends. */
  if (wants_completion() && iot_add_request(key, &entry) && !first)
    iot_lose(IOT_COUNTER_kernel_request_untracked);
  if (iot_wants(IOT_KIND_block_issue))
    emit_issue(key, bio, &entry);
  return 0;
}

SEC("?tp_btf/block_rq_requeue")
int BPF_PROG(block_rq_requeue, struct request* trusted) {
  struct request* request = IOT_UNTRUSTED(request, trusted);
  const iot_u64 key = iot_number_of(request);
  const struct iot_request* entry = iot_find_request(key);
  const struct iot_bio* found = entry ? &entry->first /* also a flush, which has no bio */
                                      : find_first(request->bio);
  if (!found)
    return 0;
  const struct iot_owner owner = found->owner;
  if (entry)
    iot_take_request(key);
  if (!iot_wants(IOT_KIND_block_requeue))
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_block_requeue* record = IOT_RESERVE(block_requeue, &place);
  if (!record)
    return 0;
  DESCRIBE_REQUEST(record, request, trusted);
  iot_commit(&place, &owner, now_ns);
  return 0;
}

SEC("?tp_btf/block_rq_merge")
int BPF_PROG(block_rq_merge, struct request* trusted) {
  struct request* request = IOT_UNTRUSTED(request, trusted);
  const struct iot_bio* first = find_first(request->bio);
  if (!first)
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_block_merge* record = IOT_RESERVE(block_merge, &place);
  if (!record)
    return 0;
  record->bio = 0;
  DESCRIBE_REQUEST(record, request, trusted);
  record->merge = IOT_merge_request;
  iot_commit(&place, &first->owner, now_ns);
  return 0;
}

#define SECTOR_SHIFT 9

static __always_inline void emit_complete(iot_u64 request, const struct iot_request* entry,
                                          iot_u64 sector, iot_u32 status, iot_u32 bytes) {
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_block_complete* record = IOT_RESERVE(block_complete, &place);
  if (!record) {
    iot_lose_span(entry->issued_ns);
    return;
  }
  record->duration_ns = now_ns - entry->issued_ns;
  record->queue_ns = entry->issued_ns - entry->first.queued_ns;
  record->request = request;
  record->sector = sector;
  record->bytes = bytes;
  record->device = entry->device;
  record->flags = entry->flags;
  record->error = error_of(status);
  record->file = entry->first.file;
  record->tags_in_use = entry->tags_in_use;
  record->hardware_queue = (iot_u16)entry->hardware_queue;
  iot_commit(&place, &entry->first.owner, entry->issued_ns);
}

/*
 * Requests that have just ended with an error. The kernel reports the logged error after the end,
 * when the owner is known no more. Errors that are not logged leave their entries behind.
 */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 256);
  __type(key, iot_u64);
  __type(value, struct iot_request);
} failed_requests SEC(".maps");

SEC("?tp_btf/block_rq_error")
int BPF_PROG(block_rq_error, struct request* trusted, int status, unsigned int bytes) {
  struct request* request = IOT_UNTRUSTED(request, trusted);
  iot_u64 key = iot_number_of(request);
  const struct iot_request* entry = bpf_map_lookup_elem(&failed_requests, &key);
  if (!entry)
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_block_error* record = IOT_RESERVE(block_error, &place);
  if (record) {
    DESCRIBE_REQUEST(record, request, trusted);
    record->bytes = bytes;
    record->error = error_of((iot_u32)status);
    record->file = entry->first.file;
    iot_commit(&place, &entry->first.owner, now_ns);
  }
  bpf_map_delete_elem(&failed_requests, &key);
  return 0;
}

SEC("?tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request* trusted, int status, unsigned int bytes) {
  struct request* request = IOT_UNTRUSTED(request, trusted);
  iot_u64 key = iot_number_of(request);
  const iot_u32 length = trusted->__data_len;
  const iot_u64 sector = trusted->__sector;
  if (!bytes && length)
    return 0; /* nothing has ended: SCSI reports this before it examines the error */
  /* Flushes before and after data have requests of their own. The end of the whole has no bytes. */
  if (!bytes && request->bio)
    forget_flush((iot_u64)request->bio);
  struct iot_request* entry = iot_find_request(key);
  /*
   * Used again without being issued, as a flush is: its earlier I/O has ended without a completion.
   */
  if (entry && entry->sector != sector &&
      (entry->flags & IOT_CHOICE_block) !=
          IOT_block_zone_append /* its destination is known at its end */) {
    iot_lose(IOT_COUNTER_kernel_completion_missed);
    iot_take_request(key);
    entry = 0;
  }
  if (!entry) {
    if (iot_wants(IOT_KIND_block_error) && status)
      bpf_map_delete_elem(&failed_requests, &key);
    /*
     * A flush without data ends here too, but was never issued: the kernel issues a request of its
     * own for it.
     */
    if (forget_bios(request, bytes) && bytes && wants_completion())
      iot_lose(IOT_COUNTER_kernel_request_untracked);
    return 0;
  }
  if (iot_wants(IOT_KIND_block_complete))
    emit_complete(key, entry, sector, (iot_u32)status, bytes);
  if (iot_wants(IOT_KIND_block_error) && status)
    bpf_map_update_elem(&failed_requests, &key, entry, BPF_ANY);
  if (bytes >= length)
    iot_take_request(key);
  else
    entry->sector += bytes >> SECTOR_SHIFT;
  forget_bios(request, bytes);
  return 0;
}

/*
 * Whether a request is over: it is idle, which it becomes after all listeners have seen its
 * completion, or it has been used again since it was issued. The collector asks about requests
 * without a completion.
 */
SEC("?syscall")
int block_request_is_over(struct iot_request_question* question) {
  const struct request* request = (const struct request*)question->request;
  question->is_over =
      BPF_CORE_READ(request, state) == bpf_core_enum_value(enum mq_rq_state, MQ_RQ_IDLE) ||
      BPF_CORE_READ(request, start_time_ns) > question->issued_ns;
  return 0;
}

#define FIND(name) bpf_kallsyms_lookup_name(#name, sizeof(#name), 0, &iot_functions.name)

/*
 * To be run once before anything is attached. A function that the kernel does not have or does not
 * list stays 0.
 */
SEC("?syscall")
int block_find_functions(void* ctx) {
  FIND(iomap_dio_bio_end_io);
  FIND(blkdev_bio_end_io_async);
  FIND(submit_bio_wait_endio);
  FIND(btrfs_simple_end_io);
  FIND(btrfs_orig_write_end_io);
  FIND(btrfs_dio_end_io);
  FIND(end_bbio_compressed_write);
  FIND(end_bbio_compressed_read);
  FIND(end_compressed_bio_write);
  FIND(end_compressed_bio_read);
  FIND(squashfs_bio_end_io);
  FIND(z_erofs_endio);
  FIND(z_erofs_decompressqueue_endio);
  FIND(bio_chain_endio);
  FIND(clone_endio);
  FIND(crypt_endio);
  FIND(io_complete_rw);
  FIND(io_complete_rw_iopoll);
  FIND(aio_complete_rw);
  FIND(filemap_get_pages);
  FIND(end_bio_bh_io_sync);
  FIND(journal_end_buffer_io_sync);
  FIND(ext4_end_buffer_io_sync);
  FIND(xlog_bio_end_io);
  FIND(end_swap_bio_read);
  FIND(end_swap_bio_write);
  FIND(nfs_pgio_result);
  FIND(nfs_commit_done);
  return 0;
}
