/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Messages from the BPF programs to the collector beside the records: paths, command lines, names of tasks.
 */
#ifndef IOTRAIL_MESSAGE_ABI_H
#define IOTRAIL_MESSAGE_ABI_H

#include "abi.h"

#define IOT_STACK_BYTES 768          /* function names of a place, most of 20 to 30 bytes */
#define IOT_NAME_BYTES 256           /* NAME_MAX and its end */
#define IOT_PATH_BYTES 4096          /* PATH_MAX */
#define IOT_ADDRESS_BYTES 128        /* struct sockaddr_storage */
#define IOT_MESSAGE_BYTES (2U << 20) /* minimum size of the ring `texts` */

/* Messages on the ring buffer `texts`, sent before the first record with their id. */
enum iot_message_type {
  IOT_MESSAGE_STRING = 1,
  IOT_MESSAGE_ADDRESS,
  IOT_MESSAGE_FILE,
  IOT_MESSAGE_FORK,
  IOT_MESSAGE_EXEC,
  IOT_MESSAGE_ADOPTED, /* of a process that runs already, sent by each of its tasks */
  IOT_MESSAGE_TASK,
  IOT_MESSAGE_STACK
};

struct iot_message {
  iot_u32 type;
  iot_u32 id;
  iot_u32 bytes; /* of the content, with the end of the last string */
  iot_u32 reserved;
};

/* The reason for which the walk up from a file ended. */
enum iot_walk_end { IOT_WALK_CUT, IOT_WALK_ROOT, IOT_WALK_FILE_SYSTEM, IOT_WALK_ALONE };

/* Names follow: components, the last one first, each with its end. */
struct iot_message_file {
  struct iot_message header;
  iot_u64 inode;
  iot_u32 device;
  iot_u32 generation;
  iot_u32 mode;
  iot_u32 magic;    /* of the file system */
  iot_u32 walk_end; /* enum iot_walk_end: the directory above the names */
  iot_u32 links;    /* names of the inode on its file system */
  iot_u64 walk[2];  /* working state of the walk */
  char names[IOT_PATH_BYTES + IOT_NAME_BYTES];
};

struct iot_message_string {
  struct iot_message header;
  char string[IOT_PATH_BYTES];
};

struct iot_message_address {
  struct iot_message header;
  iot_u8 address[IOT_ADDRESS_BYTES]; /* struct sockaddr, of `header.bytes` bytes */
};

struct iot_message_process {
  struct iot_message header; /* id: unused */
  iot_u64 ts_ns;
  iot_u64 start_ns; /* of the process, by the clock of the kernel */
  iot_u64 cgroup;   /* id of its group in the unified hierarchy; 0: the kernel has none */
  iot_u32 pid;
  iot_u32 parent_pid;
  iot_u32 exe_file; /* local file id; 0 unless exec */
  iot_u32 arguments_bytes;
  struct iot_namespaces namespaces;
  char comm[16];
  char arguments[IOT_PATH_BYTES]; /* not of fork: each with its end; cut to this size */
};

/* A place where tasks wait: names of functions, innermost first, separated by semicolons. */
struct iot_message_stack {
  struct iot_message header;
  iot_u32 depth; /* the names of functions; 0 after them */
  iot_u32 reserved;
  char functions[IOT_STACK_BYTES];
};

/* A task of a pid namespace below the initial one, with both of its numbers. */
struct iot_message_task {
  struct iot_message header; /* id: unused */
  iot_u64 start_ns;
  iot_u64 pid_namespace; /* inode of the task's namespace */
  iot_u32 pid;           /* in the initial namespace, as tid */
  iot_u32 tid;
  iot_u32 inner_pid; /* in its own namespace */
  iot_u32 inner_tid;
};

#endif
