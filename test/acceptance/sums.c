/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes a known number of calls, with known bytes and errors, on two new files:
 *
 *   sums FILE DIRECT   FILE: 1000 pwrites of 4096 bytes, 500 preads of 512, a fsync; 3 opens of FILE.missing, which fail;
 *                      DIRECT: 64 pwrites of 8192 bytes past the page cache
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void must(int done) {
  if (!done)
    abort();
}

static void use_cache(const char* path, char* block) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  must(fd >= 0);
  for (long i = 0; i < 1000; ++i)
    must(pwrite(fd, block, 4096, i * 4096) == 4096);
  for (long i = 0; i < 500; ++i)
    must(pread(fd, block, 512, i * 512) == 512);
  must(fsync(fd) == 0 && close(fd) == 0);
}

static void fail_to_open(const char* path) {
  char missing[4096];
  snprintf(missing, sizeof(missing), "%s.missing", path);
  for (int i = 0; i < 3; ++i)
    must(open(missing, O_RDONLY) < 0);
}

static void pass_by_cache(const char* path, char* block) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0600);
  must(fd >= 0);
  for (long i = 0; i < 64; ++i)
    must(pwrite(fd, block, 8192, i * 8192) == 8192);
  must(close(fd) == 0);
}

int main(int argc, char** argv) {
  char* block = NULL;
  must(argc == 3 && posix_memalign((void**)&block, 4096, 8192) == 0);
  use_cache(argv[1], block);
  fail_to_open(argv[1]);
  pass_by_cache(argv[2], block);
  return 0;
}
