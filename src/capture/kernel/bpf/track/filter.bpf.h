/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * What the recording is of, besides tasks. The loader fills the maps before the start and makes them as large as they
 * have to be.
 */
#ifndef IOTRAIL_FILTER_BPF_H
#define IOTRAIL_FILTER_BPF_H

#include "out/ring.bpf.h"

/* Values: enum iot_verdict; generation 0: any. Directories stand for what lies below them, too. */
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

/* True: there are files, or devices, that the recording is not of. */
#define FILTERS_FILES (iot_config.filter_files || iot_config.excludes_files)
#define FILTERS_DEVICES (iot_config.filter_devices || iot_config.excludes_devices)
/* Either: the four are one word, since the verifier takes branches out and leaves the loads in. */
#define FILTERS_ANY (*(const volatile iot_u32*)&iot_config.filter_files)
_Static_assert(__builtin_offsetof(struct iot_config, filter_files) % sizeof(iot_u32) == 0 &&
                   __builtin_offsetof(struct iot_config, excludes_devices) ==
                       __builtin_offsetof(struct iot_config, filter_files) + 3,
               "what filters files and devices is one word");

/* False: the recording is of other files. An id of 0 (no file, or not known) is wanted unless files are named. */
static __always_inline int iot_is_wanted_file(iot_u32 file, int are_named) {
  return (file || !are_named) && !(file & IOT_FILE_UNWANTED);
}

_Static_assert(IOT_FILE_UNWANTED == 1U << 31, "an id that is marked so is a negative number");

/* An id without a mark is wanted by all filters: most are seen to be so by one comparison. */
static __always_inline int iot_file_wanted(iot_u32 file) {
  return (iot_s32)file > 0 || (!FILTERS_ANY && !iot_config.excludes_pseudo) ||
         iot_is_wanted_file(file, iot_config.filter_files || iot_config.filter_devices);
}

/* The same of what a program asked for, which is counted where it is left out for nothing but its file system. */
static __always_inline int iot_file_of_call_wanted(iot_u32 file) {
  if (iot_file_wanted(file))
    return 1;
  if (iot_config.excludes_pseudo && file & IOT_FILE_PSEUDO)
    iot_count(IOT_COUNTER_kernel_pseudo_left_out);
  return 0;
}

/* The same of a bio on a device that is wanted: metadata and journals have no file. */
static __always_inline int iot_file_of_bio_wanted(iot_u32 file) {
  return !FILTERS_FILES || iot_is_wanted_file(file, iot_config.filter_files);
}

/* What a map says of a key; 0: nothing. */
#define IOT_VERDICT(map, key)                                                                      \
  ({                                                                                               \
    const iot_u32* found = bpf_map_lookup_elem(&(map), (key));                                     \
    found ? *found : 0;                                                                            \
  })

static __always_inline int iot_is_good(iot_u32 verdict, int are_named) {
  return verdict ? verdict == IOT_WANTED : !are_named;
}

/* False: the recording is of other devices; `device` is the whole disk. */
static __always_inline int iot_device_wanted(iot_u32 device) {
  return !FILTERS_DEVICES ||
         iot_is_good(IOT_VERDICT(wanted_devices, &device), iot_config.filter_devices);
}

static __always_inline int iot_file_system_wanted(iot_u32 device) {
  return !FILTERS_DEVICES ||
         iot_is_good(IOT_VERDICT(wanted_file_systems, &device), iot_config.filter_devices);
}

#endif
