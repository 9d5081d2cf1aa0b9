/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that does its own block I/O (a storage engine in user space, an emulator, a database)
 * pushes it, and `iotrail import FILE` makes a trace of it. Link with -liotrail-producer.
 *
 *   iotrail_producer* producer;
 *   iotrail_producer_create("run.iotproducer", 0, &producer);
 *   uint32_t disk = iotrail_producer_add_device(producer, "spdk0", "NVMe", size_bytes);
 *   uint64_t io = iotrail_producer_push_io(producer, disk, IOTRAIL_WRITE, 0, sector, bytes);
 *   iotrail_producer_push_completion(producer, io, bytes, 0);
 *   iotrail_producer_destroy(producer);
 *
 * All threads may push at the same time. A push is wait-free: it takes no lock, makes no system
 * call but for the time, and allocates nothing. What was pushed is in the file at once, also if the
 * process is killed. The file has a fixed room; what does not fit is counted, and the count is in
 * the trace. A child of fork() must not use the producer.
 */
#ifndef IOTRAIL_PRODUCER_H
#define IOTRAIL_PRODUCER_H

#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct iotrail_producer iotrail_producer;

enum iotrail_operation {
  IOTRAIL_READ = 1,
  IOTRAIL_WRITE = 2,
  IOTRAIL_DISCARD = 3,
  IOTRAIL_FLUSH = 4 /* of the device's cache: `bytes` is 0 */
};

/* Flags of an I/O, or'ed. FUA: it is on the medium when it completes. SYNC: somebody waits for it. */
enum iotrail_flag {
  IOTRAIL_FUA = 1,
  IOTRAIL_METADATA = 2,
  IOTRAIL_READ_AHEAD = 4,
  IOTRAIL_SYNC = 8
};

enum { IOTRAIL_DEVICES_MAX = 64, IOTRAIL_RECORDS_MAX = 1 << 23 };

/*
 * Makes the file, which must not exist. `records` is its room: an I/O and its completion take one
 * each, of 64 bytes; 0: 1,048,576. The file takes this space at once, on the disk and in the page
 * cache. Returns 0, or an errno:
 * EINVAL if `records` is above IOTRAIL_RECORDS_MAX, else of the system.
 */
int iotrail_producer_create(const char* path, uint64_t records, iotrail_producer** producer);

/*
 * Describes a device. `name` and `model` (may be NULL) are cut to 63 bytes. Returns its number, or
 * UINT32_MAX if there are IOTRAIL_DEVICES_MAX already.
 */
uint32_t iotrail_producer_add_device(iotrail_producer* producer, const char* name,
                                     const char* model, uint64_t bytes);

/*
 * An I/O begins. `sector` counts 512 bytes. One with an unknown operation is lost when the file is
 * imported. Returns its number for the completion; 0: it did not
 * fit, and is counted as lost.
 */
uint64_t iotrail_producer_push_io(iotrail_producer* producer, uint32_t device,
                                  enum iotrail_operation operation, uint32_t flags, uint64_t sector,
                                  uint32_t bytes);

/* The I/O has ended, in any thread. `bytes` were moved; `error` is 0 or an errno. */
void iotrail_producer_push_completion(iotrail_producer* producer, uint64_t io, uint32_t bytes,
                                      int error);

/* Number of I/O and completions that did not fit so far. */
uint64_t iotrail_producer_lost(const iotrail_producer* producer);

/* Waits until all that was pushed before is on the disk. Returns 0 or an errno. */
int iotrail_producer_flush(iotrail_producer* producer);

/* Ends the file. No thread may push meanwhile. Returns 0 or an errno; frees `producer` anyway. */
int iotrail_producer_destroy(iotrail_producer* producer);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
