/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the first bytes of a file N times and prints what one call took: pread_loop FILE N [BYTES]
 * One byte through the page cache; with BYTES, so many at once and past the cache.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char buffer[1 << 16] __attribute__((aligned(4096)));

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: pread_loop FILE N [BYTES]\n");
    return 2;
  }
  const int is_direct = argc == 4;
  const int fd = open(argv[1], is_direct ? O_RDONLY | O_DIRECT : O_RDONLY);
  const long calls = atol(argv[2]);
  const long bytes = is_direct ? atol(argv[3]) : 1;
  if (fd < 0 || calls <= 0 || bytes <= 0 || bytes > (long)sizeof(buffer) ||
      pread(fd, buffer, (size_t)bytes, 0) != bytes) {
    perror(argv[1]);
    return 1;
  }
  const double begin = now_ns();
  for (long call = 0; call < calls; ++call)
    if (pread(fd, buffer, (size_t)bytes, 0) != bytes)
      return 1;
  printf("ns_per_call %.1f\n", (now_ns() - begin) / (double)calls);
  return 0;
}
