/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * What the BPF programs and their loader share of events that are added up: bpf/out/aggregate.bpf.h.
 */
#ifndef IOTRAIL_AGGREGATE_ABI_H
#define IOTRAIL_AGGREGATE_ABI_H

#include "abi.h"

/* Records that can be put together on a CPU at once before they are added up; a power of two. */
#define IOT_AGGREGATE_PLACES 8
/* Rows for what finds no row of its own; a power of two: a few hundred operations, errors and durations at most. */
#define IOT_AGGREGATE_OTHERS (1U << 13)

/*
 * Where records of a kind have a field: its offset, IOT_AGGREGATE_FIELD_WIDE set in it if it has 8 bytes and not 4. 0: they
 * have no such field.
 */
#define IOT_AGGREGATE_FIELD_WIDE 0x80
struct iot_aggregate_fields {
  iot_u8 duration;
  iot_u8 bytes;
  iot_u8 bytes_shift; /* of pages, that make bytes */
  iot_u8 result;      /* where it is negative, an error */
  iot_u8 file;
  iot_u8 device;
  iot_u8 operation; /* which it is of those that the event stands for: a call, flags */
  iot_u8 reserved;
  iot_u32 operation_mask;
};

/* What the events of a row have in common. */
struct iot_aggregate_key {
  iot_u64 object; /* file, local id; device << 32 */
  iot_u64 actor;  /* pid; operation << 32 */
  iot_u64 what;   /* kind; error << 16; bucket of the duration << 32; CPU << 48. 0: a free row */
};
#define IOT_AGGREGATE_CLAIMED 1ULL      /* `what` of a row that is being made */
#define IOT_AGGREGATE_NO_BUCKET 0xffffU /* the events take no time */
#define IOT_AGGREGATE_OF_OTHERS 0xffffU /* for the CPU: pid, file and device are not known */

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
