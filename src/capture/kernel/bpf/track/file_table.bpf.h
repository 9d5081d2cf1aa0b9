/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The files that are known, in two tables: the younger one, and the one before it. A file that is found in the older is put
 * into the younger, too. When the younger one is full an empty one takes its place, and what was in the oldest is
 * forgotten: a recording may see any number of files, and its memory has an end. The recorder makes the empty table
 * (file_tables.hpp).
 */
#ifndef IOTRAIL_FILE_TABLE_BPF_H
#define IOTRAIL_FILE_TABLE_BPF_H

#include "out/ring.bpf.h"

struct file_table {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IOT_FILE_LIMIT);
  __type(key, struct iot_file_key);
  __type(value, iot_u32);
};
struct file_table first_files SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, IOT_FILE_TABLES);
  __type(key, iot_u32);
  __array(values, struct file_table);
} file_tables SEC(".maps") = {.values = {&first_files}};

extern struct iot_file_ages file_ages; /* file.bpf.c */

static __always_inline iot_u32 file_age(void) {
  return *(volatile iot_u32*)&file_ages.young;
}

/* Of the table of that age. The verifier is to see the mask, which the compiler would find needless. */
static __always_inline iot_u32* count_of(iot_u32* counts, iot_u32 age) {
  asm volatile("" : "+r"(age));
  return &counts[age & (IOT_FILE_TABLES - 1)];
}

/* 0: the table has no such file. */
static __always_inline iot_u32 find_in_table(iot_u32 age, const struct iot_file_key* key) {
  const iot_u32 place = age & (IOT_FILE_TABLES - 1);
  void* table = bpf_map_lookup_elem(&file_tables, &place);
  const iot_u32* found = table ? bpf_map_lookup_elem(table, key) : 0;
  return found ? *found : 0;
}

/* 0, or a negative errno: EEXIST, E2BIG where the table is full, ENOMEM and others. */
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

/* The id, with its marks, of a file that is known; 0: it is not. */
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

/* 0: it is known already, or there is no memory, or no room and no empty table. */
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

/* 0: the table does not have it. */
static __always_inline int mark_in_table(iot_u32 age, const struct iot_file_key* key, iot_u32 id) {
  const iot_u32 place = age & (IOT_FILE_TABLES - 1);
  void* table = bpf_map_lookup_elem(&file_tables, &place);
  return table && !bpf_map_update_elem(table, key, &id, BPF_EXIST);
}

/* A file that the younger table had no room for is in the older one only. */
static __always_inline void mark_file(const struct iot_file_key* key, iot_u32 id) {
  const iot_u32 age = file_age();
  if (!mark_in_table(age, key, id) && age != 0)
    mark_in_table(age - 1, key, id);
}

#endif
