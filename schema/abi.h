/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Records and numbers shared by BPF programs, the preload library and the collector. All of it is made from the *.def files
 * in this directory. Needs no other header, so that it builds anywhere.
 */
#ifndef IOTRAIL_ABI_H
#define IOTRAIL_ABI_H

typedef unsigned char iot_u8;
typedef unsigned short iot_u16;
typedef unsigned int iot_u32;
typedef unsigned long long iot_u64;
typedef int iot_s32;
typedef long long iot_s64;

/* The formatter does not understand rows as code fragments. */
/* clang-format off */
#define FIELD(type, name, meaning, doc, ...) iot_##type name;

/* Begins every record. `kind` and `tag` serve transport only (capture/ring.h) and are not stored as columns. */
struct iot_event {
#include "header.def"
  iot_u16 kind;
  iot_u32 tag;
};

/* struct iot_<event>: no padding between fields (schema_checks.cpp asserts it), so no byte is left unwritten. */
#define EVENT(id, name, layer, doc) struct iot_##name { struct iot_event event;
#define END(name) };
#include "events.def"
#undef EVENT
#undef FIELD
#undef END

enum iot_kind {
  IOT_KIND_none = 0,
#define EVENT(id, name, layer, doc) IOT_KIND_##name = (id),
#define FIELD(type, name, meaning, doc, ...)
#define TEXT(name, doc)
#define END(name)
#include "dictionary.def"
#include "events.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef END
};

enum iot_layer {
#define LAYER(id, name, source, place, call_rank, doc) IOT_LAYER_##name = (id),
#include "layers.def"
  IOT_LAYER_COUNT = 32 /* ids are below it; a power of two, because BPF programs mask with it */
};

/* Layer of a kind: the high byte of the id. schema_checks.cpp asserts this for every row. */
#define IOT_LAYER_OF(kind) ((kind) >> 8)

enum iot_value {
#define VALUE(table, number, name) IOT_##table##_##name = (number),
#include "values.def"
};

/* The bits of a set of flags that hold one number of the table. */
enum iot_choice_mask {
#define CHOICE(table, mask, bits) IOT_CHOICE_##table = (mask),
#include "values.def"
};

/* Inode numbers; 0: unknown. */
struct iot_namespaces {
#define NAMESPACE(name, link) iot_u32 name;
#include "namespaces.def"
#undef NAMESPACE
};

enum iot_counter {
#define COUNTER(id, name, source, severity, doc) IOT_COUNTER_##name = (id),
#include "stats.def"
#undef COUNTER
  IOT_COUNTER_LIMIT = 64 /* ids are below it; a power of two */
};

/* clang-format on */

#define IOT_CPU_UNKNOWN 65535
#define IOT_OFFSET_NONE (-1LL)
#define IOT_NO_FD (-1)
#define IOT_AT_FDCWD (-100) /* stands for a descriptor of the current directory */
/* The unit of page counts: 4096 bytes, the page size of every supported machine. */
#define IOT_PAGE_SHIFT 12

/* Result of an unfinished span: its task died inside it, or the recording stopped. Not an error. */
#define IOT_UNFINISHED (-4095)

/* Device numbers, in the form of the meaning `device`. */
#define IOT_MINOR_BITS 20
#define IOT_DEVICE(major, minor) ((iot_u32)(major) << IOT_MINOR_BITS | (iot_u32)(minor))

/*
 * op_id: the maker in the high 16 bits, the maker's own number in the low 48. So it is unique in a recording without a
 * shared counter. Makers: in the kernel, the CPU; in preload, IOT_OP_PRELOAD plus the ring;
 * in the fuse source, IOT_OP_FUSE.
 */
#define IOT_OP_MAKER_SHIFT 48
#define IOT_OP_PRELOAD 0x8000ULL
#define IOT_OP_FUSE 0x4000ULL /* above each CPU */

#endif
