/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The part of kernel_abi.h about operations of io_uring and libaio in flight.
 */
#ifndef IOTRAIL_KERNEL_ABI_ASYNC_H
#define IOTRAIL_KERNEL_ABI_ASYNC_H

#include "capture/kernel/abi/kernel_abi.h"

/*
 * The key of an asynchronous operation: the kernel's request of io_uring, or the program's iocb of
 * libaio. An operation that may have several results also has its `user_data` as a key, which is
 * all that a result names.
 */
enum iot_async_by { IOT_ASYNC_BY_REQUEST, IOT_ASYNC_BY_IOCB, IOT_ASYNC_BY_USER_DATA };
struct iot_async_key {
  iot_u64 number;
  iot_u32 scope; /* scope of the number: 0, the process, the low bits of the ring's address */
  iot_u32 by;
};

/* The meaning of the flags in iot_async_paths. */
#define IOT_IS_ASYNC_OPEN(call)                                                                    \
  ((call) == IOT_async_call_IORING_OP_OPENAT || (call) == IOT_async_call_IORING_OP_OPENAT2)
#define IOT_IS_ASYNC_RENAME(call) ((call) == IOT_async_call_IORING_OP_RENAMEAT)
#define IOT_OPEN_FLAGS(call, flags) (IOT_IS_ASYNC_OPEN(call) ? (flags) : 0)
#define IOT_RENAME_FLAGS(call, flags) (IOT_IS_ASYNC_RENAME(call) ? (flags) : 0)
#define IOT_OTHER_FLAGS(call, flags)                                                               \
  (IOT_IS_ASYNC_OPEN(call) || IOT_IS_ASYNC_RENAME(call) ? 0 : (flags))

/* The paths of an operation, as local ids of strings, and the directories that they start at. */
struct iot_async_paths {
  iot_u32 path;
  iot_u32 new_path;
  iot_s32 fd;
  iot_s32 new_fd;
  iot_u32 flags;    /* the call determines their meaning */
  iot_u32 is_given; /* it has a path, which is here if the kernel's copy was readable */
};
struct iot_async {
  struct iot_owner owner; /* the operation and its task; the parent is the call that submitted it */
  iot_u64 start_ns;
  iot_u64 handed_over_ns; /* after the start; 0: not handed over */
  iot_u64 user_data;
  iot_u64 ring;
  iot_s64 offset;
  iot_u64 bytes_requested;
  iot_u64 linked_to_op; /* the operation that must end before; 0: none */
  iot_u64 request;      /* under the key `user_data`: the kernel's; 0: none, or none any more */
  iot_u32 file;
  iot_s32 fd;
  iot_u32 call;      /* of the value table `async_call` */
  iot_u32 flags;     /* IOSQE_* */
  iot_u32 sync_disk; /* the disk that it waits for; 0: none */
  iot_u32 sharers;   /* under the key `user_data`: operations with the same one */
  struct iot_async_paths paths;
};

#endif
