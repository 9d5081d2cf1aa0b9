/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The ring that carries records to the collector. Used by BPF (one per CPU), the preload library (one per thread) and the
 * collector. It lies in memory that both sides map; neither side makes a system call.
 *
 * Protocol. Positions count records since the ring was made and never wrap in practice (64 bits).
 *   producer: reserve   head' = head + 1 by an atomic exchange, only while head - tail < slots; else lost++
 *             fill      the slot  position % slots  is the producer's alone
 *             commit    store tag = (u32)(position + 1) last, with release order
 *   consumer: the record at `tail` is complete when its tag says so; after copying, store tail with release order.
 * Interrupts and signal handlers may nest between reserve and commit: they get later slots, and the consumer waits for the
 * earlier slot. head and tail lie on cache lines of their own, because each is written by one side.
 */
#ifndef IOTRAIL_RING_H
#define IOTRAIL_RING_H

#include "abi.h"

#define IOT_CACHE_LINE 64

struct iot_ring_control {
  iot_u64 head;                      /* written by the producer */
  iot_u64 lost[IOT_LAYER_COUNT - 1]; /* records dropped because the ring was full, by layer - 1 */
  iot_u64 tail;                      /* written by the consumer, on a line of its own */
  iot_u64 reserved[IOT_CACHE_LINE / 8 - 1];
};

/* One record of the kernel's rings; every struct iot_<event> fits (asserted in capture/kernel). */
#define IOT_KERNEL_SLOT_BYTES 128

#endif
