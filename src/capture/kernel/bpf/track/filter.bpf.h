/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The filters of a recording, besides those of tasks. The loader fills the maps before the start
 * and sizes them.
 */
#ifndef IOTRAIL_FILTER_BPF_H
#define IOTRAIL_FILTER_BPF_H

#include "out/ring.bpf.h"

/* Values: enum iot_verdict; generation 0: any. A directory includes all files below it. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct iot_file_key);
  __type(value, iot_u32);
} wanted_files SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 256);
  __type(key, iot_u32);
  __type(value, iot_u32);
} wanted_devices SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, iot_u32);
  __type(value, iot_u32);
} wanted_file_systems SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1);
  __type(key, iot_u32);
  __type(value, iot_u32);
} adopted_pids SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
  __uint(max_entries, IOT_CGROUP_LIMIT);
  __type(key, iot_u32);
  __type(value, iot_u32);
} adopted_cgroups SEC(".maps");

/* True: the filter excludes some files, or devices. */
#define FILTERS_FILES (iot_config.filter_files || iot_config.excludes_files)
#define FILTERS_DEVICES (iot_config.filter_devices || iot_config.excludes_devices)
/*
 * Either of them: the four are one word, since the verifier removes branches but leaves the loads.
 */
#define FILTERS_ANY (*(const volatile iot_u32*)&iot_config.filter_files)
_Static_assert(__builtin_offsetof(struct iot_config, filter_files) % sizeof(iot_u32) == 0 &&
                   __builtin_offsetof(struct iot_config, excludes_devices) ==
                       __builtin_offsetof(struct iot_config, filter_files) + 3,
               "what filters files and devices is one word");

/*
 * False: the filter excludes the file. An id of 0 (no file, or unknown) is wanted unless the filter
 * names files.
 */
static __always_inline int iot_is_wanted_file(iot_u32 file, int are_named) {
  return (file || !are_named) && !(file & IOT_FILE_UNWANTED);
}

_Static_assert(IOT_FILE_UNWANTED == 1U << 31, "an id that is marked so is a negative number");

/* All filters want an id without a mark: one comparison decides most cases. */
static __always_inline int iot_file_wanted(iot_u32 file) {
  return (iot_s32)file > 0 || (!FILTERS_ANY && !iot_config.excludes_pseudo) ||
         iot_is_wanted_file(file, iot_config.filter_files || iot_config.filter_devices);
}

/*
 * The same for a file that a program asked for. Counts a file that only its file system excludes.
 */
static __always_inline int iot_file_of_call_wanted(iot_u32 file) {
  if (iot_file_wanted(file))
    return 1;
  if (iot_config.excludes_pseudo && file & IOT_FILE_PSEUDO)
    iot_count(IOT_COUNTER_kernel_pseudo_left_out);
  return 0;
}

/* The same for a bio on a wanted device: metadata and journals have no file. */
static __always_inline int iot_file_of_bio_wanted(iot_u32 file) {
  return !FILTERS_FILES || iot_is_wanted_file(file, iot_config.filter_files);
}

/* The value of a key in a map; 0: none. */
#define IOT_VERDICT(map, key)                                                                      \
  ({                                                                                               \
    const iot_u32* found = bpf_map_lookup_elem(&(map), (key));                                     \
    found ? *found : 0;                                                                            \
  })

static __always_inline int iot_is_good(iot_u32 verdict, int are_named) {
  return verdict ? verdict == IOT_WANTED : !are_named;
}

/* False: the filter excludes the device; `device` is the whole disk. */
static __always_inline int iot_device_wanted(iot_u32 device) {
  return !FILTERS_DEVICES ||
         iot_is_good(IOT_VERDICT(wanted_devices, &device), iot_config.filter_devices);
}

static __always_inline int iot_file_system_wanted(iot_u32 device) {
  return !FILTERS_DEVICES ||
         iot_is_good(IOT_VERDICT(wanted_file_systems, &device), iot_config.filter_devices);
}

#endif
