/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Records and numbers shared by BPF programs, the preload library and the collector. Everything is made from the
 * *.def files beside this one; nothing is listed here. Needs no header of its own, so that it builds anywhere.
 */
#ifndef IOTRAIL_ABI_H
#define IOTRAIL_ABI_H

typedef unsigned char iot_u8;
typedef unsigned short iot_u16;
typedef unsigned int iot_u32;
typedef unsigned long long iot_u64;
typedef int iot_s32;
typedef long long iot_s64;

/* Rows are read as code fragments, which the formatter does not understand. */
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
  IOT_LAYER_COUNT = 32 /* ids are below it; a power of two, since programs mask by it */
};

/* Layer of a kind: the high byte of the id. schema_checks.cpp asserts that every row keeps to it. */
#define IOT_LAYER_OF(kind) ((kind) >> 8)

enum iot_value {
#define VALUE(table, number, name) IOT_##table##_##name = (number),
#include "values.def"
};

/* The bits of a set of flags that hold one number of its table. */
enum iot_choice_mask {
#define CHOICE(table, mask, bits) IOT_CHOICE_##table = (mask),
#include "values.def"
};

/* Inode numbers; 0: not known. */
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
/* Pages are counted in units of 4096 bytes, the page size of every machine that is supported. */
#define IOT_PAGE_SHIFT 12

/* Result of a span whose task died inside it, or that was open when the recording stopped: not an error. */
#define IOT_UNFINISHED (-4095)

/* Device numbers, as the meaning `device` has them. */
#define IOT_MINOR_BITS 20
#define IOT_DEVICE(major, minor) ((iot_u32)(major) << IOT_MINOR_BITS | (iot_u32)(minor))

/*
 * op_id: who made it in the high 16 bits, a number of that maker's own in the low 48: unique in a recording
 * without a shared counter. Kernel: the CPU. Preload: IOT_OP_PRELOAD plus the ring.
 */
#define IOT_OP_MAKER_SHIFT 48
#define IOT_OP_PRELOAD 0x8000ULL

#endif
