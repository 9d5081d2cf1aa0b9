/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Files, as the BPF programs and their loader identify them.
 */
#ifndef IOTRAIL_FILE_ABI_H
#define IOTRAIL_FILE_ABI_H

#include "abi.h"

#define IOT_FILE_LIMIT (1U << 18) /* files in a table of known files */
#define IOT_FILE_TABLES 4         /* younger, older, empty, discarded; a power of two */

/* The files that iotrail adds to programs. */
enum iot_own_file { IOT_OWN_LIBRARY, IOT_OWN_ARENA, IOT_OWN_FILES };

struct iot_file_key {
  iot_u64 inode;
  iot_u32 device;
  iot_u32 generation;
};

/*
 * A path that the filter includes, and the directories above it, the root first. Calls that name
 * the path are recorded though they have no open file.
 */
#define IOT_NAMED_DEPTH 64 /* directories above a path; a power of two */
#define IOT_NAMED_BYTES 4096
struct iot_named_path {
  iot_u32 next;                    /* number, plus 1, of the next path that ends alike; 0: none */
  iot_u32 depth;                   /* directories above it */
  iot_u16 begins[IOT_NAMED_DEPTH]; /* in `path`: of the name in each directory */
  char path[IOT_NAMED_BYTES];      /* absolute, with its end */
};

/* A directory above a path, by the path's number. The map has its depth, 1 for the root. */
struct iot_named_directory {
  iot_u64 inode;
  iot_u32 device;
  iot_u32 path;
};

/* The last name of a path and its directory. The map has the verdict. */
struct iot_named_entry {
  iot_u64 inode;
  iot_u64 name_hash;
  iot_u32 device;
  iot_u32 reserved;
};

/* Hash of a name: begins with a random number of the recording. */
#define IOT_NAME_HASH_STEP(hash, letter) (((hash) ^ (iot_u8)(letter)) * 0x100000001b3ULL)

/* Marks ids of files that the filter by file or by device excludes. */
#define IOT_FILE_UNWANTED 0x80000000U
#define IOT_FILE_PSEUDO 0x20000000U       /* besides: only its file system excludes it */
#define IOT_FILE_NAMELESS IOT_FILE_PSEUDO /* alone: included, but its path could not be sent */
#define IOT_FILE_MARKS (IOT_FILE_UNWANTED | IOT_FILE_PSEUDO)
#define IOT_FILE_NUMBER 0x1fffffffU /* without any mark */
#define IOT_FILE_TOLD 0x40000000U   /* in the map only: its path was sent though it is excluded */

/*
 * The tables of known files. Age a is at index a modulo IOT_FILE_TABLES. A program that finds the
 * younger table full proceeds to the next age if its table is empty. The recorder makes the table
 * of the age after that.
 */
struct iot_file_ages {
  iot_u32 young;                  /* age of the younger table */
  iot_u32 empty;                  /* age of the empty table; none if not above `young` */
  iot_u32 files[IOT_FILE_TABLES]; /* in each table */
  iot_u32 kept[IOT_FILE_TABLES];  /* of these, the ones also in the next younger table */
};

#endif
