/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * What the BPF programs and their loader tell each other besides records and messages (message_abi.h): configuration, ring
 * bookkeeping, state.
 */
#ifndef IOTRAIL_KERNEL_ABI_H
#define IOTRAIL_KERNEL_ABI_H

#include "abi.h"
#include "capture/kernel/abi/aggregate_abi.h"
#include "capture/kernel/abi/call_abi.h"
#include "capture/kernel/abi/file_abi.h"
#include "capture/kernel/abi/function_abi.h"
#include "ring.h"

/* Which functions of the kernel's a program may call depends on it. */
#define IOT_PROGRAM_LICENSE "Dual BSD/GPL"

#define IOT_SYSCALL_LIMIT 512        /* numbers at and above are not known; a power of two */
#define IOT_CPU_LIMIT 1024           /* processors; a power of two */
#define IOT_BIO_LIMIT (1U << 16)     /* bios in flight */
#define IOT_REQUEST_LIMIT (1U << 14) /* requests in flight */
#define IOT_ASYNC_LIMIT (1U << 16)   /* operations of io_uring and libaio in flight */
#define IOT_ASYNC_CALLS 64           /* kinds of them, of each; a power of two */
#define IOT_STACK_LIMIT 4096         /* places where tasks wait */
#define IOT_STACK_FRAMES 12          /* functions of one that are told */
#define IOT_STACK_SKIPPED 3          /* of the tracing itself */
#define IOT_JOURNAL_LIMIT 1024       /* file systems with a journal */
#define IOT_READ_AHEAD_LIMIT 4096    /* threads that read ahead */
#define IOT_WRITE_BACK_LIMIT 4096    /* threads that write back */
#define IOT_SWAP_LIMIT 4096          /* bios that carry memory to swap areas and back */
#define IOT_SYNC_DISK_LIMIT 256      /* disks that calls have waited for */
#define IOT_RPC_LIMIT (1U << 14)     /* calls to servers in flight */
#define IOT_NODE_LIMIT 1024          /* nodes of memory: the kernel's most */
#define IOT_ALLOCATION_LIMIT 1024    /* tasks to which a file system gives a place on its disk */
#define IOT_PID_LIMIT (1U << 16)     /* processes named by a filter, with what they have started */
#define IOT_BIO_CHAIN_LIMIT 256      /* bios of a request that are looked at */
#define IOT_VECTOR_LIMIT 1024        /* UIO_MAXIOV */
#define IOT_PATH_DEPTH 64            /* components of a path that are walked */
#define IOT_FOLDER_DEPTH (1U << 16)  /* the same where a directory is looked for */
#define IOT_KIND_LIMIT 64            /* kinds of one layer; a power of two */
#define IOT_BELOW_LIMIT 32           /* vfs events in a set: bits of iot_u32 */
#define IOT_OWN_PATH_BYTES 256       /* end of the path of the preload library that is compared */
#define IOT_CONNECTION_LIMIT (1U << 16) /* TCP connections and UDP sockets that traced tasks have */
#define IOT_REASON_LIMIT 256            /* numbers of a kind of reasons; a power of two */
#define IOT_CAST_CALL 0x10ca57 /* a helper that there is not: the loader makes it bpf_rdonly_cast */
#define IOT_LOADING_CALLS 256  /* calls of a new program that may be the linker's for the library */

/* Whether the recording is of it. */
enum iot_verdict { IOT_WANTED = 1, IOT_EXCLUDED = 2 };

/* What tasks are chosen by, and what of theirs is looked up. */
enum iot_choice_by { IOT_BY_NAME, IOT_BY_USER, IOT_BY_PROCESS, IOT_BY_TASK, IOT_CHOICES };
struct iot_choice_key {
  iot_u32 by;
  iot_u32 number;
};
#define IOT_COMM_BYTES 16
struct iot_name_key {
  iot_u32 bits; /* of the name that have to be the same; all: also its end */
  char name[IOT_COMM_BYTES];
};
#define IOT_CHOICE_LIMIT 1024 /* users and tasks, and names, that are named */
#define IOT_CGROUP_LIMIT 16   /* control groups */

/* Read-only once loaded: the verifier removes what it turns off. */
struct iot_config {
  iot_u32 slots_per_cpu;     /* a power of two */
  iot_u32 files_at_once;     /* in a table of known files */
  iot_u32 in_flight_at_once; /* things of a kind that are followed; 0: as many as the tables say */
  iot_u8 has_cast;      /* the kernel has bpf_rdonly_cast: pointers are followed without a helper */
  iot_u8 adopt_all;     /* tasks: everything on the machine */
  iot_u8 adopt_pids;    /* tasks: processes in the map `adopted_pids` */
  iot_u8 adopt_cgroups; /* tasks: those below a cgroup of `adopted_cgroups` */
  iot_u8 filter_files;  /* only events of files in `wanted_files` */
  iot_u8
      filter_devices; /* only events of devices in `wanted_devices`, files in `wanted_file_systems` */
  iot_u8 excludes_files;   /* some of `wanted_files` are not */
  iot_u8 excludes_devices; /* some of `wanted_devices` and `wanted_file_systems` are not */
  iot_u8 filter_folders;   /* some of `wanted_files` are directories: what lies below is meant */
  iot_u8 filters_tasks;    /* of the tasks that are followed: bpf/track/task_filter.bpf.h */
  iot_u8 chosen_by[IOT_CHOICES]; /* verdicts that `choices` or `chosen_names` give */
  iot_u8 excluded_cgroups;       /* how many */
  iot_u8 excludes_pseudo;        /* files of pseudo file systems */
  iot_u8 filters_operations;     /* of the calls and the like of all tasks: the same */
  iot_u8 names_operations;       /* nothing but some of them is recorded */
  iot_u8 excludes_between;       /* what tasks do outside of their calls: their faults */
  iot_u8 excludes_write_back;    /* none of them is one that changes files, or has it done */
  iot_u8 block_all;              /* block events of all tasks (a device or system filter) */
  iot_u8 follows_async;          /* operations of io_uring and libaio are known by their own */
  iot_u8 follows_connections;    /* what TCP does is told with whose connection it is */
  iot_u32 served_below;          /* IOT_BELOW of the vfs events whose hooks are attached */
  iot_u32 aggregates;            /* rows of the table of sums, a power of two; 0: events are sent */
  iot_u8 wanted[IOT_LAYER_COUNT][IOT_KIND_LIMIT]; /* by layer and low byte of the kind */
  iot_u64 calls[IOT_SYSCALL_LIMIT];               /* by native number */
  iot_u64 compat_calls[IOT_SYSCALL_LIMIT];        /* by that of 32-bit programs */
  iot_u8 drop_reasons[IOT_REASON_LIMIT];          /* by the kernel's number: the schema's */
  iot_u8 reset_reasons[IOT_REASON_LIMIT];
  iot_u8 writeback_reasons[IOT_REASON_LIMIT];
  iot_u8 asyncs_chosen[2][IOT_ASYNC_CALLS]; /* verdicts; of io_uring, libaio; 0: as of the call */
  iot_u64 tick_ns;                          /* in which the kernel counts some of its times */
  iot_u32 sample_of; /* calls of which one is recorded, by chance; 0: all are */
  iot_u32 has_own;   /* the preload library comes into the programs: bpf/track/self_io.bpf.h */
  iot_u32 own_path_skipped;                     /* bytes of the library's path before `own_path` */
  char own_path[IOT_OWN_PATH_BYTES];            /* the end of it */
  struct iot_file_key own_files[IOT_OWN_FILES]; /* generation: unused */
};

/* Who an event is charged to: an operation, the one that it began in, and the task. */
struct iot_owner {
  iot_u64 op_id;
  iot_u64 parent_op;
  iot_u32 pid;
  iot_u32 tid;
};

/* One CPU's ring, its source of operation numbers, and how many events it was decided to record there. */
struct iot_cpu {
  struct iot_ring_control ring;
  iot_u64 next_op_block; /* operations are numbered in blocks of IOT_OP_BLOCK handed to tasks */
  iot_u64 produced;
  iot_u32
      taken[IOT_AGGREGATE_PLACES]; /* places for records that are added up: not 0 while in use */
  iot_u64 reserved[2];
};
#define IOT_OP_BLOCK (1U << 24)

struct iot_counter_values {
  iot_u64 value[IOT_COUNTER_LIMIT];  /* by the numbers of stats.def */
  iot_u64 bypassed[IOT_BELOW_LIMIT]; /* of kernel_hook_bypassed, by the low byte of the vfs event */
  iot_u64 longest_lost_ns;           /* how long a span that found no place had lasted */
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

/* A descriptor that a task used lately. It means the same as long as the four pointers and numbers do. */
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
#define IOT_FD_ADVANCES 2 /* by what is moved; the position of /dev/zero does not */

/* What began in a task and has not ended: see bpf/track/op.bpf.h. */
struct iot_span {
  iot_u64 start_ns;
  iot_u64 op_id;
  iot_u64 object; /* what its end is recognised by, beside the kind */
  iot_s64 offset;
  iot_u64 bytes;
  iot_u64 detail; /* what else the hook wants to know at the end */
  iot_u32 file;
  iot_u32 flags;
  iot_u32 kind;
  iot_u32 reserved;
};
#define IOT_SPAN_DATASYNC 1 /* in `detail` of a fs_sync: for the data alone */
/* In `flags` of a fs_lock, which has the begin of its wait in `detail`, its blocker in `reserved`. */
#define IOT_LOCK_FLAGS(type, owner, call) ((type) | (owner) << 8 | (call) << 16)
#define IOT_LOCK_TYPE(flags) ((flags) & 0xff)
#define IOT_LOCK_OWNER(flags) ((flags) >> 8 & 0xff)
#define IOT_LOCK_CALL(flags) ((flags) >> 16)
#define IOT_SPAN_DEPTH 8 /* a power of two; two stacked file systems and a fsync need 5 */
#define IOT_OP_DEPTH 4   /* a power of two; operations of a task, one within the other */

/* The last read or write that the layer vfs has seen end in a task: of the operation `op_id`, so of its call. */
struct iot_moved {
  iot_u64 op_id;
  iot_s64 offset;
  iot_u32 file;
  iot_u32 reserved;
};

/* Pages that look-ups have added to a cache and not returned yet, for the operation that they are of. */
#define IOT_ADDED_RUNS 8 /* of a task at once */
struct iot_added_run {
  iot_u64 op_id;
  iot_u64 mapping; /* 0: the place is free */
  iot_u64 begin;
  iot_u64 end;
};
struct iot_added {
  iot_u32 are_any;
  iot_u32 is_short; /* a run found no place */
  struct iot_added_run runs[IOT_ADDED_RUNS];
};

/*
 * State of a traced task. It lies in the bucket of `task_states` that its thread id leads to: finding it there costs a
 * tenth of what task storage does, which is for those that find their bucket taken. The bucket is of the task `live_tid`.
 */
struct iot_task {
  struct iot_owner owner; /* op_id: of the operation in progress; 0: none */
  iot_u64 last_op;        /* handed out before */
  iot_u64 entry_ns;       /* of the call in progress */
  iot_u64 call;           /* the call in progress */
  iot_u32 live_tid;       /* 0: the bucket is free, or waits for the task to execute a program */
  iot_u32 is_shared;      /* a bucket: tasks that found it taken are in `tasks` */
  iot_u16 span_depth;     /* of `spans`; may exceed it */
  iot_u16 op_depth;       /* of `outer_ops` */
  iot_u32 below;          /* IOT_BELOW of the vfs events seen in the operation in progress */
  iot_u32 needs_fsync;    /* IOT_BELOW of vfs_fsync: it needs that beside its call's; 0: not */
  iot_u32 entry_file;     /* of a descriptor, or of memory, at entry: the call may end that */
  iot_u32 group_exited;
  iot_u32 awaits_exec; /* a bucket that the loader filled: not traced before the task's next exec */
  iot_u32 aio_begun;   /* operations of the io_submit in progress that are known */
  iot_u32
      submitted_sync_disk; /* that an operation waits for which the task has submitted; 0: none */
  iot_u32 sync_disk;       /* that the call in progress waits for; 0: none */
  iot_u32 is_dead;         /* the task has ended: another may have the bucket */
  iot_u32 suppressed_by;   /* reasons not to find it: IOT_SELF_IO_CALL, IOT_EXCLUDED_TASK, ... */
  iot_u32
      loading_calls;  /* that may still be for the preload library; 0: it is there, or not used */
  iot_u32 keeps_call; /* muted in a call that is recorded all the same */
  iot_u64 wait_start_ns; /* of the wait in progress; 0: the task runs */
  iot_u64 own_begin;     /* calls made from here on */
  iot_u64 own_bytes;     /* in so many bytes are iotrail's; while it is being loaded, may be */
  iot_u64 library_begin; /* where it was mapped; 0: not yet */
  iot_u64 library_bytes;
  iot_u64 woken_ns; /* from the wait in progress; 0: not yet */
  iot_u32 wait_stack;
  iot_u32 wait_state; /* of the value table `task_state` */
  struct iot_moved moved;
  iot_s64
      append_at; /* of IOT_CALL_MAY_APPEND: how long the file was at entry; IOT_OFFSET_NONE: it does not append */
  iot_s64 timeout_ns; /* of a call that waits for descriptors, where it is in memory: as of entry */
  iot_s64 entry_offset; /* where in `entry_file` the memory is that a call names, as of entry */
  iot_u64 outer_ops[IOT_OP_DEPTH]; /* parents of the operations around the one in progress */
  struct iot_cached_fd fds[IOT_TASK_FDS];
  struct iot_cached_file files[IOT_TASK_FILES];
  struct iot_span spans[IOT_SPAN_DEPTH];
  struct iot_added added;
};
#define IOT_TASK_BUCKETS 2048 /* a power of two */
#define IOT_SUPPRESSED                                                                             \
  0x80000000U                /* in `live_tid`: the bucket is taken, but its task not to be found */
#define IOT_SELF_IO_CALL 1U  /* in a call that iotrail makes in it: bpf/track/self_io.bpf.h */
#define IOT_EXCLUDED_TASK 2U /* followed, but not recorded: bpf/track/task_filter.bpf.h */
#define IOT_OTHER_OPERATION 4U /* in an operation that is not recorded, or in none: the same */

/* Whose a bio is. */
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
  iot_u32 program; /* texts */
  iot_u32 procedure;
  iot_u32 server;
  iot_u32 version;
  iot_u32 reserved;
};

/* A request in flight. */
struct iot_request {
  struct iot_bio first; /* of its traced bios */
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

/* Where those in flight are known by their address: bpf/track/block_known.bpf.h. */
#define IOT_KNOWN_SETS 512 /* a power of two */
#define IOT_KNOWN_WAYS 4
#define IOT_PLACE_CLAIMED 1ULL /* no address; 0: the place is free */
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

/* The journal of a file system that traced tasks have to do with. */
struct iot_journal {
  iot_u64 handles
      [2]; /* by the low bit of the transaction: its number, below it how many are traced tasks' */
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
  iot_u32 is_of_all; /* recorded whoever has to do with it */
};

/* A TCP connection, a socket that listens, or one of UDP, and whose it is. */
struct iot_connection {
  iot_u64 number;   /* its identity in the recording */
  iot_u64 since_ns; /* when it came into its state; 0: not known */
  iot_u32 pid;
  iot_u32 tid;
  iot_u32 file;  /* local id; 0: not known */
  iot_u32 inode; /* of a UDP socket: number of its inode, 0 where no program has it */
  /* Of TCP, what was last told of it: */
  iot_u32 state;
  iot_u32 segments_sent_again;
};

/* A task by two numbers: bpf/track/task.bpf.c lists them. */
struct iot_task_number {
  iot_u32 of_kernel;
  iot_u32 inside;
};

/* What the collector asks block_request_is_over(). */
struct iot_request_question {
  iot_u64 request;
  iot_u64 issued_ns;
  iot_u64 is_over;
};

#endif
