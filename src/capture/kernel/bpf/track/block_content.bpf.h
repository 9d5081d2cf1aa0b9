/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The file that a bio belongs to, found by its first page.
 */
#ifndef IOTRAIL_BLOCK_CONTENT_BPF_H
#define IOTRAIL_BLOCK_CONTENT_BPF_H

#include "track/block_fields.bpf.h"
#include "types/folio.bpf.h"

#define BDEVFS_MAGIC 0x62646576
#define F2FS_MAGIC 0xf2f52010
#define TMPFS_MAGIC 0x01021994
#define COMPOUND_TAIL 1
#define S_ENCRYPTED (1 << 14) /* a file that its file system encrypts (fscrypt) */

#define WORD_OF(type, address, field)                                                              \
  iot_read_word((address) + bpf_core_field_offset(struct type, field))

/* The inode that owns a page's mapping, on any file system; 0: none. */
static __always_inline iot_u64 host_of_mapping(iot_u64 mapping) {
  const iot_u64 host =
      mapping && !(mapping & MAPPING_FLAGS) ? WORD_OF(address_space, mapping, host) : 0;
  /* Other kinds of memory have other values here. Only an inode points back at its mapping. */
  return host && WORD_OF(inode, host, i_mapping) == mapping ? host : 0;
}

static __always_inline iot_u64 magic_of_host(iot_u64 host) {
  return WORD_OF(super_block, WORD_OF(inode, host, i_sb), s_magic);
}

/*
 * The file that owns a page's mapping; 0: none, a block device, or a file in memory. A page of a
 * file in memory goes to a disk as shared memory, for direct I/O of another file, or to be swapped.
 */
__noinline iot_u64 iot_inode_of_mapping(iot_u64 mapping) {
  const iot_u64 host = host_of_mapping(mapping);
  if (!host)
    return 0;
  const iot_u64 magic = magic_of_host(host);
  return magic == BDEVFS_MAGIC || magic == TMPFS_MAGIC ? 0 : host;
}

/* The first page of the folio of a page. */
static __always_inline iot_u64 head_of_page(iot_u64 page) {
  const iot_u64 head = WORD_OF(page, page, compound_head);
  return head & COMPOUND_TAIL ? head - COMPOUND_TAIL : page;
}

/*
 * fscrypt encrypts a page of a file into a page of its own, which has no mapping and points at the
 * page of the file. Returns that page; 0: it is another kind of page. Many kinds have no mapping,
 * so the file itself must be encrypted.
 */
__noinline iot_u64 iot_page_before_encryption(iot_u64 page) {
  if (WORD_OF(page, page, mapping) || !(iot_folio_flags((const struct folio*)page, 0) >>
                                            bpf_core_enum_value(enum pageflags, PG_private) &
                                        1))
    return 0;
  const iot_u64 plain = WORD_OF(folio, page, private);
  const iot_u64 host = plain ? host_of_mapping(WORD_OF(page, head_of_page(plain), mapping)) : 0;
  return host && WORD_OF(inode, host, i_flags) & S_ENCRYPTED ? plain : 0;
}

__noinline iot_u64 iot_inode_of_page(iot_u64 page) {
  const iot_u64 plain = iot_page_before_encryption(page);
  return iot_inode_of_mapping(WORD_OF(page, head_of_page(plain ? plain : page), mapping));
}

/*
 * The inode of the first page that a bio carries, in its vector `index`; 0: metadata, a program's
 * memory, a block device.
 */
static __always_inline iot_u64 inode_of_bio(const struct bio* bio, iot_u32 index, iot_u32 flags) {
  if (flags & 1U << BIT_OF(__REQ_META))
    return 0;
  if (!bio->bi_io_vec)
    return 0;
  if (index) /* the rest of a bio that was split */
    return iot_inode_of_page(
        WORD_OF(bio_vec, iot_number_of(bio->bi_io_vec) + index * bpf_core_type_size(struct bio_vec),
                bv_page));
  const struct page* page = bio->bi_io_vec->bv_page;
  if (iot_number_of((const void*)page->compound_head) & COMPOUND_TAIL)
    return iot_inode_of_page(iot_number_of(page));
  const iot_u64 mapping = iot_number_of(page->mapping);
  if (mapping & MAPPING_FLAGS) /* most often a program's memory */
    return 0;
  return mapping ? iot_inode_of_mapping(mapping) : iot_inode_of_page(iot_number_of(page));
}

/* The first vector of a bio; 0: it has none. */
static __always_inline iot_u64 first_vector_of(iot_u64 bio) {
  const iot_u64 vectors = WORD_OF(bio, bio, bi_io_vec);
  const iot_u64 index = WORD_OF(bio, bio, bi_iter.bi_size) >> 32; /* bi_idx is the upper half */
  return vectors ? vectors + index * bpf_core_type_size(struct bio_vec) : 0;
}

/* The content of a bio. */
struct content {
  iot_u64 inode;     /* 0: no file, or unknown */
  iot_u32 has_pages; /* they are pages of that file in the page cache */
  iot_u32
      is_direct; /* known by its completion function; other direct I/O is recognised by its memory */
  iot_u32 by_kernel_thread; /* a kernel thread queued it for an operation of a task */
  iot_u32 is_of_fault;      /* the operation is a fault on a mapped file */
  iot_u32 is_compressed;    /* on the device; the file's pages hold other bytes */
  iot_u64 compressed;       /* of btrfs: the range of that file; 0: unknown */
  /* Only of a mapped bio (block_mapped.bpf.h), else 0. */
  iot_u64 topmost; /* the bio at the top of the stack */
  iot_u64 carrier; /* the bio with the vectors of its pages */
  iot_u64 skipped; /* bytes of the carrier before its own */
  iot_u32 above;   /* the mapped disk; 0 if the bio there is unknown */
};

#endif
