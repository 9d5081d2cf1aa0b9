/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * What every probe stands on. A probe looks like this:
 *
 *   SEC("?tp_btf/some_event") int BPF_PROG(layer_some_event, struct file *file) {
 *     struct io_task *task = io_current();
 *     if (!task)                                    // not traced: leave first thing
 *       return 0;
 *     io_u32 id = io_file_of(task, file);           // before reserving: it may send a text
 *     if (!io_file_wanted(id))
 *       return 0;
 *     struct io_slot slot;
 *     struct io_vfs_open *record = IO_RESERVE(vfs_open, &slot);
 *     if (!record)                                  // full: counted by layer already
 *       return 0;
 *     record->file = id; ...                        // every field of the event
 *     io_commit(&slot, task, ts_ns);                // fills the header, then hands the record over
 *     return 0;
 *   }
 *
 * Between IO_RESERVE and io_commit only plain stores belong: no helper that can fail, no return.
 * Whether an event was asked for: io_wants(IO_KIND_x), free of cost where it was not.
 * The loader picks programs by name and section; all are SEC("?..."), nothing loads unless chosen.
 * All layers are one translation unit (iotrail.bpf.c): names of a file's own functions must differ between files.
 */
#ifndef IOTRAIL_CORE_BPF_H
#define IOTRAIL_CORE_BPF_H

#include "compat.bpf.h"

#include <bpf/bpf_tracing.h>

/*
 * A slot holds any event. As a type of its own it also keeps the layout of each in the object, where a test compares it
 * with the schema's.
 */
/* clang-format off */
union io_record {
  io_u8 bytes[IO_KERNEL_SLOT_BYTES];
#define EVENT(id, name, layer, doc) struct io_##name name;
#define FIELD(type, name, meaning, doc)
#define END(name)
#include "events.def"
#undef EVENT
#undef FIELD
#undef END
};
/* clang-format on */
_Static_assert(sizeof(union io_record) == IO_KERNEL_SLOT_BYTES, "an event is larger than a slot");

/* Sizes of the first two are set by the loader. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, io_u32);
  __type(value, union io_record);
} slots SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, io_u32);
  __type(value, struct io_cpu);
} cpus SEC(".maps");

/* A task with a state is traced: this is the filter by process tree. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, IO_TASK_SLOTS);
  __type(key, io_u32);
  __type(value, struct io_task);
} task_slots SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct io_task);
} tasks SEC(".maps");

struct io_counter_values {
  io_u64 value[IO_COUNTER_LIMIT];
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, io_u32);
  __type(value, struct io_counter_values);
} counters SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 8 << 20);
} texts SEC(".maps");

/* First sight of a file: its key, and where it is in the kernel. In memory, so that pointers become numbers. */
struct io_file_sight {
  struct io_file_key key;
  io_u64 inode;
  io_u64 file; /* 0: only the inode is known */
};

/*
 * Defined once in core.bpf.c, for what is rare or large. Those that take numbers only are global to the verifier: it
 * checks them once, not at each call.
 */
io_u32
io_count(io_u32 counter); /* in `counters` (stats.def); io_reserve counts its losses itself */
static struct io_task* io_current_slow(struct task_struct* current);
static struct io_task* io_claim(struct task_struct* task);
io_u32 io_file_register(const struct io_file_sight* sight);
io_u64 io_new_op_block(io_u32 cpu);
io_u32 io_text_of_user(io_u64 string);   /* local id of a text in the program's memory; 0: none */
io_u32 io_text_of_kernel(io_u64 string); /* the same of one in the kernel's */
io_u32 io_device_wanted_slow(io_u32 device);

#define FMODE_LSEEK 4 /* the kernel's mark of a file that has a position */

#define io_wants(kind) (io_config.wanted[(kind) >> 8][(kind) & (IO_KIND_SLOTS - 1)])

/*
 * State of the running task; NULL: it is not traced. In an interrupt the task is whoever was interrupted: programs
 * that may run there (request completion) must not use it.
 */
static __always_inline struct io_task* io_slot_of(io_u32 tid) {
  io_u32 index = tid & (IO_TASK_SLOTS - 1);
  return bpf_map_lookup_elem(&task_slots, &index);
}

static __always_inline struct io_task* io_current(void) {
  struct task_struct* current = bpf_get_current_task_btf();
  struct io_task* slot = io_slot_of((io_u32)current->pid);
  if (!slot)
    return 0;
  if (slot->tid == (io_u32)current->pid && slot->start_time == current->start_time)
    return slot;
  if (slot->is_shared || io_config.adopt_all || io_config.adopt_pids || io_config.adopt_cgroups)
    return io_current_slow(current);
  return 0;
}

/* A place in this CPU's ring, from IO_RESERVE to io_commit. */
struct io_slot {
  struct io_event* event;
  io_u32 tag;
  io_u32 cpu;
  io_u32 kind;
};

#define IO_RESERVE_TRIES 4

static __always_inline void* io_reserve(struct io_slot* slot, io_u32 kind) {
  io_u32 cpu = bpf_get_smp_processor_id();
  struct io_cpu* own = bpf_map_lookup_elem(&cpus, &cpu);
  if (!own)
    return 0;
  const io_u32 count = io_config.slots_per_cpu;
  io_u64 head = *(volatile io_u64*)&own->ring.head;
#pragma unroll
  for (int tries = 0; tries < IO_RESERVE_TRIES; ++tries) {
    if (head - *(volatile io_u64*)&own->ring.tail >= count) {
      __sync_fetch_and_add(&own->ring.lost[IO_LAYER_OF(kind) - 1], 1);
      return 0;
    }
    /* Others on this CPU: an interrupt, or a task that preempted this one. */
    const io_u64 seen = __sync_val_compare_and_swap(&own->ring.head, head, head + 1);
    if (seen == head) {
      io_u32 index = cpu * count + ((io_u32)head & (count - 1));
      slot->tag = (io_u32)head + 1;
      slot->cpu = cpu;
      slot->kind = kind;
      slot->event = bpf_map_lookup_elem(&slots, &index);
      return slot->event;
    }
    head = seen;
  }
  io_count(IO_COUNTER_kernel_ring_contended);
  return 0;
}

/* struct io_<name>*, or NULL. Every record fits a slot: asserted here. */
#define IO_RESERVE(name, slot)                                                                     \
  ({                                                                                               \
    _Static_assert(sizeof(struct io_##name) <= IO_KERNEL_SLOT_BYTES, "larger than a slot");        \
    (struct io_##name*)io_reserve((slot), IO_KIND_##name);                                         \
  })

/* For events that belong to another operation than the running task's. */
static __always_inline void io_commit_for(struct io_slot* slot, io_u64 op_id, io_u32 pid,
                                          io_u32 tid, io_u64 ts_ns) {
  struct io_event* event = slot->event;
  event->ts_ns = ts_ns;
  event->op_id = op_id;
  event->pid = pid;
  event->tid = tid;
  event->cpu = (io_u16)slot->cpu;
  event->kind = (io_u16)slot->kind;
  io_store_release(&event->tag, slot->tag);
}

static __always_inline void io_commit(struct io_slot* slot, const struct io_task* task,
                                      io_u64 ts_ns) {
  io_commit_for(slot, task->op_id, task->pid, task->tid, ts_ns);
}

/* A new op_id for the task: unique in the recording, without touching what CPUs share. */
static __always_inline io_u64 io_new_op(struct io_task* task) {
  io_u64 op_id = task->last_op + 1;
  if ((op_id & (IO_OP_BLOCK - 1)) <= 1) /* never used, or the block is used up */
    op_id = io_new_op_block(bpf_get_smp_processor_id());
  task->last_op = op_id;
  return op_id;
}

/*
 * Local id of a file, 0 where it is not known. The last few files of a task are remembered under their full key, so
 * that the usual case is three loads and a comparison; a file's first sight sends its path on `texts`.
 * `inode` and `file` may be numbers; `file` may be NULL: then the path is that of any name of the inode.
 */
static __always_inline io_u32 io_identify(struct io_task* task, struct inode* inode,
                                          const void* file, int cast) {
  struct super_block* sb = 0;
  struct io_file_sight sight = {.inode = (io_u64)inode, .file = (io_u64)file};
  struct io_file_key* key = &sight.key;
  IO_LOAD(sb, inode, i_sb, cast);
  IO_LOAD(key->device, sb, s_dev, cast);
  IO_LOAD(key->inode, inode, i_ino, cast);
  IO_LOAD(key->generation, inode, i_generation, cast);

  struct io_cached_file* cached = &task->files[key->inode & (IO_TASK_FILES - 1)];
  if (cached->inode == key->inode && cached->device == key->device &&
      cached->generation == key->generation && cached->file)
    return cached->file;
  const io_u32 id = io_file_register(&sight);
  cached->inode = key->inode;
  cached->device = key->device;
  cached->generation = key->generation;
  cached->file = id;
  return id;
}

static __always_inline io_u32 io_file_of_inode(struct io_task* task, const void* inode_pointer,
                                               const void* file) {
  const int cast = io_config.has_cast;
  struct inode* inode = IO_TYPED(inode, inode_pointer, cast);
  return io_identify(task, inode, file, cast);
}

static __always_inline io_u32 io_file_of(struct io_task* task, const void* file_pointer) {
  const int cast = io_config.has_cast;
  struct file* file = IO_TYPED(file, file_pointer, cast);
  struct inode* inode = 0;
  IO_LOAD(inode, file, f_inode, cast);
  return io_file_of_inode(task, inode, file_pointer);
}

/*
 * The struct file behind a descriptor below 64 of a task that has never had more, typed without bpf_rdonly_cast: the
 * verifier knows what an array in a structure holds, if the place in it is a constant. NULL: not so, or no such file.
 */
#define IO_SMALL_FILES 64
#define IO_FILE_AT(n)                                                                              \
  case n:                                                                                          \
    return files->fd_array[n];
#define IO_FILES_AT(n)                                                                             \
  IO_FILE_AT(n)                                                                                    \
  IO_FILE_AT(n + 1)                                                                                \
  IO_FILE_AT(n + 2)                                                                                \
  IO_FILE_AT(n + 3)                                                                                \
  IO_FILE_AT(n + 4)                                                                                \
  IO_FILE_AT(n + 5)                                                                                \
  IO_FILE_AT(n + 6)                                                                                \
  IO_FILE_AT(n + 7)

static __noinline struct file* io_small_file_of_fd(io_s32 fd) {
  struct files_struct* files = bpf_get_current_task_btf()->files;
  if (files->fdt->max_fds > IO_SMALL_FILES)
    return 0;
  switch (fd) {
    IO_FILES_AT(0)
    IO_FILES_AT(8)
    IO_FILES_AT(16)
    IO_FILES_AT(24)
    IO_FILES_AT(32)
    IO_FILES_AT(40)
    IO_FILES_AT(48)
    IO_FILES_AT(56)
  }
  return 0;
}

/* The struct file behind a descriptor of the running task, as a number; 0: there is none. */
static __always_inline io_u64 io_file_of_fd(io_s32 fd) {
  const struct task_struct* task = bpf_get_current_task_btf();
  const struct fdtable* table = task->files->fdt;
  if ((io_u32)fd >= table->max_fds)
    return 0;
  const io_u64 place = (io_u64)table->fd + (io_u64)(io_u32)fd * sizeof(void*);
  io_u64 file = 0;
  if (io_config.has_cast) /* any structure that begins with a pointer will do */
    file = (io_u64)IO_TYPED(hlist_head, place, 1)->first;
  else
    bpf_probe_read_kernel(&file, sizeof(file), (const void*)place);
  return file;
}

/*
 * Local id of a file that some traced task has been seen to use, else 0: for contexts without a traced task, such as
 * write-back. Never sends a text.
 */
io_u32 io_file_known(io_u64 inode);

static __always_inline int io_is_wanted_file(io_u32 file) {
  return file && !(file & IO_FILE_UNWANTED);
}

/*
 * False: the recording is of other files, or of files on other devices. An id of 0 (no file, or not known) is wanted
 * where nothing is filtered.
 */
static __always_inline int io_file_wanted(io_u32 file) {
  return (!io_config.filter_files && !io_config.filter_devices) || io_is_wanted_file(file);
}

/* The same of a bio on a device that is wanted: metadata and journals have no file. */
static __always_inline int io_file_of_bio_wanted(io_u32 file) {
  return !io_config.filter_files || io_is_wanted_file(file);
}

/* False: the recording is of other devices; `device` is the whole disk. */
static __always_inline int io_device_wanted(io_u32 device) {
  return !io_config.filter_devices || io_device_wanted_slow(device);
}

#endif
