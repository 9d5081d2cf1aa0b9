/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Bios that device mapper passes to the disks below. Each belongs to a bio of the mapped disk. A
 * clone carries the pages of that bio. dm-crypt writes pages of its own with the same bytes,
 * encrypted, in the same order. The owner is the owner of the bio above, whichever task queues one.
 *
 * If the modules are not loaded when a recording starts, their functions are unknown, and no bio is
 * taken for a mapped one.
 */
#ifndef IOTRAIL_BLOCK_MAPPED_BPF_H
#define IOTRAIL_BLOCK_MAPPED_BPF_H

#include "track/async.bpf.h"
#include "track/block_content.bpf.h"
#include "track/block_known.bpf.h"

#define LEVEL_LIMIT 16   /* stacked mapped disks; one takes up to three levels */
#define VECTOR_LIMIT 256 /* the kernel's limit for a bio */

static __always_inline int is_handed_on(iot_u64 end) {
  return bpf_core_type_exists(struct dm_target_io) && end &&
         (end == iot_functions.clone_endio || end == iot_functions.crypt_endio);
}

/* The clone of the bio above for which dm-crypt reads or writes a bio of its own; 0: unknown. */
static __always_inline iot_u64 clone_of_crypt(iot_u64 bio) {
  if (!bpf_core_type_exists(struct dm_crypt_io))
    return 0;
  const iot_u64 io = WORD_OF(bio, bio, bi_private);
  return io ? WORD_OF(dm_crypt_io, io, base_bio) : 0;
}

/* The bio of the mapped disk that was cloned; 0: unknown. */
static __always_inline iot_u64 original_of_clone(iot_u64 clone) {
  if (!bpf_core_type_exists(struct dm_target_io) || !bpf_core_type_exists(struct dm_io))
    return 0;
  const iot_u64 io =
      WORD_OF(dm_target_io, clone - bpf_core_field_offset(struct dm_target_io, clone), io);
  return io ? WORD_OF(dm_io, io, orig_bio) : 0;
}

/* The bio of the mapped disk that a mapped bio serves; 0: unknown. */
__noinline iot_u64 iot_find_bio_above(iot_u64 bio) {
  iot_u64 end = WORD_OF(bio, bio, bi_end_io);
  iot_u64 clone = bio;
  if (end && end == iot_functions.crypt_endio) {
    clone = clone_of_crypt(bio);
    end = clone ? WORD_OF(bio, clone, bi_end_io) : 0;
  }
  return end && end == iot_functions.clone_endio ? original_of_clone(clone) : 0;
}

/* Copies the owner of the bio above. Returns the mapped disk; 0: that bio is unknown. */
static __always_inline iot_u32 find_owner_above(struct iot_bio* entry, iot_u64 bio) {
  const iot_u64 above = iot_find_bio_above(bio);
  const struct iot_bio* known = above ? iot_find_bio(above) : 0;
  if (!known)
    return 0;
  entry->owner = known->owner;
  entry->file = known->file;
  return known->device;
}

struct vector_walk {
  iot_u64 at;
  iot_u64 bytes;
  iot_u32 left;
};

static long add_vector(iot_u32 index, struct vector_walk* walk) {
  if (!walk->left)
    return 1;
  walk->bytes += (iot_u32)WORD_OF(bio_vec, walk->at, bv_len);
  walk->at += bpf_core_type_size(struct bio_vec);
  --walk->left;
  return 0;
}

/* The bytes between the begin of the vectors and the begin of the bio. */
__noinline iot_u64 iot_place_in_vectors(iot_u64 bio) {
  struct vector_walk walk = {
      .at = WORD_OF(bio, bio, bi_io_vec),
      .bytes = (iot_u32)WORD_OF(bio, bio, bi_iter.bi_bvec_done),
      .left = WORD_OF(bio, bio, bi_iter.bi_size) >> 32, /* bi_idx is the upper half */
  };
  if (walk.left)
    bpf_loop(VECTOR_LIMIT, add_vector, &walk, 0);
  return walk.bytes;
}

struct ascent {
  iot_u64 at;      /* the current bio; 0: the one above is unknown */
  iot_u64 carrier; /* the bio with the vectors of the carried pages */
  iot_u64 skipped; /* bytes of it before the carried ones */
};

/*
 * A bio that dm-crypt writes begins with its own vectors; one that it reads has those of the clone.
 */
static __always_inline void ascend_over_crypt(struct ascent* ascent) {
  const iot_u64 clone = clone_of_crypt(ascent->at);
  const iot_u64 vectors = WORD_OF(bio, ascent->at, bi_io_vec);
  ascent->at = clone;
  if (!clone || WORD_OF(bio, clone, bi_io_vec) == vectors)
    return;
  if (WORD_OF(bio, ascent->carrier, bi_io_vec) != vectors) {
    ascent->at = 0;
    return;
  }
  ascent->skipped += iot_place_in_vectors(ascent->carrier);
  ascent->carrier = clone;
}

static long ascend(iot_u32 index, struct ascent* ascent) {
  const iot_u64 end = WORD_OF(bio, ascent->at, bi_end_io);
  if (!end)
    return 1;
  if (end == iot_functions.bio_chain_endio)
    ascent->at = WORD_OF(bio, ascent->at, bi_private);
  else if (end == iot_functions.clone_endio)
    ascent->at = original_of_clone(ascent->at);
  else if (end == iot_functions.crypt_endio)
    ascend_over_crypt(ascent);
  else
    return 1;
  return !ascent->at;
}

/* Fills in the content of a mapped bio. */
__noinline int iot_find_content_above(struct content* content, iot_u64 bio, iot_u32 flags) {
  struct ascent ascent = {.at = bio, .carrier = bio};
  if (!content)
    return 0;
  bpf_loop(LEVEL_LIMIT, ascend, &ascent, 0);
  if (!ascent.at)
    return 0;
  content->topmost = ascent.at;
  content->carrier = ascent.carrier;
  content->skipped = ascent.skipped;
  const iot_u64 vector = first_vector_of(ascent.carrier);
  if (vector && !(flags & 1U << BIT_OF(__REQ_META)))
    content->inode = iot_inode_of_page(WORD_OF(bio_vec, vector, bv_page));
  content->has_pages = content->inode != 0;
  return 1;
}

#endif
