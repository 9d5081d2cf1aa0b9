/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Bios and requests in flight, by address. They are stored in sets of a few places each. To find,
 * put or take one there takes some 15 instructions; a hash map takes 110 to 450. An entry that
 * finds its set full goes into a hash map, and from then on a failed search in a set continues
 * there.
 *
 * One CPU at a time puts, finds or takes an address, since a bio or a request has one owner at a
 * time. Others of its set may be used meanwhile. A place with the key IOT_PLACE_CLAIMED is being
 * filled.
 */
#ifndef IOTRAIL_BLOCK_KNOWN_BPF_H
#define IOTRAIL_BLOCK_KNOWN_BPF_H

#include "track/core.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IOT_BIO_LIMIT);
  __type(key, iot_u64);
  __type(value, struct iot_bio);
} bios SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IOT_REQUEST_LIMIT);
  __type(key, iot_u64);
  __type(value, struct iot_request);
} requests SEC(".maps");

struct iot_bio_set bio_sets[IOT_KNOWN_SETS];
struct iot_request_set request_sets[IOT_KNOWN_SETS];
iot_u32 bios_overflowed; /* 1: the hash map is used too */
iot_u32 requests_overflowed;

/* Addresses differ in their middle bits: Knuth's multiplier spreads them over the upper bits. */
static __always_inline iot_u32 iot_set_of(iot_u64 key) {
  return (iot_u32)((key * 0x9e3779b97f4a7c15ULL) >> 32) & (IOT_KNOWN_SETS - 1);
}

/*
 * For both kinds:
 *   iot_find_x(key)        the value; NULL: unknown
 *   iot_put_x(key, value)  0, or an error; replaces a known value
 *   iot_add_x(key, value)  the same, for an unknown key
 *   iot_take_x(key)        removes it; true: it was known
 */
#define KNOWN_TABLE(x, table, overflowed)                                                          \
  static __always_inline struct iot_##x* iot_find_##x(iot_u64 key) {                               \
    struct iot_##x##_set* set = &x##_sets[iot_set_of(key)];                                        \
    _Pragma("unroll") for (int way = 0; way < IOT_KNOWN_WAYS; ++way) {                             \
      if (set->places[way].key == key)                                                             \
        return &set->places[way].value;                                                            \
    }                                                                                              \
    return (overflowed) ? bpf_map_lookup_elem(&table, &key) : 0;                                   \
  }                                                                                                \
  static __noinline long iot_overflow_##x(iot_u64 key, const struct iot_##x* value) {              \
    (overflowed) = 1;                                                                              \
    return value ? bpf_map_update_elem(&table, &key, value, BPF_ANY) : 0;                          \
  }                                                                                                \
  static __always_inline long iot_add_##x(iot_u64 key, const struct iot_##x* value) {              \
    struct iot_##x##_set* set = &x##_sets[iot_set_of(key)];                                        \
    _Pragma("unroll") for (int way = 0; way < IOT_KNOWN_WAYS; ++way) {                             \
      struct iot_##x##_place* place = &set->places[way];                                           \
      if (!place->key && !__sync_val_compare_and_swap(&place->key, 0, IOT_PLACE_CLAIMED)) {        \
        place->value = *value;                                                                     \
        iot_store_release(&place->key, key);                                                       \
        return 0;                                                                                  \
      }                                                                                            \
    }                                                                                              \
    return iot_overflow_##x(key, value);                                                           \
  }                                                                                                \
  static __always_inline long iot_put_##x(iot_u64 key, const struct iot_##x* value) {              \
    struct iot_##x* known = iot_find_##x(key);                                                     \
    if (!known)                                                                                    \
      return iot_add_##x(key, value);                                                              \
    *known = *value;                                                                               \
    return 0;                                                                                      \
  }                                                                                                \
  static __always_inline int iot_take_##x(iot_u64 key) {                                           \
    struct iot_##x##_set* set = &x##_sets[iot_set_of(key)];                                        \
    _Pragma("unroll") for (int way = 0; way < IOT_KNOWN_WAYS; ++way) {                             \
      if (set->places[way].key == key) {                                                           \
        iot_store_release(&set->places[way].key, 0);                                               \
        return 1;                                                                                  \
      }                                                                                            \
    }                                                                                              \
    return (overflowed) && !bpf_map_delete_elem(&table, &key);                                     \
  }

KNOWN_TABLE(bio, bios, bios_overflowed)
KNOWN_TABLE(request, requests, requests_overflowed)

#endif
