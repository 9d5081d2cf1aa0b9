/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The block layer: bios on their way to requests, requests on their way to the device and back. Bios are known by their
 * address from the moment they are queued until the request that carries them ends, so that work done in interrupts
 * and kernel threads is still told by whose it is.
 *
 * A bio is traced when the task that queues it is, when its first page belongs to a file that a traced task has used
 * (write-back of that file), or when the recording is of a device. A request is traced when one of its bios is.
 */
#include "block_flush.bpf.h"

struct io_request {
  struct io_bio first; /* of its traced bios */
  io_u64 issued_ns;
  io_u32 device;
  io_u32 reserved;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IO_BIO_LIMIT);
  __type(key, io_u64);
  __type(value, struct io_bio);
} bios SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, IO_REQUEST_LIMIT);
  __type(key, io_u64);
  __type(value, struct io_request);
} requests SEC(".maps");

enum req_flag_bits {
  __REQ_SYNC = 11,
  __REQ_META = 12,
  __REQ_PRIO = 13,
  __REQ_NOMERGE = 14,
  __REQ_IDLE = 15,
  __REQ_INTEGRITY = 16,
  __REQ_FUA = 17,
  __REQ_PREFLUSH = 18,
  __REQ_RAHEAD = 19,
  __REQ_BACKGROUND = 20,
  __REQ_SWAP = 24,
};

#define OPERATION_READ 0
#define OPERATION_WRITE 1
#define HINT_BITS 0x1ff800U /* sync to background, as values.def numbers them */
#define BDEVFS_MAGIC 0x62646576
#define MAPPING_FLAGS 3 /* low bits of page->mapping: not a file's page */
#define COMPOUND_TAIL 1
#define DEVICE_MAJOR_SHIFT 20

#define BIT_OF(name) bpf_core_enum_value(enum req_flag_bits, name)

/* Hints by the numbers of values.def. Where the kernel's are the same, which the verifier knows, this is one mask. */
static __always_inline io_u32 flags_of(io_u32 flags) {
  const io_u32 operation = flags & OPERATION_BITS;
  if (BIT_OF(__REQ_SYNC) == 11 && BIT_OF(__REQ_RAHEAD) == 19 && BIT_OF(__REQ_BACKGROUND) == 20)
    return operation | (flags & HINT_BITS);
  io_u32 hints = 0;
#define HINT(bit, name) hints |= (flags >> BIT_OF(bit) & 1) ? IO_block_hint_##name : 0
  HINT(__REQ_SYNC, sync);
  HINT(__REQ_META, meta);
  HINT(__REQ_PRIO, prio);
  HINT(__REQ_NOMERGE, nomerge);
  HINT(__REQ_IDLE, idle);
  HINT(__REQ_INTEGRITY, integrity);
  HINT(__REQ_FUA, fua);
  HINT(__REQ_PREFLUSH, preflush);
  HINT(__REQ_RAHEAD, readahead);
  HINT(__REQ_BACKGROUND, background);
#undef HINT
  return operation | hints;
}

static __always_inline io_u32 device_of(const struct gendisk* disk) {
  return (io_u32)disk->major << DEVICE_MAJOR_SHIFT | (io_u32)disk->first_minor;
}

/* The inode whose page a bio carries first; 0: metadata, a program's own memory, a block device. */
static __always_inline io_u64 inode_of_bio(const struct bio* bio) {
  if (bio->bi_opf & 1U << BIT_OF(__REQ_META) || !bio->bi_io_vec)
    return 0;
  const struct bio_vec* vector =
      (const struct bio_vec*)((io_u64)bio->bi_io_vec +
                              bio->bi_iter.bi_idx * sizeof(struct bio_vec));
  const struct page* page = BPF_CORE_READ(vector, bv_page);
  const io_u64 head = BPF_CORE_READ(page, compound_head);
  if (head & COMPOUND_TAIL)
    page = (const struct page*)(head - COMPOUND_TAIL);
  const io_u64 mapping = (io_u64)BPF_CORE_READ(page, mapping);
  if (!mapping || mapping & MAPPING_FLAGS)
    return 0;
  const struct inode* host = BPF_CORE_READ((const struct address_space*)mapping, host);
  /* Memory of other kinds has anything in this place: an inode points back at its mapping. */
  if (!host || (io_u64)BPF_CORE_READ(host, i_mapping) != mapping ||
      BPF_CORE_READ(host, i_sb, s_magic) == BDEVFS_MAGIC)
    return 0;
  return (io_u64)host;
}

/* Direct I/O carries the program's own pages: the file is the one that the call in progress names. */
static __always_inline io_u32 file_of_call(struct io_task* task, io_u32 flags) {
  const io_u32 kind = IO_LAYER_syscall << 8 | IO_CALL_CLASS(task->call);
  if (!task->op_id || (kind != IO_KIND_syscall_read && kind != IO_KIND_syscall_write) ||
      flags & (1U << BIT_OF(__REQ_META) | 1U << BIT_OF(__REQ_SWAP)))
    return 0;
  const struct pt_regs* regs = (const struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
  const io_u64 file = io_file_of_fd((io_s32)IO_ARGUMENT_0(regs, task->is_compat));
  return file ? io_file_of(task, (const void*)file) : 0;
}

/* Fills whose the bio is; 0: it is not traced. */
static __always_inline int claim(struct io_bio* entry, const struct bio* bio) {
  struct io_task* task = io_current();
  const io_u64 inode = inode_of_bio(bio);
  entry->queued_ns = bpf_ktime_get_ns();
  if (task) {
    entry->op_id = task->op_id;
    entry->pid = task->pid;
    entry->tid = task->tid;
    entry->file =
        inode ? io_file_of_inode(task, (const void*)inode, 0) : file_of_call(task, bio->bi_opf);
    return io_file_of_bio_wanted(entry->file);
  }
  const io_u64 both = bpf_get_current_pid_tgid();
  entry->pid = (io_u32)(both >> 32);
  entry->tid = (io_u32)both;
  if (inode)
    entry->file = io_file_known(inode);
  return ((io_config.block_all && is_started) || entry->file) && io_file_of_bio_wanted(entry->file);
}

SEC("?tp_btf/block_bio_queue")
int BPF_PROG(block_bio_queue, struct bio* bio) {
  const io_u32 device = device_of(bio->bi_bdev->bd_disk);
  if (!io_device_wanted(device))
    return 0;
  struct io_bio entry = {};
  if (!claim(&entry, bio))
    return 0;
  io_u64 key = (io_u64)bio;
  if (bpf_map_update_elem(&bios, &key, &entry, BPF_ANY))
    io_count(IO_COUNTER_kernel_bio_untracked);
  if (bio->bi_opf & 1U << BIT_OF(__REQ_PREFLUSH))
    await_flush(key, device, &entry);
  if (!io_wants(IO_KIND_block_queue))
    return 0;
  struct io_slot slot;
  struct io_block_queue* record = IO_RESERVE(block_queue, &slot);
  if (!record)
    return 0;
  record->bio = (io_u64)bio;
  record->sector = bio->bi_iter.bi_sector;
  record->bytes = bio->bi_iter.bi_size;
  record->device = device;
  record->flags = flags_of(bio->bi_opf);
  record->file = entry.file;
  io_commit_for(&slot, entry.op_id, entry.pid, entry.tid, entry.queued_ns);
  return 0;
}

/* The front part of a bio goes on as a bio of its own, which is not queued again. */
SEC("?tp_btf/block_split")
int BPF_PROG(block_split, struct bio* bio) {
  io_u64 parent = (io_u64)bio->bi_private;
  const struct io_bio* inherited = bpf_map_lookup_elem(&bios, &parent);
  if (!inherited)
    return 0;
  io_u64 key = (io_u64)bio;
  const struct io_bio entry = *inherited;
  if (bpf_map_update_elem(&bios, &key, &entry, BPF_ANY))
    io_count(IO_COUNTER_kernel_bio_untracked);
  return 0;
}

/* Devices without requests (dm, md, loop's upper half) end bios here. */
SEC("?tp_btf/block_bio_complete")
int BPF_PROG(block_bio_complete, struct request_queue* queue, struct bio* bio) {
  io_u64 key = (io_u64)bio;
  bpf_map_delete_elem(&bios, &key);
  forget_flush(key);
  return 0;
}

static __always_inline int merged(struct bio* bio, io_u32 how) {
  io_u64 key = (io_u64)bio;
  const struct io_bio* entry = bpf_map_lookup_elem(&bios, &key);
  if (!entry)
    return 0;
  const io_u64 now_ns = bpf_ktime_get_ns();
  struct io_slot slot;
  struct io_block_merge* record = IO_RESERVE(block_merge, &slot);
  if (!record)
    return 0;
  record->bio = key;
  record->request = 0;
  record->sector = bio->bi_iter.bi_sector;
  record->bytes = bio->bi_iter.bi_size;
  record->device = device_of(bio->bi_bdev->bd_disk);
  record->flags = flags_of(bio->bi_opf);
  record->merge = how;
  io_commit_for(&slot, entry->op_id, entry->pid, entry->tid, now_ns);
  return 0;
}

SEC("?tp_btf/block_bio_backmerge")
int BPF_PROG(block_bio_backmerge, struct bio* bio) {
  return merged(bio, IO_merge_back);
}

SEC("?tp_btf/block_bio_frontmerge")
int BPF_PROG(block_bio_frontmerge, struct bio* bio) {
  return merged(bio, IO_merge_front);
}

/* The fields that the records of all requests have. */
#define DESCRIBE_REQUEST(record, from)                                                             \
  do {                                                                                             \
    (record)->request = (io_u64)(from);                                                            \
    (record)->sector = (from)->__sector;                                                           \
    (record)->bytes = (from)->__data_len;                                                          \
    (record)->device = device_of((from)->q->disk);                                                 \
    (record)->flags = flags_of((from)->cmd_flags);                                                 \
  } while (0)

/* The first traced bio of a request; 0: it has none. */
static __always_inline int find_first(struct request* request, struct io_bio* first) {
  struct bio* bio = request->bio;
  for (int index = 0; index < IO_BIO_CHAIN_LIMIT; ++index) {
    if (!bio)
      return 0;
    io_u64 key = (io_u64)bio;
    const struct io_bio* entry = bpf_map_lookup_elem(&bios, &key);
    if (entry) {
      *first = *entry;
      return 1;
    }
    bio = bio->bi_next;
  }
  if (bio)
    io_count(IO_COUNTER_kernel_bio_chain_cut);
  return 0;
}

static __always_inline io_u32 count_bios(struct request* request) {
  struct bio* bio = request->bio;
  io_u32 count = 0;
  for (; count < IO_BIO_CHAIN_LIMIT; ++count) {
    if (!bio)
      return count;
    bio = bio->bi_next;
  }
  if (bio)
    io_count(IO_COUNTER_kernel_bio_chain_cut);
  return count;
}

SEC("?tp_btf/block_rq_insert")
int BPF_PROG(block_rq_insert, struct request* request) {
  struct io_bio first = {};
  if (!find_first(request, &first))
    return 0;
  const io_u64 now_ns = bpf_ktime_get_ns();
  struct io_slot slot;
  struct io_block_insert* record = IO_RESERVE(block_insert, &slot);
  if (!record)
    return 0;
  DESCRIBE_REQUEST(record, request);
  io_commit_for(&slot, first.op_id, first.pid, first.tid, now_ns);
  return 0;
}

SEC("?tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request* request) {
  struct io_request entry = {};
  entry.device = device_of(request->q->disk);
  if (!find_first(request, &entry.first) && !find_flush(request, entry.device, &entry.first))
    return 0;
  entry.issued_ns = bpf_ktime_get_ns();
  io_u64 key = (io_u64)request;
  if (io_wants(IO_KIND_block_complete)) {
    /* Interrupts whose tracepoints run no program: docs/adr/0007. */
    if (bpf_map_lookup_elem(&requests, &key))
      io_count(IO_COUNTER_kernel_completion_missed);
    if (bpf_map_update_elem(&requests, &key, &entry, BPF_ANY))
      io_count(IO_COUNTER_kernel_request_untracked);
  }
  if (!io_wants(IO_KIND_block_issue))
    return 0;
  const io_u32 bios_carried = count_bios(request);
  struct io_slot slot;
  struct io_block_issue* record = IO_RESERVE(block_issue, &slot);
  if (!record)
    return 0;
  DESCRIBE_REQUEST(record, request);
  record->bios = bios_carried;
  io_commit_for(&slot, entry.first.op_id, entry.first.pid, entry.first.tid, entry.issued_ns);
  return 0;
}

SEC("?tp_btf/block_rq_requeue")
int BPF_PROG(block_rq_requeue, struct request* request) {
  io_u64 key = (io_u64)request;
  struct io_bio first = {};
  const struct io_request* entry = bpf_map_lookup_elem(&requests, &key);
  if (entry)
    first = entry->first; /* a flush, too, which has no bio */
  else if (!find_first(request, &first))
    return 0;
  bpf_map_delete_elem(&requests, &key);
  if (!io_wants(IO_KIND_block_requeue))
    return 0;
  const io_u64 now_ns = bpf_ktime_get_ns();
  struct io_slot slot;
  struct io_block_requeue* record = IO_RESERVE(block_requeue, &slot);
  if (!record)
    return 0;
  DESCRIBE_REQUEST(record, request);
  io_commit_for(&slot, first.op_id, first.pid, first.tid, now_ns);
  return 0;
}

SEC("?tp_btf/block_rq_merge")
int BPF_PROG(block_rq_merge, struct request* request) {
  struct io_bio first = {};
  if (!find_first(request, &first))
    return 0;
  const io_u64 now_ns = bpf_ktime_get_ns();
  struct io_slot slot;
  struct io_block_merge* record = IO_RESERVE(block_merge, &slot);
  if (!record)
    return 0;
  record->bio = 0;
  DESCRIBE_REQUEST(record, request);
  record->merge = IO_merge_request;
  io_commit_for(&slot, first.op_id, first.pid, first.tid, now_ns);
  return 0;
}

/* blk_status_t to errno, as the kernel itself does it (blk_errors[]); the numbers up to AGAIN have never moved. */
static const io_u8 status_errno[16] = {
    [1] = 95,  /* NOTSUPP: EOPNOTSUPP */
    [2] = 110, /* TIMEOUT: ETIMEDOUT */
    [3] = 28,  /* NOSPC: ENOSPC */
    [4] = 67,  /* TRANSPORT: ENOLINK */
    [5] = 121, /* TARGET: EREMOTEIO */
    [6] = 52,  /* RESV_CONFLICT: EBADE */
    [7] = 61,  /* MEDIUM: ENODATA */
    [8] = 84,  /* PROTECTION: EILSEQ */
    [9] = 12,  /* RESOURCE: ENOMEM */
    [11] = 78, /* DM_REQUEUE: EREMCHG */
    [12] = 11, /* AGAIN: EAGAIN */
    [13] = 16, /* DEV_RESOURCE: EBUSY */
};
#define ERROR_IO 5

static __always_inline io_s32 error_of(io_u32 status) {
  if (!status)
    return 0;
  const io_s32 code = status < sizeof(status_errno) ? status_errno[status] : 0;
  return code ? -code : -ERROR_IO;
}

/*
 * Forgets the bios that these bytes finish. They are still whole: the kernel advances them after this hook. True: one
 * of them at least was traced.
 */
static __always_inline int forget_bios(struct request* request, io_u32 bytes) {
  struct bio* bio = request->bio;
  /* Deleting yields 0 or -ENOENT. A count would have the verifier follow every number that is possible. */
  io_s64 all_missing = -1;
  for (int index = 0; index < IO_BIO_CHAIN_LIMIT; ++index) {
    if (!bio)
      break;
    const io_u32 size = bio->bi_iter.bi_size;
    if (size > bytes)
      break;
    bytes -= size;
    io_u64 key = (io_u64)bio;
    all_missing &= bpf_map_delete_elem(&bios, &key);
    bio = bio->bi_next;
  }
  return all_missing == 0;
}

SEC("?tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request* request, int status, unsigned int bytes) {
  io_u64 key = (io_u64)request;
  if (!bytes &&
      request
          ->bio) /* a flush before or behind data comes with requests of their own; the end has no bytes */
    forget_flush((io_u64)request->bio);
  const struct io_request* entry = bpf_map_lookup_elem(&requests, &key);
  if (!entry) {
    /* A flush without data ends here too, but was never issued: the machinery issues a request of its own for it. */
    if (forget_bios(request, bytes) && bytes && io_wants(IO_KIND_block_complete))
      io_count(IO_COUNTER_kernel_request_untracked);
    return 0;
  }
  const io_u64 now_ns = bpf_ktime_get_ns();
  const int is_last = bytes >= request->__data_len;
  struct io_slot slot;
  struct io_block_complete* record = IO_RESERVE(block_complete, &slot);
  if (record) {
    record->duration_ns = now_ns - entry->issued_ns;
    record->queue_ns = entry->issued_ns - entry->first.queued_ns;
    record->request = key;
    record->sector = request->__sector;
    record->bytes = bytes;
    record->device = entry->device;
    record->flags = flags_of(request->cmd_flags);
    record->error = error_of((io_u32)status);
    record->file = entry->first.file;
    io_commit_for(&slot, entry->first.op_id, entry->first.pid, entry->first.tid, entry->issued_ns);
  }
  if (is_last)
    bpf_map_delete_elem(&requests, &key);
  forget_bios(request, bytes);
  return 0;
}
