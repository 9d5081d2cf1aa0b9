/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Functions of the kernel that the BPF programs know by address: block_find_functions() looks them
 * up. 0: the kernel has no such function, or does not list it.
 */
#ifndef IOTRAIL_FUNCTION_ABI_H
#define IOTRAIL_FUNCTION_ABI_H

#include "abi.h"

struct iot_functions {
  iot_u64 iomap_dio_bio_end_io;
  iot_u64 blkdev_bio_end_io_async;
  iot_u64 submit_bio_wait_endio;
  iot_u64 btrfs_simple_end_io;
  iot_u64 btrfs_orig_write_end_io;
  iot_u64 btrfs_dio_end_io;
  iot_u64 end_bbio_compressed_write;
  iot_u64 end_bbio_compressed_read;
  iot_u64 end_compressed_bio_write;
  iot_u64 end_compressed_bio_read;
  iot_u64 squashfs_bio_end_io;
  iot_u64 z_erofs_endio;
  iot_u64 z_erofs_decompressqueue_endio;
  iot_u64 bio_chain_endio;
  iot_u64 clone_endio;
  iot_u64 crypt_endio;
  iot_u64 io_complete_rw;
  iot_u64 io_complete_rw_iopoll;
  iot_u64 aio_complete_rw;
  iot_u64 filemap_get_pages;
  iot_u64 end_bio_bh_io_sync;
  iot_u64 journal_end_buffer_io_sync;
  iot_u64 ext4_end_buffer_io_sync;
  iot_u64 xlog_bio_end_io;
  iot_u64 end_swap_bio_read;
  iot_u64 end_swap_bio_write;
  iot_u64 nfs_pgio_result;
  iot_u64 nfs_commit_done;
};

#endif
