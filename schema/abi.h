/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Records and numbers shared by BPF programs, the preload library and the collector. Everything is made from the
 * *.def files beside this one; nothing is listed here. Needs no header of its own, so that it builds anywhere.
 */
#ifndef IOTRAIL_ABI_H
#define IOTRAIL_ABI_H

typedef unsigned char io_u8;
typedef unsigned short io_u16;
typedef unsigned int io_u32;
typedef unsigned long long io_u64;
typedef int io_s32;
typedef long long io_s64;

/* Rows are read as code fragments, which the formatter does not understand. */
/* clang-format off */
#define FIELD(type, name, meaning, doc) io_##type name;

/* Begins every record. `kind` and `tag` serve transport only (capture/ring.h) and are not stored as columns. */
struct io_event {
#include "header.def"
  io_u16 kind;
  io_u32 tag;
};

/* struct io_<event>: no padding between fields (schema.hpp asserts it), so no byte is left unwritten. */
#define EVENT(id, name, layer, doc) struct io_##name { struct io_event event;
#define END(name) };
#include "events.def"
#undef EVENT
#undef FIELD
#undef END

enum io_kind {
#define EVENT(id, name, layer, doc) IO_KIND_##name = (id),
#define FIELD(type, name, meaning, doc)
#define TEXT(name, doc)
#define END(name)
#include "dictionary.def"
#include "events.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef END
};

enum io_layer {
#define LAYER(id, name, doc) IO_LAYER_##name = (id),
#include "layers.def"
#undef LAYER
  IO_LAYER_COUNT = 16
};

/* Layer of a kind: the high byte of the id. schema.hpp asserts that every row keeps to it. */
#define IO_LAYER_OF(kind) ((kind) >> 8)

enum io_value {
#define VALUE(table, number, name) IO_##table##_##name = (number),
#include "values.def"
#undef VALUE
};

enum io_counter {
#define COUNTER(id, name, source, severity, doc) IO_COUNTER_##name = (id),
#include "stats.def"
#undef COUNTER
  IO_COUNTER_LIMIT = 64
};

/* clang-format on */

#define IO_CPU_UNKNOWN 65535
#define IO_OFFSET_NONE (-1LL)
#define IO_NO_FD (-1)

/*
 * op_id: who made it in the high 16 bits, a number of that maker's own in the low 48: unique in a recording
 * without a shared counter. Kernel: the CPU. Preload: IO_OP_PRELOAD plus the ring.
 */
#define IO_OP_MAKER_SHIFT 48
#define IO_OP_PRELOAD 0x8000ULL

#endif
