/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * What the BPF programs and their loader tell each other besides records: configuration, ring bookkeeping, texts.
 */
#ifndef IOTRAIL_KERNEL_ABI_H
#define IOTRAIL_KERNEL_ABI_H

#include "abi.h"
#include "capture/ring.h"

#define IO_SYSCALL_LIMIT 512        /* numbers at and above are not recorded; a power of two */
#define IO_FILE_LIMIT (1U << 20)    /* files known at once */
#define IO_BIO_LIMIT (1U << 16)     /* bios in flight */
#define IO_REQUEST_LIMIT (1U << 14) /* requests in flight */
#define IO_BIO_CHAIN_LIMIT 256      /* bios of a request that are looked at */
#define IO_VECTOR_LIMIT 1024        /* UIO_MAXIOV */
#define IO_PATH_DEPTH 48            /* components of a path that are walked */
#define IO_NAME_BYTES 256           /* NAME_MAX and its end */
#define IO_PATH_BYTES 4096          /* PATH_MAX */
#define IO_KIND_SLOTS 32            /* kinds of one layer */

/* Read-only once loaded: the verifier removes what it turns off. */
struct io_config {
  io_u32 slots_per_cpu; /* a power of two */
  io_u32 recorder_tgid; /* never traced */
  io_u8 has_cast;       /* the kernel has bpf_rdonly_cast: pointers are followed without a helper */
  io_u8 adopt_all;      /* tasks: everything on the machine */
  io_u8 adopt_pids;     /* tasks: processes in the map `adopted_pids` */
  io_u8 adopt_cgroups;  /* tasks: those below a cgroup of `adopted_cgroups` */
  io_u8 filter_files;   /* only events of files in `wanted_files` */
  io_u8
      filter_devices; /* only events of devices in `wanted_devices`, files in `wanted_file_systems` */
  io_u8 block_all;    /* block events of all tasks (a device or system filter) */
  io_u8 reserved;
  io_u8 wanted[IO_LAYER_COUNT][IO_KIND_SLOTS]; /* by layer and low byte of the kind */
  io_u16 calls[IO_SYSCALL_LIMIT]; /* by native number: IO_CALL(class, number); 0: not recorded */
  io_u16 compat_calls[IO_SYSCALL_LIMIT]; /* the same for 32-bit programs */
};

/* A class is the low byte of the event's kind; the number that of the value table `syscall`. */
#define IO_CALL(class, number) ((io_u16)((class) << 9 | (number)))
#define IO_CALL_CLASS(call) ((call) >> 9)
#define IO_CALL_NUMBER(call) ((call) & 511)

/* One CPU's ring and its source of operation numbers. */
struct io_cpu {
  struct io_ring_control ring;
  io_u64 next_op_block; /* operations are numbered in blocks of IO_OP_BLOCK handed to tasks */
  io_u64 reserved[7];
};
#define IO_OP_BLOCK 256

/*
 * State of a traced task. It lies in the slot of `task_slots` that its thread id leads to: finding it there costs a tenth
 * of what task storage does, which is for those that find their slot taken. Whose a slot is is said by `tid` and
 * `start_time`.
 */
struct io_cached_file {
  io_u64 inode;
  io_u32 device;
  io_u32 generation;
  io_u32 file;
  io_u32 reserved;
};
#define IO_TASK_FILES 4
#define IO_TASK_SLOTS 4096 /* a power of two */

/* What began in a task and has not ended: see bpf/span.bpf.h. */
struct io_span {
  io_u64 start_ns;
  io_u64 op_id;
  io_u64 object; /* what its end is recognised by, beside the kind */
  io_s64 offset;
  io_u64 bytes;
  io_u64 detail; /* what else the hook wants to know at the end */
  io_u32 kind;
  io_u32 file;
  io_u32 flags;
  io_u32 reserved;
};
#define IO_SPAN_DEPTH                                                                              \
  8 /* a power of two; two stacked file systems and a synchronous write need 5 */

struct io_task {
  io_u64 op_id;      /* of the call in progress; 0: none */
  io_u64 last_op;    /* handed out before */
  io_u64 entry_ns;   /* of the call in progress */
  io_u64 start_time; /* of the task, as the kernel counts it; 0: not looked at yet */
  io_u64 vfs_op;     /* the last operation whose read or write the layer vfs has seen whole: */
  io_s64 vfs_offset; /* where it was */
  io_u32 pid;
  io_u32 tid;
  io_u32 call;       /* IO_CALL of the call in progress */
  io_u32 entry_file; /* what the descriptor meant at entry, where the call ends its meaning */
  io_u32 is_compat;  /* the call in progress came by the 32-bit gate */
  io_u32 group_exited;
  io_u32 span_depth;  /* of `spans`; may exceed it */
  io_u32 is_dead;     /* the task has ended: another may have the slot */
  io_u32 is_shared;   /* a slot: tasks that found it taken are in `tasks` */
  io_u32 vfs_file;    /* what file it was on */
  io_u32 awaits_exec; /* a slot that the loader filled: not traced before the task's next exec */
  io_u32 reserved;
  struct io_cached_file files[IO_TASK_FILES];
  struct io_span spans[IO_SPAN_DEPTH];
};

struct io_file_key {
  io_u64 inode;
  io_u32 device;
  io_u32 generation;
};

/* Ids of files that the filter by file or by device leaves out carry this bit. */
#define IO_FILE_UNWANTED 0x80000000U

/* Messages on the ring buffer `texts`. Sent before the first record that carries their id. */
enum io_text_type { IO_TEXT_STRING = 1, IO_TEXT_FILE, IO_TEXT_FORK, IO_TEXT_EXEC };

struct io_text {
  io_u32 type;
  io_u32 id;
  io_u32 bytes; /* of text, the end of the last string included */
  io_u32 reserved;
};

/* Where the walk up from a file came to its end. */
enum io_walk_end { IO_WALK_CUT, IO_WALK_ROOT, IO_WALK_FILE_SYSTEM };

struct io_text_file {
  struct io_text text;
  io_u64 inode;
  io_u32 device;
  io_u32 generation;
  io_u32 mode;
  io_u32 magic;    /* of the file system */
  io_u32 walk_end; /* enum io_walk_end: what the names lead up to */
  io_u32 reserved;
  io_u64 walk[2];                            /* of the walk itself */
  char names[IO_PATH_BYTES + IO_NAME_BYTES]; /* components, the last one first, each with its end */
};

struct io_text_string {
  struct io_text text;
  char string[IO_PATH_BYTES];
};

struct io_text_process {
  struct io_text text; /* id: unused */
  io_u64 ts_ns;
  io_u32 pid;
  io_u32 parent_pid;
  io_u32 exe_file; /* local file id; fork: 0 */
  io_u32 arguments_bytes;
  char comm[16];
  char arguments[IO_PATH_BYTES]; /* exec: each with its end; longer ones are cut */
};

#endif
