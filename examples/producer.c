/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that pushes made-up block I/O: each thread writes its own range of a device, and reads
 * it again.
 *
 *   cc producer.c -liotrail-producer -o producer
 *   ./producer run.iotproducer 2 100000          # 2 threads, 100,000 I/O each
 *   iotrail import run.iotproducer -o run && iotrail report run
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "iotrail/producer.h"

enum { BYTES = 4096, SECTORS = BYTES / 512, THREADS_MAX = 64 };

struct work {
  iotrail_producer* producer;
  uint32_t device;
  uint64_t first; /* I/O of the thread, on the device */
  uint64_t count;
};

static void* push(void* argument) {
  const struct work* work = argument;
  for (uint64_t i = 0; i < work->count; ++i) {
    const enum iotrail_operation operation = i % 2 ? IOTRAIL_READ : IOTRAIL_WRITE;
    const uint64_t sector = (work->first + i / 2) * SECTORS;
    const uint64_t io =
        iotrail_producer_push_io(work->producer, work->device, operation, 0, sector, BYTES);
    iotrail_producer_push_completion(work->producer, io, BYTES, 0);
  }
  return NULL;
}

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: producer FILE THREADS IOS [RECORDS]\n");
    return 2;
  }
  const int threads = atoi(argv[2]);
  const uint64_t count = strtoull(argv[3], NULL, 10);
  const uint64_t records = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
  if (threads < 1 || threads > THREADS_MAX) {
    fprintf(stderr, "producer: from 1 to %d threads\n", THREADS_MAX);
    return 2;
  }
  iotrail_producer* producer;
  const int error = iotrail_producer_create(argv[1], records, &producer);
  if (error != 0) {
    fprintf(stderr, "producer: cannot make %s: %s\n", argv[1], strerror(error));
    return 1;
  }
  const uint32_t device = iotrail_producer_add_device(producer, "made0", "made-up disk", 1U << 30);
  pthread_t thread[THREADS_MAX];
  struct work work[THREADS_MAX];
  const double begin = cpu_seconds();
  for (int i = 0; i < threads; ++i) {
    work[i] = (struct work){producer, device, (uint64_t)i * count, count};
    pthread_create(&thread[i], NULL, push, &work[i]);
  }
  for (int i = 0; i < threads; ++i)
    pthread_join(thread[i], NULL);
  const double pushes = 2.0 * (double)count * threads;
  printf("pushed %.0f lost %llu, %.0f a second of CPU time\n", pushes,
         (unsigned long long)iotrail_producer_lost(producer), pushes / (cpu_seconds() - begin));
  return iotrail_producer_destroy(producer) == 0 ? 0 : 1;
}
