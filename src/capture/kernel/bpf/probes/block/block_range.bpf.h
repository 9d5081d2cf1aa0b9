/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The range of its file that a bio carries, from the first and the last byte. Both have the same
 * distance in the file as in the bio if all of it is one range. File systems combine pages that are
 * adjacent in the file and on the disk. Pages that are adjacent only on the disk are detected here.
 */
#ifndef IOTRAIL_BLOCK_RANGE_BPF_H
#define IOTRAIL_BLOCK_RANGE_BPF_H

#include "track/block_owner.bpf.h"
#include "types/folio.bpf.h"

#define NOT_IN_A_FILE (-1)

/*
 * The position in the file of the byte `offset` bytes after the begin of a page. Later bytes belong
 * to the following pages.
 */
__noinline iot_s64 iot_position_in_file(iot_u64 page, iot_u64 offset) {
  const iot_u64 carried = page + (offset >> IOT_PAGE_SHIFT) * bpf_core_type_size(struct page);
  const iot_u64 plain = iot_page_before_encryption(carried);
  const iot_u64 own = plain ? plain : carried;
  const iot_u64 head = head_of_page(own);
  const iot_u64 index =
      WORD_OF(folio, head, index) + (own - head) / bpf_core_type_size(struct page);
  return (iot_s64)((index << IOT_PAGE_SHIFT) + (offset & ((1 << IOT_PAGE_SHIFT) - 1)));
}

/* Describes a bio with pages of a file in its own `vectors`. */
static __always_inline void describe_range(struct iot_block_queue* record, const struct bio* bio,
                                           iot_u64 vectors) {
  const iot_u32 bytes = bio->bi_iter.bi_size;
  const iot_u64 first = vectors + bio->bi_iter.bi_idx * bpf_core_type_size(struct bio_vec);
  const iot_u64 page = WORD_OF(bio_vec, first, bv_page);
  iot_u64 lengths = WORD_OF(bio_vec, first, bv_len); /* bv_offset is the upper half */
  const iot_u64 begin = (lengths >> 32) + bio->bi_iter.bi_bvec_done;
  const iot_u32 in_first = (iot_u32)lengths - bio->bi_iter.bi_bvec_done;
  record->offset = iot_position_in_file(page, begin);
  iot_s64 last = NOT_IN_A_FILE;
  if (bytes <= in_first) {
    last = iot_position_in_file(page, begin + bytes - 1);
  } else if (bio->bi_vcnt) { /* a clone does not have the number */
    const iot_u64 vector = vectors + (bio->bi_vcnt - 1) * bpf_core_type_size(struct bio_vec);
    lengths = WORD_OF(bio_vec, vector, bv_len);
    last = iot_position_in_file(WORD_OF(bio_vec, vector, bv_page),
                                (lengths >> 32) + (iot_u32)lengths - 1);
  }
  record->is_contiguous = last == record->offset + bytes - 1;
}

/* The range of the pages that a read of btrfs fills. */
static __always_inline void describe_decompressed(struct iot_block_queue* record,
                                                  iot_u64 compressed) {
  const iot_u64 plain = plain_bio_of_compressed(compressed);
  const iot_u64 vectors = plain ? WORD_OF(bio, plain, bi_io_vec) : 0;
  const iot_u64 count = plain ? WORD_OF(bio, plain, bi_vcnt) & 0xffff : 0;
  if (!vectors || !count)
    return;
  const iot_u64 last = vectors + (count - 1) * bpf_core_type_size(struct bio_vec);
  const iot_u64 lengths = WORD_OF(bio_vec, last, bv_len);
  const iot_s64 end =
      iot_position_in_file(WORD_OF(bio_vec, last, bv_page), (lengths >> 32) + (iot_u32)lengths - 1);
  record->offset = iot_position_in_file(WORD_OF(bio_vec, vectors, bv_page),
                                        WORD_OF(bio_vec, vectors, bv_len) >> 32);
  record->range_bytes = (iot_u32)WORD_OF(bio, plain, bi_iter.bi_size);
  record->is_contiguous = end == record->offset + record->range_bytes - 1;
}

/* The range of a file that compressed bytes hold, as far as it is known. */
static __always_inline void describe_compressed(struct iot_block_queue* record, iot_u64 bio,
                                                iot_u64 compressed) {
  if (!compressed) {
    record->range_bytes = iot_bytes_per_decompression(bio);
    return;
  }
  if (!bpf_core_type_exists(struct compressed_bio))
    return;
  if (!(record->flags & IS_WRITE)) {
    describe_decompressed(record, compressed);
    return;
  }
  record->offset = (iot_s64)WORD_OF(compressed_bio, compressed, start);
  record->range_bytes = (iot_u32)WORD_OF(compressed_bio, compressed, len);
}

/*
 * The same for a mapped bio: its carrier has the pages. The carrier is a clone: only its first
 * vector is known to be one range.
 */
static __always_inline void describe_carried(struct iot_block_queue* record,
                                             const struct content* content, iot_u32 bytes) {
  const iot_u64 carrier = content->carrier;
  const iot_u64 vector = first_vector_of(carrier);
  const iot_u64 lengths = WORD_OF(bio_vec, vector, bv_len);
  const iot_u64 done = (iot_u32)WORD_OF(bio, carrier, bi_iter.bi_bvec_done);
  record->offset = iot_position_in_file(WORD_OF(bio_vec, vector, bv_page), (lengths >> 32) + done) +
                   (iot_s64)content->skipped;
  record->is_contiguous = done + content->skipped + bytes <= (iot_u32)lengths;
}

#endif
