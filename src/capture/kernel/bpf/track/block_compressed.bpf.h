/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Compressed data that btrfs writes. Its threads compress up to 128 KiB of a file into pages of
 * their own, which belong to no file. A structure of btrfs around the bio names the range of the
 * file. Of several copies (RAID), the first is known.
 */
#ifndef IOTRAIL_BLOCK_COMPRESSED_BPF_H
#define IOTRAIL_BLOCK_COMPRESSED_BPF_H

#include "track/block_content.bpf.h"

static __always_inline int is_compressed_write(iot_u64 end) {
  return end && (end == iot_functions.end_bbio_compressed_write ||
                 end == iot_functions.end_compressed_bio_write);
}

/* The compressed range that a bio of btrfs writes, as a struct compressed_bio; 0: none. */
__noinline iot_u64 iot_find_compressed(iot_u64 bio) {
  if (!bpf_core_type_exists(struct compressed_bio) ||
      !bpf_core_field_exists(struct btrfs_bio, end_io))
    return 0;
  iot_u64 own = bio - bpf_core_field_offset(struct btrfs_bio, bio);
  if (!WORD_OF(btrfs_bio, own, end_io)) /* the front part of a split bio */
    own = WORD_OF(btrfs_bio, own, private);
  if (!own || !is_compressed_write(WORD_OF(btrfs_bio, own, end_io)))
    return 0;
  return bpf_core_field_exists(struct compressed_bio, bbio)
             ? own - bpf_core_field_offset(struct compressed_bio, bbio)
             : WORD_OF(btrfs_bio, own, private);
}

static __always_inline iot_u64 compressed_of_bio(const struct bio* bio, iot_u64 end) {
  return end && (end == iot_functions.btrfs_simple_end_io ||
                 end == iot_functions.btrfs_orig_write_end_io)
             ? iot_find_compressed(iot_number_of(bio))
             : 0;
}

/* The inode of the file; 0: unknown. */
__noinline iot_u64 iot_inode_of_compressed(iot_u64 compressed) {
  if (!bpf_core_type_exists(struct compressed_bio) || !compressed)
    return 0;
  if (bpf_core_field_exists(struct compressed_bio, inode))
    return WORD_OF(compressed_bio, compressed, inode);
  if (!bpf_core_field_exists(struct btrfs_bio, inode))
    return 0;
  const iot_u64 own = compressed + bpf_core_field_offset(struct compressed_bio, bbio);
  const iot_u64 inode = WORD_OF(btrfs_bio, own, inode);
  return inode ? inode + bpf_core_field_offset(struct btrfs_inode, vfs_inode) : 0;
}

#endif
