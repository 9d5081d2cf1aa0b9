/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads one byte of a file N times and prints what one call took: pread_loop FILE N
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: pread_loop FILE N\n");
    return 2;
  }
  const int fd = open(argv[1], O_RDONLY);
  const long calls = atol(argv[2]);
  char byte = 0;
  if (fd < 0 || calls <= 0 || pread(fd, &byte, 1, 0) != 1) {
    perror(argv[1]);
    return 1;
  }
  const double begin = now_ns();
  for (long call = 0; call < calls; ++call)
    if (pread(fd, &byte, 1, 0) != 1)
      return 1;
  printf("ns_per_call %.1f\n", (now_ns() - begin) / (double)calls);
  return 0;
}
