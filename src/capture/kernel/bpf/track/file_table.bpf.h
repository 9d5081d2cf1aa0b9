/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The known files are in two tables: the younger and the older one. A file found in the older one
 * is copied into the younger one. When the younger one is full, an empty table takes its place, and
 * the entries of the oldest are forgotten: a recording may see any number of files, in bounded
 * memory. The recorder makes the empty table (file_tables.hpp).
 */
#ifndef IOTRAIL_FILE_TABLE_BPF_H
#define IOTRAIL_FILE_TABLE_BPF_H

#include "out/ring.bpf.h"

#define FILE_TABLE(entries)                                                                        \
  {                                                                                                \
    __uint(type, BPF_MAP_TYPE_HASH);                                                               \
    __uint(map_flags, BPF_F_NO_PREALLOC);                                                          \
    __uint(max_entries, entries);                                                                  \
    __type(key, struct iot_file_key);                                                              \
    __type(value, iot_u32);                                                                        \
  }

struct FILE_TABLE(IOT_FILE_LIMIT) first_files SEC(".maps");

/*
 * libbpf makes one table only to show the kernel what the tables are like. The kernel does not
 * compare their sizes, so that this one is small.
 */
struct file_pattern FILE_TABLE(1);

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, IOT_FILE_TABLES);
  __type(key, iot_u32);
  __array(values, struct file_pattern);
} file_tables SEC(".maps") = {.values = {(void*)&first_files}};

extern struct iot_file_ages file_ages; /* file.bpf.c */

static __always_inline iot_u32 file_age(void) {
  return *(volatile iot_u32*)&file_ages.young;
}

/*
 * The count of the table of that age. The mask is for the verifier; the compiler would remove it as
 * needless.
 */
static __always_inline iot_u32* count_of(iot_u32* counts, iot_u32 age) {
  asm volatile("" : "+r"(age));
  return &counts[age & (IOT_FILE_TABLES - 1)];
}

/* 0: not in this table. */
static __always_inline iot_u32 find_in_table(iot_u32 age, const struct iot_file_key* key) {
  const iot_u32 place = age & (IOT_FILE_TABLES - 1);
  void* table = bpf_map_lookup_elem(&file_tables, &place);
  const iot_u32* found = table ? bpf_map_lookup_elem(table, key) : 0;
  return found ? *found : 0;
}

/* 0, or a negative errno: EEXIST, E2BIG if the table is full, ENOMEM and others. */
static __always_inline int put_in_table(iot_u32 age, const struct iot_file_key* key, iot_u32 id) {
  const iot_u32 place = age & (IOT_FILE_TABLES - 1);
  void* table = bpf_map_lookup_elem(&file_tables, &place);
  if (!table)
    return -ENOENT;
  const int error = IOT_UPDATE(table, key, &id, BPF_NOEXIST);
  if (!error)
    __sync_fetch_and_add(count_of(file_ages.files, age), 1);
  return error;
}

/* The id of a known file, with its marks; 0: unknown. */
static __always_inline iot_u32 find_file(const struct iot_file_key* key) {
  const iot_u32 age = file_age();
  iot_u32 id = find_in_table(age, key);
  if (id || age == 0)
    return id;
  id = find_in_table(age - 1, key);
  if (id && !put_in_table(age, key, id))
    __sync_fetch_and_add(count_of(file_ages.kept, age - 1), 1);
  return id;
}

/* 0: it is known already, or there is no memory, no room or no empty table. */
static __always_inline int remember_file(const struct iot_file_key* key, iot_u32 id) {
  const iot_u32 age = file_age();
  const int error = put_in_table(age, key, id);
  if (!error)
    return 1;
  if (error != -E2BIG || *(volatile iot_u32*)&file_ages.empty != age + 1)
    return 0;
  __sync_val_compare_and_swap(&file_ages.young, age, age + 1);
  return !put_in_table(age + 1, key, id);
}

/* 0: not in this table. */
static __always_inline int mark_in_table(iot_u32 age, const struct iot_file_key* key, iot_u32 id) {
  const iot_u32 place = age & (IOT_FILE_TABLES - 1);
  void* table = bpf_map_lookup_elem(&file_tables, &place);
  return table && !bpf_map_update_elem(table, key, &id, BPF_EXIST);
}

/* A file that did not fit into the younger table is only in the older one. */
static __always_inline void mark_file(const struct iot_file_key* key, iot_u32 id) {
  const iot_u32 age = file_age();
  if (!mark_in_table(age, key, id) && age != 0)
    mark_in_table(age - 1, key, id);
}

#endif
