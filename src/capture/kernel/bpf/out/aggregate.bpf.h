/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Aggregates events instead of sending them (iot_config.aggregates). A program fills a record as
 * always, but in one of a few places that each CPU has instead of its ring. The fields of the
 * record are then added to a row of `sums`, which stands for all events that are alike.
 *
 * A row is found by its hash, or among the next few rows. The table has two halves. Programs use
 * one; to empty it, the collector makes them use the other and waits until none uses the first. A
 * row therefore exists as long as the program that found it runs. The CPU is part of the key, so
 * that CPUs do not write the same memory; the collector adds their rows up. Two rows may get the
 * same key if one is made while another CPU searches; they are added up too.
 *
 * The first IOT_AGGREGATE_OTHERS rows are for events that find no row of their own: by operation,
 * without process, file and device.
 */
#ifndef IOTRAIL_AGGREGATE_BPF_H
#define IOTRAIL_AGGREGATE_BPF_H

#include "out/ring.bpf.h"

/*
 * The loader sets the size: IOT_AGGREGATE_OTHERS and twice iot_config.aggregates; 1 without
 * aggregation.
 */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, iot_u32);
  __type(value, struct iot_aggregate_row);
} sums SEC(".maps");

iot_u32 aggregate_half;      /* in use: 0 or 1; the collector sets it */
iot_u32 aggregate_rows_made; /* in that half, without the rows of others */

/*
 * The positions of the aggregated fields in the records of each kind, by layer and low byte of the
 * kind.
 */
const volatile struct iot_aggregate_fields iot_aggregate_fields[IOT_LAYER_COUNT * IOT_KIND_LIMIT] =
    {};

#define IOT_AGGREGATE_PROBES 12
#define IOT_AGGREGATE_MAX_TRIES 4

/* A field of a record; 0: the event does not have it. */
static __always_inline iot_u64 aggregate_field(const iot_u64* words, iot_u32 field) {
  if (!field)
    return 0;
  const iot_u64 word = words[(field >> 3) & (IOT_KERNEL_SLOT_BYTES / 8 - 1)];
  if (field & IOT_AGGREGATE_FIELD_WIDE)
    return word;
  return field & 4 ? word >> 32 : (iot_u32)word;
}

/* The same, signed. */
static __always_inline iot_s64 aggregate_signed_field(const iot_u64* words, iot_u32 field) {
  const iot_u64 value = aggregate_field(words, field);
  return field & IOT_AGGREGATE_FIELD_WIDE ? (iot_s64)value : (iot_s64)(iot_s32)value;
}

/*
 * The mask is behind the barrier: the verifier of Linux 6.1 loses the bounds of a number that is
 * combined from two.
 */
static __always_inline const volatile struct iot_aggregate_fields*
aggregate_fields_of(iot_u32 kind) {
  iot_u32 index = (kind >> 8) * IOT_KIND_LIMIT + (kind & (IOT_KIND_LIMIT - 1));
  asm volatile("" : "+r"(index));
  return &iot_aggregate_fields[index & (IOT_LAYER_COUNT * IOT_KIND_LIMIT - 1)];
}

/*
 * Four buckets to an octave: from 4 on, the position of the highest bit and the two bits below it.
 */
static __always_inline iot_u32 latency_bucket(iot_u64 duration_ns) {
  if (duration_ns < 4)
    return (iot_u32)duration_ns;
  iot_u64 rest = duration_ns;
  iot_u32 high = 0;
#pragma unroll
  for (iot_u32 bits = 32; bits; bits >>= 1)
    if (rest >> bits) {
      rest >>= bits;
      high += bits;
    }
  return (high - 1) * 4 + ((iot_u32)(duration_ns >> (high - 2)) & 3);
}

static __always_inline iot_u32 aggregate_hash(iot_u64 object, iot_u64 actor, iot_u64 what) {
  iot_u64 hash = (object * 0x9e3779b97f4a7c15ULL) ^ (actor * 0xc2b2ae3d27d4eb4fULL) ^
                 (what * 0x165667b19e3779f9ULL);
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9ULL;
  return (iot_u32)(hash >> 32);
}

/*
 * Finds or makes the row of a key, among the rows of its own or, with `is_others`, among those of
 * others. Returns its index plus one; 0: the rows at its hash have other keys. Takes and returns
 * numbers, so that the verifier checks the code behind it once, and not for each row.
 */
__noinline iot_u32 iot_aggregate_row(iot_u64 object, iot_u64 actor, iot_u64 what,
                                     iot_u32 is_others) {
  if (!iot_config.aggregates)
    return 0;
  const iot_u32 half = *(volatile iot_u32*)&aggregate_half ? iot_config.aggregates : 0;
  const iot_u32 begin = is_others ? 0 : IOT_AGGREGATE_OTHERS + half;
  const iot_u32 mask = (is_others ? IOT_AGGREGATE_OTHERS : iot_config.aggregates) - 1;
  const iot_u32 hash = aggregate_hash(object, actor, what);
  for (iot_u32 probe = 0; probe < IOT_AGGREGATE_PROBES; ++probe) {
    const iot_u32 index = begin + ((hash + probe) & mask);
    struct iot_aggregate_row* row = bpf_map_lookup_elem(&sums, &index);
    if (!row)
      return 0;
    iot_u64 found = IOT_WORD(row->key.what);
    if (!found) {
      found = __sync_val_compare_and_swap(&row->key.what, 0, IOT_AGGREGATE_CLAIMED);
      if (!found) {
        IOT_WORD(row->key.object) = object;
        IOT_WORD(row->key.actor) = actor;
        iot_store_release(&IOT_WORD(row->key.what), what);
        if (!is_others)
          __sync_fetch_and_add(&aggregate_rows_made, 1);
        return index + 1;
      }
    }
    if (found == what && IOT_WORD(row->key.object) == object && IOT_WORD(row->key.actor) == actor)
      return index + 1;
  }
  return 0;
}

/*
 * The number of events is added last: when the collector has read that all are counted, their bytes
 * and times are in the row.
 */
static __always_inline void add_to_aggregate(struct iot_aggregate_row* row, iot_u64 bytes,
                                             iot_u64 duration_ns) {
  if (bytes)
    __sync_fetch_and_add(&row->bytes, bytes);
  if (duration_ns) {
    __sync_fetch_and_add(&row->duration_ns, duration_ns);
    iot_u64 longest_ns = IOT_WORD(row->max_ns);
    for (int tries = 0; tries < IOT_AGGREGATE_MAX_TRIES && longest_ns < duration_ns; ++tries)
      longest_ns = __sync_val_compare_and_swap(&row->max_ns, longest_ns, duration_ns);
  }
  __sync_fetch_and_add(&row->events, 1);
}

static __always_inline void give_up_place(iot_u32 cpu, iot_u32 number) {
  asm volatile("" ::: "memory");
  *(volatile iot_u32*)&cpus[cpu & (IOT_CPU_LIMIT - 1)].taken[number & (IOT_AGGREGATE_PLACES - 1)] =
      0;
}

/*
 * Aggregates the record in a place that iot_reserve() gave: `word` is last_word of the place. Takes
 * numbers only, so that the verifier checks it once and not at each call.
 */
__noinline iot_u32 iot_aggregate(iot_u64 word, iot_u32 pid) {
  if (!iot_config.aggregates) /* the verifier checks the function even if it is never called */
    return 0;
  const iot_u32 cpu = (iot_u32)word & (IOT_CPU_LIMIT - 1);
  const iot_u32 number = (iot_u32)(word >> 32) & (IOT_AGGREGATE_PLACES - 1);
  const iot_u32 kind = (iot_u32)word >> 16;
  const iot_u32 index = cpu * IOT_AGGREGATE_PLACES + number;
  const union iot_record* record = bpf_map_lookup_elem(&slots, &index);
  if (!record)
    return 0;
  const iot_u64* words = (const iot_u64*)record->bytes;
  const volatile struct iot_aggregate_fields* fields = aggregate_fields_of(kind);
  const iot_u64 duration_ns = aggregate_field(words, fields->duration);
  if (iot_config.min_latency_ns && fields->duration && duration_ns < iot_config.min_latency_ns) {
    __sync_fetch_and_add(&cpus[cpu].left_out, 1);
    give_up_place(cpu, number);
    return 0;
  }
  const iot_s64 moved = (iot_s64)aggregate_field(words, fields->bytes);
  const iot_u64 bytes = moved > 0 ? (iot_u64)moved << (fields->bytes_shift & 63) : 0;
  const iot_s64 result = aggregate_signed_field(words, fields->result);
  const iot_u32 bucket = fields->duration ? latency_bucket(duration_ns) : IOT_AGGREGATE_NO_BUCKET;
  const iot_u32 operation =
      (iot_u32)aggregate_field(words, fields->operation) & fields->operation_mask;
  const iot_u64 what =
      kind | (result < 0 ? (iot_u64)(iot_u16)result << 16 : 0) | (iot_u64)bucket << 32;
  const iot_u64 object =
      (iot_u32)aggregate_field(words, fields->file) | aggregate_field(words, fields->device) << 32;
  const iot_u64 actor = (iot_u64)operation << 32;
  give_up_place(cpu, number); /* the record is not needed any more */
  iot_u32 place = iot_aggregate_row(object, actor | pid, what | (iot_u64)cpu << 48, 0);
  if (!place) {
    place = iot_aggregate_row(0, actor, what | (iot_u64)IOT_AGGREGATE_OF_OTHERS << 48, 1);
    iot_count(place ? IOT_COUNTER_kernel_sum_others : IOT_COUNTER_kernel_sum_full);
  }
  const iot_u32 row_index = place - 1;
  struct iot_aggregate_row* row = bpf_map_lookup_elem(&sums, &row_index);
  if (row) /* NULL for the index of place 0 */
    add_to_aggregate(row, bytes, duration_ns);
  return 0;
}

/* Another place of the CPU than the first; IOT_AGGREGATE_PLACES: none is free. */
__noinline iot_u32 iot_aggregate_place(void) {
  struct iot_cpu* own = iot_this_cpu();
  for (iot_u32 number = 1; number < IOT_AGGREGATE_PLACES; ++number)
    if (!__atomic_exchange_n(&own->taken[number], 1, __ATOMIC_RELAXED))
      return number;
  iot_count(IOT_COUNTER_kernel_sum_busy);
  return IOT_AGGREGATE_PLACES;
}

#endif
