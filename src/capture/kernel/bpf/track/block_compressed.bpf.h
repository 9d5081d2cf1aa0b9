/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Compressed data of files. File systems compress and decompress it in pages of their own, which
 * belong to no file.
 *
 * btrfs compresses up to 128 KiB of a file at a time. A structure around the bio names the range of
 * the file, or the pages that a read fills. Of several copies (RAID), the first is known.
 * Bios of squashfs and erofs, which are only read, do not name a file.
 */
#ifndef IOTRAIL_BLOCK_COMPRESSED_BPF_H
#define IOTRAIL_BLOCK_COMPRESSED_BPF_H

#include "track/block_content.bpf.h"

#define SQUASHFS_MAGIC 0x73717368

static __always_inline int is_compressed_write(iot_u64 end) {
  return end && (end == iot_functions.end_bbio_compressed_write ||
                 end == iot_functions.end_compressed_bio_write);
}

static __always_inline int is_compressed_read(iot_u64 end) {
  return end && (end == iot_functions.end_bbio_compressed_read ||
                 end == iot_functions.end_compressed_bio_read);
}

/* The compressed range that a bio of btrfs moves, as a struct compressed_bio; 0: none. */
__noinline iot_u64 iot_find_compressed(iot_u64 bio) {
  if (!bpf_core_type_exists(struct compressed_bio) ||
      !bpf_core_field_exists(struct btrfs_bio, end_io))
    return 0;
  iot_u64 own = bio - bpf_core_field_offset(struct btrfs_bio, bio);
  if (!WORD_OF(btrfs_bio, own, end_io)) /* the front part of a split bio */
    own = WORD_OF(btrfs_bio, own, private);
  const iot_u64 end = own ? WORD_OF(btrfs_bio, own, end_io) : 0;
  if (!is_compressed_write(end) && !is_compressed_read(end))
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

/* The bio with the pages that a read fills; 0: unknown. */
static __always_inline iot_u64 plain_bio_of_compressed(iot_u64 compressed) {
  if (bpf_core_field_exists(struct compressed_bio, orig_bio))
    return WORD_OF(compressed_bio, compressed, orig_bio);
  if (!bpf_core_field_exists(struct compressed_bio, orig_bbio))
    return 0;
  const iot_u64 plain = WORD_OF(compressed_bio, compressed, orig_bbio);
  return plain ? plain + bpf_core_field_offset(struct btrfs_bio, bio) : 0;
}

/* The file system that is mounted from the disk of a bio; 0: none, or it has several disks. */
__noinline iot_u64 iot_file_system_of_bio(iot_u64 bio) {
  const iot_u64 device = WORD_OF(bio, bio, bi_bdev);
  iot_u64 file_system = 0;
  if (bpf_core_field_exists(struct block_device, bd_super))
    file_system = WORD_OF(block_device, device, bd_super);
  else if (bpf_core_field_exists(struct block_device, bd_holder))
    file_system = WORD_OF(block_device, device, bd_holder); /* not always a file system */
  return file_system && WORD_OF(super_block, file_system, s_bdev) == device ? file_system : 0;
}

/* The squashfs that is mounted from the disk of a bio; 0: none. */
__noinline iot_u64 iot_squashfs_of_bio(iot_u64 bio) {
  const iot_u64 file_system = iot_file_system_of_bio(bio);
  return file_system && WORD_OF(super_block, file_system, s_magic) == SQUASHFS_MAGIC ? file_system
                                                                                     : 0;
}

/* Whether a bio that reads has data, or metadata, that squashfs or erofs decompresses. */
static __always_inline int is_decompressed(const struct bio* bio, iot_u64 end) {
  if (!end)
    return 0;
  if (end == iot_functions.z_erofs_endio || end == iot_functions.z_erofs_decompressqueue_endio ||
      end == iot_functions.squashfs_bio_end_io)
    return 1;
  return (end == iot_functions.submit_bio_wait_endio || end == iot_functions.bio_chain_endio) &&
         iot_squashfs_of_bio(iot_number_of(bio)) != 0;
}

/* How much of a file squashfs compresses at a time; 0: another file system, or unknown. */
__noinline iot_u32 iot_bytes_per_decompression(iot_u64 bio) {
  if (!bpf_core_type_exists(struct squashfs_sb_info))
    return 0;
  const iot_u64 file_system = iot_squashfs_of_bio(bio);
  const iot_u64 own = file_system ? WORD_OF(super_block, file_system, s_fs_info) : 0;
  return own ? (iot_u32)WORD_OF(squashfs_sb_info, own, block_size) : 0;
}

#endif
