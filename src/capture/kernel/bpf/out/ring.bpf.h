/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The way of a record to the collector: a slot in this CPU's ring is reserved, filled, committed
 * (capture/ring.h).
 *
 *   struct iot_place place;
 *   struct iot_vfs_open *record = IOT_RESERVE(vfs_open, &place);
 *   if (!record)                            the ring is full: already counted by layer
 *     return 0;
 *   record->file = id; ...                  every field of the event, plain stores only
 *   iot_commit(&place, &task->owner, ts_ns);
 *
 * If events are aggregated (aggregate.bpf.h), the same calls reserve a place of another kind and
 * add its record to a row.
 */
#ifndef IOTRAIL_RING_BPF_H
#define IOTRAIL_RING_BPF_H

#include "types/compat.bpf.h"

/*
 * A slot holds any event. As a type of its own it also keeps the layout of each event in the
 * object, where a test compares it with the schema.
 */
/* clang-format off */
union iot_record {
  iot_u8 bytes[IOT_KERNEL_SLOT_BYTES];
#define EVENT(id, name, layer, doc) struct iot_##name name;
#define FIELD(type, name, meaning, doc, ...)
#define END(name)
#include "ring_events.def"
#undef EVENT
#undef FIELD
#undef END
};
/* clang-format on */
_Static_assert(sizeof(union iot_record) == IOT_KERNEL_SLOT_BYTES, "an event is larger than a slot");

/* The loader sets the size: slots_per_cpu for each CPU. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, iot_u32);
  __type(value, union iot_record);
} slots SEC(".maps");

struct iot_cpu cpus[IOT_CPU_LIMIT];

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, iot_u32);
  __type(value, struct iot_counter_values);
} counters SEC(".maps");

static __always_inline struct iot_cpu* iot_this_cpu(void) {
  return &cpus[bpf_get_smp_processor_id() & (IOT_CPU_LIMIT - 1)];
}

/*
 * Adds one to a counter of stats.def. Takes numbers only, so that the verifier checks it once and not at each call.
 */
__noinline iot_u32 iot_count(iot_u32 counter) {
  iot_u32 zero = 0;
  struct iot_counter_values* own = bpf_map_lookup_elem(&counters, &zero);
  if (own)
    __sync_fetch_and_add(&own->value[counter & (IOT_COUNTER_LIMIT - 1)], 1);
  return 0;
}

/* An event occurred that has no record. iot_reserve() counts those that find the ring full. */
__noinline iot_u32 iot_lose(iot_u32 counter) {
  __sync_fetch_and_add(&iot_this_cpu()->produced, 1);
  return iot_count(counter);
}

/* An event of an operation that was too short is not recorded. */
static __always_inline void iot_leave_out(void) {
  struct iot_cpu* own = iot_this_cpu();
  __sync_fetch_and_add(&own->produced, 1);
  __sync_fetch_and_add(&own->left_out, 1);
}

/*
 * A span without a slot began before it was lost. Its begin limits which part of the trace it can
 * have changed.
 */
__noinline iot_u32 iot_lose_span(iot_u64 begin_ns) {
  iot_u32 zero = 0;
  struct iot_counter_values* own = bpf_map_lookup_elem(&counters, &zero);
  const iot_u64 lasted_ns = bpf_ktime_get_ns() - begin_ns;
  if (own && own->longest_lost_ns < lasted_ns)
    own->longest_lost_ns = lasted_ns;
  return 0;
}

/* A slot in this CPU's ring, from IOT_RESERVE to iot_commit. */
struct iot_place {
  struct iot_event* event;
  iot_u64 last_word; /* the header's: cpu, kind, tag */
};

iot_u32 iot_aggregate(iot_u64 word, iot_u32 pid); /* aggregate.bpf.h */
iot_u32 iot_aggregate_place(void);

static __always_inline void* reserve_aggregate_place(struct iot_place* place, iot_u32 cpu,
                                                     iot_u64 kind_bits) {
  iot_u32 number = 0;
  if (__atomic_exchange_n(&cpus[cpu].taken[0], 1, __ATOMIC_RELAXED)) {
    number = iot_aggregate_place();
    if (number >= IOT_AGGREGATE_PLACES)
      return 0;
  }
  const iot_u32 index = cpu * IOT_AGGREGATE_PLACES + number;
  place->last_word = (iot_u64)number << 32 | kind_bits | cpu;
  place->event = bpf_map_lookup_elem(&slots, &index);
  return place->event;
}

#define IOT_RESERVE_TRIES 2

/* `kind_bits`: the kind at its position in the last word of the header. */
static __always_inline void* iot_reserve_bits(struct iot_place* place, iot_u64 kind_bits) {
  const iot_u32 cpu = bpf_get_smp_processor_id() & (IOT_CPU_LIMIT - 1);
  struct iot_cpu* own = &cpus[cpu];
  __sync_fetch_and_add(&own->produced, 1);
  if (iot_config.aggregates)
    return reserve_aggregate_place(place, cpu, kind_bits);
  const iot_u32 count = iot_config.slots_per_cpu;
  iot_u64 head = *(volatile iot_u64*)&own->ring.head;
#pragma unroll
  for (int tries = 0; tries < IOT_RESERVE_TRIES; ++tries) {
    if (head - *(volatile iot_u64*)&own->ring.tail >= count) {
      const iot_u32 layer = (iot_u32)(kind_bits >> 24) & (IOT_LAYER_COUNT - 1);
      __sync_fetch_and_add(&own->ring.lost[(layer - 1) & (IOT_LAYER_COUNT - 1)], 1);
      return 0;
    }
    /* Other users of this ring: an interrupt, or a task that preempted this one. */
    iot_u64 seen = __sync_val_compare_and_swap(&own->ring.head, head, head + 1);
    asm volatile(
        ""
        : "+r"(
            seen)); /* otherwise the compiler stores the result of the comparison first, and then branches */
    if (seen == head) {
      iot_u32 index = cpu * count + ((iot_u32)head & (count - 1));
      place->last_word = (head + 1) << 32 | kind_bits | cpu;
      place->event = bpf_map_lookup_elem(&slots, &index);
      return place->event;
    }
    head = seen;
  }
  iot_count(IOT_COUNTER_kernel_ring_contended);
  return 0;
}

static __always_inline void* iot_reserve(struct iot_place* place, iot_u32 kind) {
  return iot_reserve_bits(place, (iot_u64)kind << 16);
}

/*
 * Reserves a record and returns the last word of its header; 0: the ring is full. Takes numbers
 * only: checked once.
 */
__noinline iot_u64 iot_take_place(iot_u32 kind) {
  struct iot_place place;
  return iot_reserve(&place, kind) ? place.last_word : 0;
}

/*
 * The same, called and not inlined: for events that are rare and in many programs, which would take
 * long to load.
 */
static __noinline void* iot_reserve_cold(struct iot_place* place, iot_u32 kind) {
  const iot_u64 word = iot_take_place(kind);
  if (!word)
    return 0;
  const iot_u32 cpu = (iot_u32)word & (IOT_CPU_LIMIT - 1);
  const iot_u32 number = (iot_u32)(word >> 32);
  const iot_u32 count = iot_config.slots_per_cpu;
  const iot_u32 index = iot_config.aggregates ? cpu * IOT_AGGREGATE_PLACES + number
                                              : cpu * count + ((number - 1) & (count - 1));
  place->last_word = word;
  place->event = bpf_map_lookup_elem(&slots, &index);
  return place->event;
}

/* struct iot_<name>*, or NULL. Every record fits a slot: asserted here. */
#define IOT_RESERVE(name, place)                                                                   \
  ({                                                                                               \
    _Static_assert(sizeof(struct iot_##name) <= IOT_KERNEL_SLOT_BYTES, "larger than a slot");      \
    (struct iot_##name*)iot_reserve((place), IOT_KIND_##name);                                     \
  })
#define IOT_RESERVE_COLD(name, place)                                                              \
  ({                                                                                               \
    _Static_assert(sizeof(struct iot_##name) <= IOT_KERNEL_SLOT_BYTES, "larger than a slot");      \
    (struct iot_##name*)iot_reserve_cold((place), IOT_KIND_##name);                                \
  })

_Static_assert(__builtin_offsetof(struct iot_event, kind) ==
                       __builtin_offsetof(struct iot_event, cpu) + 2 &&
                   __builtin_offsetof(struct iot_event, tag) ==
                       __builtin_offsetof(struct iot_event, cpu) + 4,
               "cpu, kind and tag are one word, which is stored at once");

#define IOT_WORD(field) (*(volatile iot_u64*)&(field))

/* The tag is stored last: it hands the record over to the collector. */
static __always_inline void iot_commit(struct iot_place* place, const struct iot_owner* owner,
                                       iot_u64 ts_ns) {
  if (iot_config.aggregates) {
    iot_aggregate(place->last_word, owner->pid);
    return;
  }
  struct iot_event* event = place->event;
  event->ts_ns = ts_ns;
  event->op_id = owner->op_id;
  event->parent_op = owner->parent_op;
  IOT_WORD(event->pid) = IOT_WORD(owner->pid);
  iot_store_release(&IOT_WORD(event->cpu), place->last_word);
}

#endif
