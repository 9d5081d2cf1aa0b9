/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The fields of bios and requests, in the numbers of values.def. The numbers of a kernel can
 * differ.
 */
#ifndef IOTRAIL_BLOCK_FIELDS_BPF_H
#define IOTRAIL_BLOCK_FIELDS_BPF_H

#include "track/core.bpf.h"

/* failfast_device to nowait, as values.def numbers them */
#define HINT_BITS (((iot_u32)IOT_block_hint_nowait << 1) - (iot_u32)IOT_block_hint_failfast_device)
#define PRIORITY_CLASS_SHIFT 13
#define PRIORITY_LEVEL_BITS 7

#define BIT_OF(name) bpf_core_enum_value(enum req_flag_bits, name)
#define HAS_BIT(name) bpf_core_enum_value_exists(enum req_flag_bits, name)
#define OPERATION(name) bpf_core_enum_value(enum req_op, REQ_OP_##name)

#define IS_WRITE 1 /* set in the number of each operation that writes */

/* Kernels number zone operations differently. */
static __always_inline iot_u32 operation_of(iot_u32 flags) {
  const iot_u32 operation = flags & IOT_CHOICE_block;
  if (!bpf_core_type_exists(enum req_op))
    return operation;
#define TRANSLATE(theirs, ours)                                                                    \
  if (OPERATION(theirs) != IOT_block_##ours && operation == OPERATION(theirs))                     \
  return IOT_block_##ours
  TRANSLATE(ZONE_APPEND, zone_append);
  TRANSLATE(ZONE_OPEN, zone_open);
  TRANSLATE(ZONE_CLOSE, zone_close);
  TRANSLATE(ZONE_FINISH, zone_finish);
  TRANSLATE(ZONE_RESET, zone_reset);
  TRANSLATE(ZONE_RESET_ALL, zone_reset_all);
#undef TRANSLATE
  return operation;
}

#define HINT(flags, bit, name) ((flags) >> BIT_OF(bit) & 1 ? IOT_block_hint_##name : 0)
/* A hint that not all kernels have. */
#define NEWER_HINT(flags, bit, name) (HAS_BIT(bit) ? HINT(flags, bit, name) : 0)

/* If the kernel numbers these as values.def does, they are one mask. The verifier knows that. */
#define IS_COMMON(bit, name) (BIT_OF(bit) == __builtin_ctz(IOT_block_hint_##name))
#define HINTS_ARE_COMMON                                                                           \
  (IS_COMMON(__REQ_FAILFAST_DEV, failfast_device) && IS_COMMON(__REQ_SYNC, sync) &&                \
   IS_COMMON(__REQ_RAHEAD, readahead) && IS_COMMON(__REQ_BACKGROUND, background) &&                \
   IS_COMMON(__REQ_NOWAIT, nowait))

static __always_inline iot_u32 common_hints(iot_u32 flags) {
  if (HINTS_ARE_COMMON)
    return flags & HINT_BITS;
  return HINT(flags, __REQ_FAILFAST_DEV, failfast_device) |
         HINT(flags, __REQ_FAILFAST_TRANSPORT, failfast_transport) |
         HINT(flags, __REQ_FAILFAST_DRIVER, failfast_driver) | HINT(flags, __REQ_SYNC, sync) |
         HINT(flags, __REQ_META, meta) | HINT(flags, __REQ_PRIO, prio) |
         HINT(flags, __REQ_NOMERGE, nomerge) | HINT(flags, __REQ_IDLE, idle) |
         HINT(flags, __REQ_INTEGRITY, integrity) | HINT(flags, __REQ_FUA, fua) |
         HINT(flags, __REQ_PREFLUSH, preflush) | HINT(flags, __REQ_RAHEAD, readahead) |
         HINT(flags, __REQ_BACKGROUND, background) | HINT(flags, __REQ_NOWAIT, nowait);
}

/* Global, so that the verifier checks it once. */
__noinline iot_u32 iot_translate_flags(iot_u32 flags) {
  return operation_of(flags) | common_hints(flags) | NEWER_HINT(flags, __REQ_POLLED, polled) |
         NEWER_HINT(flags, __REQ_SWAP, swap) | NEWER_HINT(flags, __REQ_ATOMIC, atomic) |
         NEWER_HINT(flags, __REQ_NOUNMAP, nounmap);
}

/* Reads, writes, flushes and discards have the same numbers in all kernels, most hints in most. */
static __always_inline iot_u32 flags_of(iot_u32 flags) {
  if (!HINTS_ARE_COMMON || flags & ~(HINT_BITS | IOT_block_discard))
    return iot_translate_flags(flags);
  return flags;
}
_Static_assert(IOT_block_discard == 3, "a mask of the operations below it");

static __always_inline iot_u32 device_of(const struct gendisk* disk) {
  return IOT_DEVICE(disk->major, disk->first_minor);
}

/* The priority and the hint of a bio or request, for its record. */
#define DESCRIBE_WISHES(record, bio)                                                               \
  do {                                                                                             \
    const iot_u16 priority = (bio)->bi_ioprio;                                                     \
    (record)->priority_class = priority >> PRIORITY_CLASS_SHIFT;                                   \
    (record)->priority_level = priority & PRIORITY_LEVEL_BITS;                                     \
    (record)->write_hint = bpf_core_field_exists((bio)->bi_write_hint) ? (bio)->bi_write_hint : 0; \
  } while (0)

/*
 * blk_status_t to errno, as in the kernel (blk_errors[]). The numbers up to AGAIN have never
 * changed.
 */
static const iot_u8 status_errno[16] = {
    [1] = 95,  /* NOTSUPP: EOPNOTSUPP */
    [2] = 110, /* TIMEOUT: ETIMEDOUT */
    [3] = 28,  /* NOSPC: ENOSPC */
    [4] = 67,  /* TRANSPORT: ENOLINK */
    [5] = 121, /* TARGET: EREMOTEIO */
    [6] = 52,  /* RESV_CONFLICT: EBADE */
    [7] = 61,  /* MEDIUM: ENODATA */
    [8] = 84,  /* PROTECTION: EILSEQ */
    [9] = 12,  /* RESOURCE: ENOMEM */
    [11] = 78, /* DM_REQUEUE: EREMCHG */
    [12] = 11, /* AGAIN: EAGAIN */
    [13] = 16, /* DEV_RESOURCE: EBUSY */
};
#define ERROR_IO 5
#define STATUS_AGAIN 12

static __always_inline iot_s32 error_of(iot_u32 status) {
  if (!status)
    return 0;
  const iot_s32 code = status < sizeof(status_errno) ? status_errno[status] : 0;
  return code ? -code : -ERROR_IO;
}

/* The kernel's limit for a queue, in words of 64 tags. */
#define TAG_WORD_LIMIT (10240 / 64)
#define TAG_WORDS_AT_HAND 16 /* enough for most queues: the verifier needs long for a longer loop */

struct tag_words {
  iot_u64 at;
  iot_u32 left;
  iot_u32 used;
};

#define CACHE_LINE_BYTES 64 /* each of the two words has a cache line */

/* Bits of taken tags, without those given back since, as the kernel itself counts. */
static __always_inline iot_u64 taken_of(const struct sbitmap_word* tag) {
  iot_u64 taken = 0;
  iot_u64 given_back = 0;
  bpf_core_read(&taken, sizeof(taken), &tag->word);
  bpf_core_read(&given_back, sizeof(given_back), &tag->cleared);
  return taken & ~given_back;
}

/* The same by one helper call: copying both words and the gap takes less time than two calls. */
static __always_inline iot_u64 copy_taken_of(const struct sbitmap_word* tag) {
  iot_u64 both[CACHE_LINE_BYTES / sizeof(iot_u64) + 1];
  if (bpf_core_field_offset(struct sbitmap_word, cleared) -
          bpf_core_field_offset(struct sbitmap_word, word) !=
      CACHE_LINE_BYTES)
    return taken_of(tag);
  bpf_core_read(both, sizeof(both), &tag->word);
  return both[0] & ~both[CACHE_LINE_BYTES / sizeof(iot_u64)];
}

static __always_inline void count_tags(struct tag_words* words) {
  iot_u64 taken = 0;
  if (iot_config.has_cast) {
    const struct sbitmap_word* tag = IOT_TYPED(sbitmap_word, words->at, 1);
    taken = tag->word & ~tag->cleared;
  } else {
    taken = copy_taken_of((const struct sbitmap_word*)words->at);
  }
  if (taken) /* most words are 0, and counting bits costs most */
    words->used += (iot_u32)__builtin_popcountll(taken);
  words->at += bpf_core_type_size(struct sbitmap_word);
  --words->left;
}

static long count_more_tags(iot_u32 index, struct tag_words* words) {
  if (!words->left)
    return 1;
  count_tags(words);
  return 0;
}

static __noinline iot_u32 iot_count_tags_beyond(iot_u64 at, iot_u32 count) {
  struct tag_words words = {.at = at, .left = count};
  bpf_loop(TAG_WORD_LIMIT - TAG_WORDS_AT_HAND, count_more_tags, &words, 0);
  return words.used;
}

static __always_inline iot_u32 tags_in_use(const struct blk_mq_hw_ctx* queue) {
  const struct sbitmap* tags = &queue->tags->bitmap_tags.sb;
  struct tag_words words = {.at = iot_number_of(tags->map), .left = tags->map_nr};
  for (iot_u32 index = 0; index < TAG_WORDS_AT_HAND && words.left; ++index)
    count_tags(&words);
  return words.left ? words.used + iot_count_tags_beyond(words.at, words.left) : words.used;
}

#endif
