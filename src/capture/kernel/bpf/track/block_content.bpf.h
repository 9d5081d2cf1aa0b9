/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Which file a bio is of, as its first page tells.
 */
#ifndef IOTRAIL_BLOCK_CONTENT_BPF_H
#define IOTRAIL_BLOCK_CONTENT_BPF_H

#include "track/block_fields.bpf.h"
#include "types/folio.bpf.h"

#define BDEVFS_MAGIC 0x62646576
#define F2FS_MAGIC 0xf2f52010
#define TMPFS_MAGIC 0x01021994
#define COMPOUND_TAIL 1

#define WORD_OF(type, address, field)                                                              \
  iot_read_word((address) + bpf_core_field_offset(struct type, field))

/* The inode that a page's mapping is of, of whatever file system; 0: none. */
static __always_inline iot_u64 host_of_mapping(iot_u64 mapping) {
  const iot_u64 host =
      mapping && !(mapping & MAPPING_FLAGS) ? WORD_OF(address_space, mapping, host) : 0;
  /* Memory of other kinds has anything in this place: an inode points back at its mapping. */
  return host && WORD_OF(inode, host, i_mapping) == mapping ? host : 0;
}

static __always_inline iot_u64 magic_of_host(iot_u64 host) {
  return WORD_OF(super_block, WORD_OF(inode, host, i_sb), s_magic);
}

/*
 * The file that a page's mapping is of; 0: none, a block device, or a file in memory: a page of that is on its way to a
 * disk as memory that a program shares, for direct I/O of another file, or to be swapped.
 */
__noinline iot_u64 iot_inode_of_mapping(iot_u64 mapping) {
  const iot_u64 host = host_of_mapping(mapping);
  if (!host)
    return 0;
  const iot_u64 magic = magic_of_host(host);
  return magic == BDEVFS_MAGIC || magic == TMPFS_MAGIC ? 0 : host;
}

__noinline iot_u64 iot_inode_of_page(iot_u64 page) {
  const iot_u64 head = WORD_OF(page, page, compound_head);
  return iot_inode_of_mapping(
      WORD_OF(page, head & COMPOUND_TAIL ? head - COMPOUND_TAIL : page, mapping));
}

/* The inode whose page a bio carries first, in its vector `index`; 0: metadata, a program's own memory, a block device. */
static __always_inline iot_u64 inode_of_bio(const struct bio* bio, iot_u32 index, iot_u32 flags) {
  if (flags & 1U << BIT_OF(__REQ_META))
    return 0;
  if (!bio->bi_io_vec)
    return 0;
  if (index) /* the rest of a bio whose front part is on its way */
    return iot_inode_of_page(
        WORD_OF(bio_vec, iot_number_of(bio->bi_io_vec) + index * bpf_core_type_size(struct bio_vec),
                bv_page));
  const struct page* page = bio->bi_io_vec->bv_page;
  if (iot_number_of((const void*)page->compound_head) & COMPOUND_TAIL)
    return iot_inode_of_page(iot_number_of(page));
  const iot_u64 mapping = iot_number_of(page->mapping);
  return mapping & MAPPING_FLAGS ? 0
                                 : iot_inode_of_mapping(mapping); /* most often a program's own */
}

/* The vector that a bio begins in; 0: it has none. */
static __always_inline iot_u64 first_vector_of(iot_u64 bio) {
  const iot_u64 vectors = WORD_OF(bio, bio, bi_io_vec);
  const iot_u64 index = WORD_OF(bio, bio, bi_iter.bi_size) >> 32; /* bi_idx is the upper half */
  return vectors ? vectors + index * bpf_core_type_size(struct bio_vec) : 0;
}

/* What a bio is of. */
struct content {
  iot_u64 inode;     /* 0: no file, or not known */
  iot_u32 has_pages; /* of that file, of the page cache */
  iot_u32 is_direct; /* known by its end; other direct I/O is told by the memory that it carries */
  iot_u32 by_kernel_thread; /* queued by one for an operation that a task began */
  iot_u32 is_of_fault;      /* the operation is a fault on a file that is mapped */
  /* Of a bio that is handed on (block_mapped.bpf.h); 0: of any other. */
  iot_u64 topmost; /* the bio that it is for in the end */
  iot_u64 carrier; /* the bio whose vectors have the pages that it carries */
  iot_u64 skipped; /* bytes of the carrier, before those that it carries */
  iot_u32 above;   /* the mapped disk; 0: also where the bio there is not known */
};

#endif
