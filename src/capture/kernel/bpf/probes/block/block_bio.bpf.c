/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The block layer: bios on their way to requests.
 */
#include "probes/block/block_class.bpf.h"
#include "probes/block/block_range.bpf.h"

/*
 * The fields of the records of all bios. `from`: the argument as it came; `address` and `disk`:
 * already read.
 */
#define DESCRIBE_BIO(record, from, address, disk)                                                  \
  do {                                                                                             \
    (record)->bio = (address);                                                                     \
    (record)->sector = (from)->bi_iter.bi_sector;                                                  \
    (record)->bytes = (from)->bi_iter.bi_size;                                                     \
    (record)->device = (disk);                                                                     \
    (record)->flags = flags_of((from)->bi_opf);                                                    \
  } while (0)

static __always_inline iot_u32 device_of_bio(const struct bio* bio) {
  return device_of(bio->bi_bdev->bd_disk);
}

SEC("?tp_btf/block_bio_queue")
int BPF_PROG(block_bio_queue, struct bio* trusted) {
  struct bio* bio = IOT_UNTRUSTED(bio, trusted);
  const iot_u32 device = device_of_bio(bio);
  if (!iot_device_wanted(device))
    return 0;
  const iot_u32 flags = trusted->bi_opf;
  struct iot_bio entry = {};
  struct content content = {};
  const iot_u64 key = iot_number_of(bio);
  if (!find_owner(&entry, &content, trusted, flags, device)) {
    /*
     * Stale entry: the previous bio at this address; its completion was never reported. See
     * docs/adr/0007.
     */
    iot_take_bio(key);
    return 0;
  }
  if (iot_put_bio(key, &entry))
    iot_count(IOT_COUNTER_kernel_bio_untracked);
  if (flags & 1U << BIT_OF(__REQ_PREFLUSH))
    await_flush(key, device, &entry);
  if (!iot_wants(IOT_KIND_block_queue))
    return 0;
  const iot_s64 file_bytes = size_of_file(content.inode);
  const iot_u32 io_class = class_of_bio(trusted, flags, &content, file_bytes);
  struct iot_place place;
  struct iot_block_queue* record = IOT_RESERVE(block_queue, &place);
  if (!record)
    return 0;
  DESCRIBE_BIO(record, trusted, key, device);
  if (content.is_of_fault)
    record->flags |= IOT_block_hint_fault;
  record->file = entry.file;
  DESCRIBE_WISHES(record, trusted);
  record->is_contiguous = 0;
  record->offset = NOT_IN_A_FILE;
  record->range_bytes = 0;
  if (content.is_compressed)
    describe_compressed(record, key, content.compressed);
  else if (content.has_pages && content.carrier)
    describe_carried(record, &content, trusted->bi_iter.bi_size);
  else if (content.has_pages)
    describe_range(record, trusted, iot_number_of(bio->bi_io_vec));
  record->file_bytes = file_bytes;
  record->io_class = io_class;
  record->above = content.above;
  record->by_kernel_thread = content.by_kernel_thread;
  iot_commit(&place, &entry.owner, entry.queued_ns);
  return 0;
}

/*
 * The front part of a split bio continues as a bio of its own. No tracepoint reports that either
 * part is queued again.
 */
SEC("?tp_btf/block_split")
int BPF_PROG(block_split, struct bio* trusted, unsigned int rest_sector) {
  struct bio* bio = IOT_UNTRUSTED(bio, trusted);
  /* Device mapper reports this of a bio after its front part was sent: the rest continues. */
  if (rest_sector == (iot_u32)trusted->bi_iter.bi_sector)
    return 0;
  iot_u64 parent = iot_number_of(bio->bi_private);
  const struct iot_bio* inherited = iot_find_bio(parent);
  const iot_u64 key = iot_number_of(bio);
  if (!inherited) {
    iot_take_bio(key);
    return 0;
  }
  const struct iot_bio entry = *inherited;
  if (iot_put_bio(key, &entry))
    iot_count(IOT_COUNTER_kernel_bio_untracked);
  if (!iot_wants(IOT_KIND_block_split))
    return 0;
  const struct bio* rest = IOT_TYPED(bio, parent, iot_config.has_cast);
  iot_u32 rest_bytes = 0;
  iot_u64 first_of_rest = 0;
  IOT_LOAD(rest_bytes, rest, bi_iter.bi_size, iot_config.has_cast);
  IOT_LOAD(first_of_rest, rest, bi_iter.bi_sector,
           iot_config.has_cast); /* the argument has 32 bits */
  const iot_u32 device = device_of_bio(bio);
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_block_split* record = IOT_RESERVE(block_split, &place);
  if (!record)
    return 0;
  DESCRIBE_BIO(record, trusted, key, device);
  record->parent_bio = parent;
  record->rest_sector = first_of_rest;
  record->rest_bytes = rest_bytes;
  record->file = entry.file;
  iot_commit(&place, &entry.owner, now_ns);
  return 0;
}

/* Runs before the bio is queued on the device below. */
SEC("?tp_btf/block_bio_remap")
int BPF_PROG(block_bio_remap, struct bio* trusted, iot_u32 from_device, iot_u64 from_sector) {
  struct bio* bio = IOT_UNTRUSTED(bio, trusted);
  const iot_u32 device = device_of_bio(bio);
  struct iot_bio entry = {};
  struct content content = {};
  if (!iot_device_wanted(device) || !find_owner(&entry, &content, trusted, trusted->bi_opf, device))
    return 0;
  struct iot_place place;
  struct iot_block_remap* record = IOT_RESERVE(block_remap, &place);
  if (!record)
    return 0;
  DESCRIBE_BIO(record, trusted, iot_number_of(bio), device);
  record->from_sector = from_sector;
  record->from_device = from_device;
  record->file = entry.file;
  iot_commit(&place, &entry.owner, entry.queued_ns);
  return 0;
}

SEC("?tp_btf/block_getrq")
int BPF_PROG(block_getrq, struct bio* trusted) {
  struct bio* bio = IOT_UNTRUSTED(bio, trusted);
  const iot_u64 key = iot_number_of(bio);
  const struct iot_bio* entry = iot_find_bio(key);
  if (!entry)
    return 0;
  const iot_u32 device = device_of_bio(bio);
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_block_getrq* record = IOT_RESERVE(block_getrq, &place);
  if (!record)
    return 0;
  DESCRIBE_BIO(record, trusted, key, device);
  record->wait_ns = now_ns - entry->queued_ns;
  iot_commit(&place, &entry->owner, now_ns);
  return 0;
}

/* A plug belongs to its task, so the running task is the owner. */
static __always_inline int find_plugging(struct iot_owner* owner, iot_u32 device) {
  if (!iot_device_wanted(device))
    return 0;
  struct iot_task* task = iot_current();
  if (task) {
    *owner = *iot_owner_of(task);
    return 1;
  }
  attribute_to_running_task(owner);
  return iot_config.block_all && is_started;
}

SEC("?tp_btf/block_plug")
int BPF_PROG(block_plug, struct request_queue* trusted) {
  struct request_queue* queue = IOT_UNTRUSTED(request_queue, trusted);
  const iot_u32 device = device_of(queue->disk);
  struct iot_owner owner = {};
  if (!find_plugging(&owner, device))
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_block_plug* record = IOT_RESERVE(block_plug, &place);
  if (!record)
    return 0;
  record->device = device;
  iot_commit(&place, &owner, now_ns);
  return 0;
}

SEC("?tp_btf/block_unplug")
int BPF_PROG(block_unplug, struct request_queue* trusted, unsigned int requests,
             _Bool is_explicit) {
  struct request_queue* queue = IOT_UNTRUSTED(request_queue, trusted);
  const iot_u32 device = device_of(queue->disk);
  struct iot_owner owner = {};
  if (!find_plugging(&owner, device))
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_block_unplug* record = IOT_RESERVE(block_unplug, &place);
  if (!record)
    return 0;
  record->device = device;
  record->requests = requests;
  record->cause = is_explicit ? IOT_unplug_explicit : IOT_unplug_schedule;
  iot_commit(&place, &owner, now_ns);
  return 0;
}

/* A bio without a request. One that would have to wait but must not is submitted again. */
static __always_inline void emit_failure(struct bio* trusted, iot_u64 key, iot_u32 status) {
  const struct iot_bio* entry = iot_find_bio(key);
  if (!entry || status == STATUS_AGAIN)
    return;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_block_error* record = IOT_RESERVE(block_error, &place);
  if (!record)
    return;
  record->request = 0;
  record->sector = trusted->bi_iter.bi_sector;
  record->bytes = trusted->bi_iter.bi_size;
  record->device = entry->device;
  record->flags = flags_of(trusted->bi_opf);
  record->error = error_of(status);
  record->file = entry->file;
  iot_commit(&place, &entry->owner, now_ns);
}

/* Devices without requests (dm, md, the upper half of loop) end bios here. */
SEC("?tp_btf/block_bio_complete")
int BPF_PROG(block_bio_complete, struct request_queue* queue, struct bio* bio) {
  const iot_u64 key = iot_number_of(bio);
  const iot_u32 status = bio->bi_status;
  if (status && iot_wants(IOT_KIND_block_error))
    emit_failure(bio, key, status);
  iot_take_bio(key);
  forget_flush(key);
  return 0;
}

static __always_inline int emit_merge(struct bio* trusted, iot_u32 how) {
  struct bio* bio = IOT_UNTRUSTED(bio, trusted);
  const iot_u64 key = iot_number_of(bio);
  const struct iot_bio* entry = iot_find_bio(key);
  if (!entry)
    return 0;
  const iot_u32 device = device_of_bio(bio);
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_block_merge* record = IOT_RESERVE(block_merge, &place);
  if (!record)
    return 0;
  DESCRIBE_BIO(record, trusted, key, device);
  record->request = 0;
  record->merge = how;
  iot_commit(&place, &entry->owner, now_ns);
  return 0;
}

SEC("?tp_btf/block_bio_backmerge")
int BPF_PROG(block_bio_backmerge, struct bio* bio) {
  return emit_merge(bio, IOT_merge_back);
}

SEC("?tp_btf/block_bio_frontmerge")
int BPF_PROG(block_bio_frontmerge, struct bio* bio) {
  return emit_merge(bio, IOT_merge_front);
}
