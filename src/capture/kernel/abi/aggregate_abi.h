/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Shared by the BPF programs and their loader for aggregated events: bpf/out/aggregate.bpf.h.
 */
#ifndef IOTRAIL_AGGREGATE_ABI_H
#define IOTRAIL_AGGREGATE_ABI_H

#include "abi.h"

/* Records that a CPU can fill at once before they are aggregated; a power of two. */
#define IOT_AGGREGATE_PLACES 8
/*
 * Rows for events without a row of their own; a power of two: a few hundred operations, errors and
 * durations at most.
 */
#define IOT_AGGREGATE_OTHERS (1U << 13)

/*
 * The positions of fields in the records of a kind: the offset, with IOT_AGGREGATE_FIELD_WIDE set
 * if the field has 8 bytes and not 4. 0: no such field.
 */
#define IOT_AGGREGATE_FIELD_WIDE 0x80
struct iot_aggregate_fields {
  iot_u8 duration;
  iot_u8 bytes;
  iot_u8 bytes_shift; /* log2 of a page if the field counts pages */
  iot_u8 result;      /* a negative one is an error */
  iot_u8 file;
  iot_u8 device;
  iot_u8 operation; /* distinguishes operations of the event: a call, flags */
  iot_u8 reserved;
  iot_u32 operation_mask;
};

/* The key that all events of a row have. */
struct iot_aggregate_key {
  iot_u64 object; /* file, local id; device << 32 */
  iot_u64 actor;  /* pid; operation << 32 */
  iot_u64 what;   /* kind; error << 16; bucket of the duration << 32; CPU << 48. 0: a free row */
};
#define IOT_AGGREGATE_CLAIMED 1ULL      /* `what` of a row that is being made */
#define IOT_AGGREGATE_NO_BUCKET 0xffffU /* the events take no time */
#define IOT_AGGREGATE_OF_OTHERS 0xffffU /* in place of the CPU: pid, file and device are unknown */

/* Written by all CPUs. */
struct iot_aggregate_row {
  struct iot_aggregate_key key;
  iot_u64 events;
  iot_u64 bytes;
  iot_u64 duration_ns;
  iot_u64 max_ns;
  iot_u64 reserved;
};

#endif
