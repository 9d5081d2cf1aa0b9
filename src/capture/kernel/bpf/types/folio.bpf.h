/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Folios: their layout changes more often than other types. `direct`: the verifier knows
 * the type of the pointer (an argument of a tp_btf or fentry program, or a cast), so plain loads
 * are allowed.
 */
#ifndef IOTRAIL_FOLIO_BPF_H
#define IOTRAIL_FOLIO_BPF_H

#include "types/compat.bpf.h"

/* Low bits of page->mapping: set for the memory of programs, clear for a page of a file. */
#define MAPPING_FLAGS 3

/* "mm: convert page/folio flags to memdesc_flags_t" made the word a structure. */
static __always_inline iot_u64 iot_folio_flags(const struct folio* folio, const int direct) {
  const struct folio___memdesc* newer = (const void*)folio;
  iot_u64 flags = 0;
  if (bpf_core_field_exists(newer->flags.f))
    IOT_LOAD(flags, newer, flags.f, direct);
  else
    IOT_LOAD(flags, folio, flags, direct);
  return flags;
}

static __always_inline int iot_folio_is_large(const struct folio* folio, const int direct) {
  return iot_folio_flags(folio, direct) >> bpf_core_enum_value(enum pageflags, PG_head) & 1;
}

/* Only large folios have the number. "mm: rename _folio_nr_pages" gave it a shorter name. */
static __always_inline iot_u32 iot_folio_pages(const struct folio* folio, const int direct) {
  const struct folio___short_name* newer = (const void*)folio;
  iot_u32 pages = 1;
  if (!iot_folio_is_large(folio, direct))
    return pages;
  if (bpf_core_field_exists(newer->_nr_pages))
    IOT_LOAD(pages, newer, _nr_pages, direct);
  else
    IOT_LOAD(pages, folio, _folio_nr_pages, direct);
  return pages;
}

#endif
