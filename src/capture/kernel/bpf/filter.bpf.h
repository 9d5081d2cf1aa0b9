/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * What the recording is of, besides tasks. The loader fills the maps before the start and makes them as large as they
 * have to be.
 */
#ifndef IOTRAIL_FILTER_BPF_H
#define IOTRAIL_FILTER_BPF_H

#include "compat.bpf.h"

/* Generation 0: any. */
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
#define IOT_CGROUP_LIMIT 16
struct {
  __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
  __uint(max_entries, IOT_CGROUP_LIMIT);
  __type(key, iot_u32);
  __type(value, iot_u32);
} adopted_cgroups SEC(".maps");

static __always_inline int iot_is_wanted_file(iot_u32 file) {
  return file && !(file & IOT_FILE_UNWANTED);
}

/*
 * False: the recording is of other files, or of files on other devices. An id of 0 (no file, or not known) is wanted
 * where nothing is filtered.
 */
static __always_inline int iot_file_wanted(iot_u32 file) {
  return (!iot_config.filter_files && !iot_config.filter_devices) || iot_is_wanted_file(file);
}

/* The same of a bio on a device that is wanted: metadata and journals have no file. */
static __always_inline int iot_file_of_bio_wanted(iot_u32 file) {
  return !iot_config.filter_files || iot_is_wanted_file(file);
}

/* False: the recording is of other devices; `device` is the whole disk. */
static __always_inline int iot_device_wanted(iot_u32 device) {
  return !iot_config.filter_devices || bpf_map_lookup_elem(&wanted_devices, &device);
}

static __always_inline int iot_is_filtered_out(const struct iot_file_key* key) {
  if (iot_config.filter_devices && !bpf_map_lookup_elem(&wanted_file_systems, &key->device))
    return 1;
  if (!iot_config.filter_files)
    return 0;
  const struct iot_file_key any = {.inode = key->inode, .device = key->device};
  return !bpf_map_lookup_elem(&wanted_files, &any);
}

#endif
