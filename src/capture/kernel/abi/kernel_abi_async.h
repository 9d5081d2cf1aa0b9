/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The part of kernel_abi.h that is of operations of io_uring and libaio in flight.
 */
#ifndef IOTRAIL_KERNEL_ABI_ASYNC_H
#define IOTRAIL_KERNEL_ABI_ASYNC_H

#include "capture/kernel/abi/kernel_abi.h"

/*
 * An asynchronous operation by the kernel's request of io_uring, by the program's own iocb of libaio, and one that may
 * have several results also by its `user_data`, which is all that is told with a result.
 */
enum iot_async_by { IOT_ASYNC_BY_REQUEST, IOT_ASYNC_BY_IOCB, IOT_ASYNC_BY_USER_DATA };
struct iot_async_key {
  iot_u64 number;
  iot_u32 scope; /* of the number: 0, the process, the low bits of the ring's address */
  iot_u32 by;
};

/* Which flags of iot_async_paths are of which kind. */
#define IOT_IS_ASYNC_OPEN(call)                                                                    \
  ((call) == IOT_async_call_IORING_OP_OPENAT || (call) == IOT_async_call_IORING_OP_OPENAT2)
#define IOT_IS_ASYNC_RENAME(call) ((call) == IOT_async_call_IORING_OP_RENAMEAT)
#define IOT_OPEN_FLAGS(call, flags) (IOT_IS_ASYNC_OPEN(call) ? (flags) : 0)
#define IOT_RENAME_FLAGS(call, flags) (IOT_IS_ASYNC_RENAME(call) ? (flags) : 0)
#define IOT_OTHER_FLAGS(call, flags)                                                               \
  (IOT_IS_ASYNC_OPEN(call) || IOT_IS_ASYNC_RENAME(call) ? 0 : (flags))

/* The paths that an operation was given, by the local ids of their texts, and where they begin. */
struct iot_async_paths {
  iot_u32 path;
  iot_u32 new_path;
  iot_s32 fd;
  iot_s32 new_fd;
  iot_u32 flags;    /* of which kind, the call says */
  iot_u32 is_given; /* it was given a path, which is here as far as the kernel told it */
};
struct iot_async {
  struct iot_owner owner; /* the operation, and whose; its parent is the call that submitted it */
  iot_u64 start_ns;
  iot_u64 handed_over_ns; /* after the start; 0: it was not */
  iot_u64 user_data;
  iot_u64 ring;
  iot_s64 offset;
  iot_u64 bytes_requested;
  iot_u64 linked_to_op; /* the operation that has to end before; 0: none */
  iot_u64 request;      /* by `user_data`: the kernel's; 0: there is none, or no longer */
  iot_u32 file;
  iot_s32 fd;
  iot_u32 call;      /* of the value table `async_call` */
  iot_u32 flags;     /* IOSQE_* */
  iot_u32 sync_disk; /* that it waits for; 0: none */
  iot_u32 sharers;   /* by `user_data`: operations that have the same */
  struct iot_async_paths paths;
};

#endif
