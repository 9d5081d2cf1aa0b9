/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Shared by the BPF programs and their loader besides records and messages (message_abi.h):
 * configuration, ring bookkeeping, state.
 */
#ifndef IOTRAIL_KERNEL_ABI_H
#define IOTRAIL_KERNEL_ABI_H

#include "abi.h"
#include "capture/kernel/abi/aggregate_abi.h"
#include "capture/kernel/abi/call_abi.h"
#include "capture/kernel/abi/file_abi.h"
#include "capture/kernel/abi/function_abi.h"
#include "ring.h"

/* Determines which functions of the kernel a program may call. */
#define IOT_PROGRAM_LICENSE "Dual BSD/GPL"

#define IOT_SYSCALL_LIMIT 512        /* from here on numbers are unknown; a power of two */
#define IOT_CPU_LIMIT 1024           /* processors; a power of two */
#define IOT_BIO_LIMIT (1U << 16)     /* bios in flight */
#define IOT_REQUEST_LIMIT (1U << 14) /* requests in flight */
#define IOT_ASYNC_LIMIT (1U << 16)   /* operations of io_uring and libaio in flight */
#define IOT_ASYNC_CALLS 64           /* kinds of operations of each; a power of two */
#define IOT_STACK_LIMIT 4096         /* places where tasks wait */
#define IOT_STACK_FRAMES 12          /* recorded functions of one place */
#define IOT_STACK_SKIPPED 3          /* of the tracing itself */
#define IOT_JOURNAL_LIMIT 1024       /* file systems with a journal */
#define IOT_READ_AHEAD_LIMIT 4096    /* threads that read ahead */
#define IOT_WRITE_BACK_LIMIT 4096    /* threads that write back */
#define IOT_SWAP_LIMIT 4096          /* bios that carry memory to swap areas and back */
#define IOT_SYNC_DISK_LIMIT 256      /* disks that calls have waited for */
#define IOT_RPC_LIMIT (1U << 14)     /* calls to servers in flight */
#define IOT_NODE_LIMIT 1024          /* nodes of memory: the kernel's limit */
#define IOT_ALLOCATION_LIMIT 1024    /* tasks with a place on a disk for a file */
#define IOT_PID_LIMIT (1U << 16)     /* processes named by a filter, and their children */
#define IOT_BIO_CHAIN_LIMIT 256      /* bios of a request that are followed */
#define IOT_VECTOR_LIMIT 1024        /* UIO_MAXIOV */
#define IOT_PATH_DEPTH 64            /* components of a path that are walked */
#define IOT_FOLDER_DEPTH (1U << 16)  /* the same in the search for a directory */
#define IOT_KIND_LIMIT 64            /* kinds of one layer; a power of two */
#define IOT_BELOW_LIMIT 32           /* vfs events in a set: bits of iot_u32 */
#define IOT_OWN_PATH_BYTES 256       /* compared bytes at the end of the preload library's path */
#define IOT_CONNECTION_LIMIT (1U << 16) /* TCP connections and UDP sockets that traced tasks have */
#define IOT_REASON_LIMIT 256            /* numbers of a kind of reasons; a power of two */
#define IOT_CAST_CALL                                                                              \
  0x10ca57 /* a helper that does not exist: the loader makes it bpf_rdonly_cast */
#define IOT_LOADING_CALLS 256 /* calls of a new program that may load the library */

/* Whether the recording includes it. */
enum iot_verdict { IOT_WANTED = 1, IOT_EXCLUDED = 2 };

/* The properties by which tasks are filtered. */
enum iot_choice_by { IOT_BY_NAME, IOT_BY_USER, IOT_BY_PROCESS, IOT_BY_TASK, IOT_CHOICES };
struct iot_choice_key {
  iot_u32 by;
  iot_u32 number;
};
#define IOT_COMM_BYTES 16
struct iot_name_key {
  iot_u32 bits; /* of the name that must match; all: also its end */
  char name[IOT_COMM_BYTES];
};
#define IOT_CHOICE_LIMIT 1024 /* users and tasks in the filter, and names */
#define IOT_CGROUP_LIMIT 16   /* control groups */

/* Read-only once loaded: the verifier removes code that it disables. */
struct iot_config {
  iot_u32 slots_per_cpu;     /* a power of two */
  iot_u32 files_at_once;     /* in a table of known files */
  iot_u32 in_flight_at_once; /* entries of a kind; 0: as many as the tables say */
  iot_u32 named_paths;       /* at most so many are included: bpf/track/named_path.bpf.h */
  iot_u8 has_cast;      /* the kernel has bpf_rdonly_cast: pointers are followed without a helper */
  iot_u8 adopt_all;     /* tasks: all on the machine */
  iot_u8 adopt_pids;    /* tasks: processes in the map `adopted_pids` */
  iot_u8 adopt_cgroups; /* tasks: those below a cgroup of `adopted_cgroups` */
  iot_u8 filter_files;  /* only events of files in `wanted_files` */
  iot_u8
      filter_devices; /* only events of devices in `wanted_devices`, files in `wanted_file_systems` */
  iot_u8 excludes_files;   /* some of `wanted_files` are excluded */
  iot_u8 excludes_devices; /* some of `wanted_devices` and `wanted_file_systems` are excluded */
  iot_u8 filter_folders; /* some of `wanted_files` are directories: they include the files below */
  iot_u8 filters_tasks;  /* only some followed tasks are recorded: bpf/track/task_filter.bpf.h */
  iot_u8 chosen_by[IOT_CHOICES]; /* verdicts that occur in `choices` or `chosen_names` */
  iot_u8 excluded_cgroups;       /* how many */
  iot_u8 excludes_pseudo;        /* files of pseudo file systems */
  iot_u8
      filters_operations; /* only some calls and other operations of tasks are recorded: the same */
  iot_u8 names_operations;    /* only named operations are recorded */
  iot_u8 excludes_between;    /* work of tasks outside their calls: their faults */
  iot_u8 excludes_write_back; /* no recorded operation changes files, or causes write-back */
  iot_u8 block_all;           /* block events of all tasks (a device or system filter) */
  iot_u8 follows_async;       /* operations of io_uring and libaio have their own ids */
  iot_u8 follows_connections; /* events of TCP have the connection and its owner */
  iot_u32 served_below;       /* IOT_BELOW of the vfs events with attached hooks */
  iot_u32 aggregates;         /* rows of the aggregate table, a power of two; 0: events are sent */
  iot_u8 wanted[IOT_LAYER_COUNT][IOT_KIND_LIMIT]; /* by layer and low byte of the kind */
  iot_u64 calls[IOT_SYSCALL_LIMIT];               /* by native number */
  iot_u64 compat_calls[IOT_SYSCALL_LIMIT];        /* by number in 32-bit programs */
  iot_u8 drop_reasons[IOT_REASON_LIMIT];          /* the schema's number, by the kernel's number */
  iot_u8 reset_reasons[IOT_REASON_LIMIT];
  iot_u8 writeback_reasons[IOT_REASON_LIMIT];
  iot_u8 asyncs_chosen[2][IOT_ASYNC_CALLS]; /* verdicts; of io_uring, libaio; 0: as for the call */
  iot_u64 tick_ns;                          /* the kernel's unit of some times */
  iot_u64 min_latency_ns;   /* events of shorter operations are left out; 0: none are */
  iot_u32 sample_of;        /* one of so many calls is recorded, at random; 0: all are */
  iot_u64 name_seed;        /* of IOT_NAME_HASH_STEP */
  iot_u32 has_own;          /* programs load the preload library: bpf/track/self_io.bpf.h */
  iot_u32 own_path_skipped; /* bytes of the library's path before `own_path` */
  char own_path[IOT_OWN_PATH_BYTES];            /* the end of it */
  struct iot_file_key own_files[IOT_OWN_FILES]; /* generation: unused */
};

/* The owner of an event: an operation, its parent operation, and the task. */
struct iot_owner {
  iot_u64 op_id;
  iot_u64 parent_op;
  iot_u32 pid;
  iot_u32 tid;
};

/*
 * One CPU: its ring, its source of operation numbers, and the number of events to be recorded
 * there.
 */
struct iot_cpu {
  struct iot_ring_control ring;
  iot_u64 next_op_block; /* operations are numbered in blocks of IOT_OP_BLOCK handed to tasks */
  iot_u64 produced;
  iot_u32 taken[IOT_AGGREGATE_PLACES]; /* places for records to be aggregated: not 0 while in use */
  iot_u64 left_out; /* of the produced events: of operations that took less than min_latency_ns */
  iot_u64 reserved;
};
#define IOT_OP_BLOCK (1U << 24)

struct iot_counter_values {
  iot_u64 value[IOT_COUNTER_LIMIT];  /* by the numbers of stats.def */
  iot_u64 bypassed[IOT_BELOW_LIMIT]; /* of kernel_hook_bypassed, by the low byte of the vfs event */
  iot_u64 longest_lost_ns;           /* duration of the longest span without a slot, until then */
};

/* A file that a task used lately, and its local id. */
struct iot_cached_file {
  iot_u64 inode;
  iot_u32 device;
  iot_u32 generation;
  iot_u32 file;
  iot_u32 reserved;
};
#define IOT_TASK_FILES 4

/*
 * A descriptor that a task used lately. It is valid while the four pointers and numbers are
 * unchanged.
 */
struct iot_cached_fd {
  iot_u64 file_pointer; /* struct file */
  iot_u64 inode_pointer;
  iot_u64 inode;
  iot_u32 generation;
  iot_u32 flags;
  iot_u32 file; /* local id; beside the descriptor, as in a record */
  iot_s32 fd;
};
#define IOT_TASK_FDS 4
#define IOT_FD_HAS_POSITION 1
#define IOT_FD_ADVANCES 2 /* by the bytes moved; the position of /dev/zero does not */

/* A span in progress of a task: bpf/track/op.bpf.h. */
struct iot_span {
  iot_u64 start_ns;
  iot_u64 op_id;
  iot_u64 object; /* identifies its end, with the kind */
  iot_s64 offset;
  iot_u64 bytes;
  iot_u64 detail; /* further data that the hook needs at the end */
  iot_u32 file;
  iot_u32 flags;
  iot_u32 kind;
  iot_u32 reserved;
};
#define IOT_SPAN_DATASYNC 1 /* in `detail` of a fs_sync: syncs the data alone */
/* In `flags` of a fs_lock, which has the begin of its wait in `detail`, its blocker in `reserved`. */
#define IOT_LOCK_FLAGS(type, owner, call) ((type) | (owner) << 8 | (call) << 16)
#define IOT_LOCK_TYPE(flags) ((flags) & 0xff)
#define IOT_LOCK_OWNER(flags) ((flags) >> 8 & 0xff)
#define IOT_LOCK_CALL(flags) ((flags) >> 16)
#define IOT_SPAN_DEPTH 8 /* a power of two; two stacked file systems and a fsync need 5 */
#define IOT_OP_DEPTH 4   /* a power of two; nested operations of a task */

/*
 * The last read or write of a task that the layer vfs has seen end; `op_id` is its call's
 * operation.
 */
struct iot_moved {
  iot_u64 op_id;
  iot_s64 offset;
  iot_u32 file;
  iot_u32 reserved;
};

/* Pages that look-ups have added to a cache and not returned yet, with their operation. */
#define IOT_ADDED_RUNS 8 /* of a task at once */
struct iot_added_run {
  iot_u64 op_id;
  iot_u64 mapping; /* 0: a free entry */
  iot_u64 begin;
  iot_u64 end;
};
struct iot_added {
  iot_u32 are_any;
  iot_u32 is_short; /* a run found no room */
  struct iot_added_run runs[IOT_ADDED_RUNS];
};

/*
 * State of a traced task, in the bucket of `task_states` for its thread id. To find it there costs
 * a tenth of task storage, which is used if the bucket is taken. The bucket belongs to the task
 * `live_tid`.
 */
struct iot_task {
  struct iot_owner owner; /* op_id: of the operation in progress; 0: none */
  iot_u64 last_op;        /* the last number used */
  iot_u64 entry_ns;       /* of the call in progress */
  iot_u64 call;           /* the call in progress */
  iot_u32 live_tid;       /* 0: the bucket is free, or waits for the task to execute a program */
  iot_u32 is_shared;      /* of a bucket: tasks that found it taken are in `tasks` */
  iot_u16 span_depth;     /* of `spans`; may exceed it */
  iot_u16 op_depth;       /* of `outer_ops` */
  iot_u32 below;          /* IOT_BELOW of the vfs events seen in the operation in progress */
  iot_u32 needs_fsync;    /* IOT_BELOW of vfs_fsync: needed besides the event of its call; 0: not */
  iot_u32 entry_file; /* of a descriptor, or of memory, at entry: the call may close or unmap it */
  iot_u32 group_exited;
  iot_u32 awaits_exec; /* a bucket that the loader filled: not traced before the task's next exec */
  iot_u32 aio_begun;   /* known operations of the io_submit in progress */
  iot_u32 submitted_sync_disk; /* that a submitted operation of the task waits for; 0: none */
  iot_u32 sync_disk;           /* that the call in progress waits for; 0: none */
  iot_u32 is_dead;             /* the task has ended: another may have the bucket */
  iot_u32 suppressed_by;       /* reasons to hide it: IOT_SELF_IO_CALL, IOT_EXCLUDED_TASK, ... */
  iot_u32
      loading_calls; /* further calls that may load the preload library; 0: it is loaded, or not used */
  iot_u32 keeps_call;      /* suppressed, but its call is recorded */
  iot_u32 has_effects;     /* besides its own event the call may have others: iot_owner_of() */
  iot_u32 leaves_out_call; /* the call that returns was too short */
  iot_u64 wait_start_ns;   /* of the wait in progress; 0: the task runs */
  iot_u64 own_begin;       /* calls made from this address on */
  iot_u64 own_bytes;       /* in so many bytes are iotrail's; while it is loaded, they may be */
  iot_u64 library_begin;   /* address of its mapping; 0: none yet */
  iot_u64 library_bytes;
  iot_u64 woken_ns; /* end of the wait in progress; 0: not yet */
  iot_u32 wait_stack;
  iot_u32 wait_state; /* of the value table `task_state` */
  struct iot_moved moved;
  iot_s64
      append_at; /* of IOT_CALL_MAY_APPEND: size of the file at entry; IOT_OFFSET_NONE: it does not append */
  iot_s64 timeout_ns;   /* at entry, of a call that waits for descriptors and has it in memory */
  iot_s64 entry_offset; /* position in `entry_file` of the memory that a call names, at entry */
  iot_u64 outer_ops[IOT_OP_DEPTH]; /* parents of the operations around the one in progress */
  struct iot_cached_fd fds[IOT_TASK_FDS];
  struct iot_cached_file files[IOT_TASK_FILES];
  struct iot_span spans[IOT_SPAN_DEPTH];
  struct iot_added added;
};
#define IOT_TASK_BUCKETS 2048      /* a power of two */
#define IOT_SUPPRESSED 0x80000000U /* in `live_tid`: the bucket is taken, but its task is hidden */
#define IOT_SELF_IO_CALL 1U  /* in a call that iotrail makes in the task: bpf/track/self_io.bpf.h */
#define IOT_EXCLUDED_TASK 2U /* followed, but not recorded: bpf/track/task_filter.bpf.h */
#define IOT_OTHER_OPERATION 4U /* in an operation that is not recorded, or in none: the same */

/* The owner of a bio. */
struct iot_bio {
  struct iot_owner owner;
  iot_u64 queued_ns;
  iot_u32 file;
  iot_u32 device;
};

/* Memory on its way to a swap area or back, by its bio: bpf/probes/memory/memory_swap.bpf.c. */
struct iot_swap {
  struct iot_owner owner;
  iot_u64 start_ns;
  iot_u64 slot;
  iot_u64 sector;
  iot_u32 kind; /* of the event */
  iot_u32 area;
  iot_u32 device;
  iot_u32 pages;
};

/* A call to a server in flight: bpf/probes/fs/rpc.bpf.c. */
struct iot_rpc {
  struct iot_owner owner;
  iot_u64 start_ns;
  iot_u32 file;
  iot_u32 program; /* ids of strings */
  iot_u32 procedure;
  iot_u32 server;
  iot_u32 version;
  iot_u32 reserved;
};

/* A request in flight. */
struct iot_request {
  struct iot_bio first; /* the first of its traced bios */
  iot_u64 issued_ns;
  iot_u64 handed_over_ns; /* to the host adapter, while it has the command; else 0 */
  iot_u64 sector;
  iot_u32 device;
  iot_u32 flags;
  iot_u32 bytes;
  iot_u32 tags_in_use;
  iot_u32 hardware_queue;
  iot_u32 reserved;
};

/* Bios and requests in flight, by address: bpf/track/block_known.bpf.h. */
#define IOT_KNOWN_SETS 512 /* a power of two */
#define IOT_KNOWN_WAYS 4
#define IOT_PLACE_CLAIMED 1ULL /* no valid address; 0: the place is free */
struct iot_bio_place {
  iot_u64 key;
  struct iot_bio value;
};
struct iot_bio_set {
  struct iot_bio_place places[IOT_KNOWN_WAYS];
};
struct iot_request_place {
  iot_u64 key;
  struct iot_request value;
};
struct iot_request_set {
  struct iot_request_place places[IOT_KNOWN_WAYS];
};

/* The journal of a file system that traced tasks use. */
struct iot_journal {
  iot_u64 handles
      [2]; /* by the low bit of the transaction: its number, and in the low bits how many are of traced tasks */
};

/* A transaction on its way to the journal's disk. */
struct iot_commit {
  iot_u64 start_ns;
  iot_u64 flushing_ns; /* when that phase began; 0: it has not */
  iot_u64 logging_ns;
  iot_u64 running_ns;
  iot_u64 request_delay_ns;
  iot_u64 handle_wait_ns;
  iot_u32 device;
  iot_u32 disk;
  iot_u32 transaction;
  iot_u32 pid;
  iot_u32 handles;
  iot_u32 blocks;
  iot_u32 blocks_logged;
  iot_u32 is_of_all; /* recorded whether or not traced tasks use it */
};

/* A TCP connection, a listening socket, or a UDP socket, and its owner. */
struct iot_connection {
  iot_u64 number;   /* its identity in the recording */
  iot_u64 since_ns; /* begin of its state; 0: unknown */
  iot_u32 pid;
  iot_u32 tid;
  iot_u32 file;  /* local id; 0: unknown */
  iot_u32 inode; /* of a UDP socket: number of its inode, 0 if no program has it */
  /* For TCP, as in its last event: */
  iot_u32 state;
  iot_u32 segments_sent_again;
};

/* Both numbers of a task: bpf/track/task.bpf.c lists them. */
struct iot_task_number {
  iot_u32 of_kernel;
  iot_u32 inside;
};

/* Argument and answer of block_request_is_over(). */
struct iot_request_question {
  iot_u64 request;
  iot_u64 issued_ns;
  iot_u64 is_over;
};

#endif
