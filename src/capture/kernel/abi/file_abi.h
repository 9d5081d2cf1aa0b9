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

/* Marks ids of files that the filter by file or by device excludes. */
#define IOT_FILE_UNWANTED 0x80000000U
#define IOT_FILE_PSEUDO 0x20000000U /* besides: only its file system excludes it */
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
