/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The purpose of a bio. It follows from the operation and flags, from the completion function, and
 * from the memory of the first page.
 */
#ifndef IOTRAIL_BLOCK_CLASS_BPF_H
#define IOTRAIL_BLOCK_CLASS_BPF_H

#include "track/block_owner.bpf.h"

#define SIZE_UNKNOWN (-1)

/*
 * Buffer heads write the blocks of a journal and name it by their own completion function. xfs
 * writes its log by bios of its own.
 */
__noinline int iot_is_of_journal(iot_u64 end, iot_u64 private) {
  if (!end)
    return 0;
  if (end == iot_functions.xlog_bio_end_io)
    return 1;
  if (end != iot_functions.end_bio_bh_io_sync || !private)
    return 0;
  const iot_u64 of_buffer = WORD_OF(buffer_head, private, b_end_io);
  return of_buffer && (of_buffer == iot_functions.journal_end_buffer_io_sync ||
                       of_buffer == iot_functions.ext4_end_buffer_io_sync);
}

/* The class of a page without a file. A page being swapped in belongs to no program yet. */
__noinline iot_u32 iot_class_of_memory(iot_u64 page) {
  if (!page)
    return IOT_io_class_other;
  const iot_u64 head = head_of_page(page);
  const iot_u64 mapping = WORD_OF(page, head, mapping);
  if (mapping & MAPPING_FLAGS)
    return IOT_io_class_direct;
  if (!mapping)
    return iot_folio_flags((const struct folio*)head, 0) >>
                       bpf_core_enum_value(enum pageflags, PG_swapbacked) &
                   1
               ? IOT_io_class_swap
               : IOT_io_class_other;
  const iot_u64 host = host_of_mapping(mapping);
  if (!host)
    return IOT_io_class_other;
  return magic_of_host(host) == TMPFS_MAGIC ? IOT_io_class_direct : IOT_io_class_device;
}

static __always_inline int carries_no_data(iot_u32 flags, iot_u32 bytes) {
  const iot_u32 operation = operation_of(flags);
  return !bytes || (operation > IOT_block_write && operation != IOT_block_zone_append);
}

/* The same for a mapped bio: its own completion function and memory do not show its purpose. */
__noinline iot_u32 iot_class_of_carried(iot_u64 topmost, iot_u64 carrier, iot_u32 flags) {
  if (iot_is_of_journal(WORD_OF(bio, topmost, bi_end_io), WORD_OF(bio, topmost, bi_private)))
    return IOT_io_class_journal;
  if (flags >> BIT_OF(__REQ_META) & 1)
    return IOT_io_class_metadata;
  const iot_u64 vector = first_vector_of(carrier);
  return iot_class_of_memory(vector ? WORD_OF(bio_vec, vector, bv_page) : 0);
}

/*
 * Directories, and inodes with metadata of a file system: they have no type. f2fs sets no type, so
 * the value is from an earlier use. Such inodes have no size, while a file with pages in
 * transfer has one.
 */
static __always_inline int holds_metadata(const struct inode* inode, iot_s64 file_bytes) {
  const iot_u32 type = BPF_CORE_READ(inode, i_mode) & IOT_CHOICE_file_type;
  return !type || type == IOT_file_type_directory ||
         (!file_bytes && magic_of_host(iot_number_of(inode)) == F2FS_MAGIC);
}

/* `trusted`: the argument as it came. */
static __always_inline iot_u32 class_of_bio(struct bio* trusted, iot_u32 flags,
                                            const struct content* content, iot_s64 file_bytes) {
  if (carries_no_data(flags, trusted->bi_iter.bi_size))
    return IOT_io_class_no_data;
  if (HAS_BIT(__REQ_SWAP) && flags >> BIT_OF(__REQ_SWAP) & 1)
    return IOT_io_class_swap;
  if (content->is_direct)
    return IOT_io_class_direct;
  if (content->is_compressed)
    return IOT_io_class_compressed;
  if (content->has_pages) {
    if (holds_metadata((const struct inode*)content->inode, file_bytes))
      return IOT_io_class_metadata;
    return flags >> BIT_OF(__REQ_RAHEAD) & 1 ? IOT_io_class_read_ahead : IOT_io_class_data;
  }
  if (content->carrier)
    return iot_class_of_carried(content->topmost, content->carrier, flags);
  if (iot_is_of_journal(iot_number_of((const void*)trusted->bi_end_io),
                        iot_number_of(trusted->bi_private)))
    return IOT_io_class_journal;
  if (flags >> BIT_OF(__REQ_META) & 1)
    return IOT_io_class_metadata;
  const iot_u64 vectors = iot_number_of(IOT_UNTRUSTED(bio, trusted)->bi_io_vec);
  if (!vectors)
    return IOT_io_class_other;
  return iot_class_of_memory(WORD_OF(
      bio_vec, vectors + trusted->bi_iter.bi_idx * bpf_core_type_size(struct bio_vec), bv_page));
}

/* The inode of a block device has no size. */
static __always_inline iot_s64 size_of_file(iot_u64 inode_address) {
  const struct inode* inode = (const struct inode*)inode_address;
  if (!inode || (BPF_CORE_READ(inode, i_mode) & IOT_CHOICE_file_type) == IOT_file_type_block_device)
    return SIZE_UNKNOWN;
  return BPF_CORE_READ(inode, i_size);
}

#endif
