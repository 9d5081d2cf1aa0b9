/* SPDX-License-Identifier: BSD-3-Clause
 *
 * load CALLS_PER_SECOND SECONDS THREADS: each thread writes 7 bytes to /dev/null at its share of the rate (0: as fast
 * as it can). Prints the number of calls, which is what a recording must account for.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double calls_per_second;
static double seconds;
static int null_fd;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Works in slices of a millisecond, so that the pacing itself makes few calls. */
static void* work(void* calls) {
  const double begin = now();
  long done = 0;
  for (double at = begin; at < begin + seconds; at = now()) {
    long due = calls_per_second > 0 ? (long)((at - begin + 0.001) * calls_per_second) : done + 1000;
    for (; done < due; ++done)
      if (write(null_fd, "1234567", 7) != 7)
        abort();
    if (calls_per_second > 0)
      usleep(500);
  }
  *(long*)calls = done;
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4)
    return 2;
  enum { kThreadsMax = 64 };
  const int threads = atoi(argv[3]);
  pthread_t thread[kThreadsMax];
  long calls[kThreadsMax];
  if (threads < 1 || threads > kThreadsMax)
    return 2;
  calls_per_second = atof(argv[1]) / threads;
  seconds = atof(argv[2]);
  null_fd = open("/dev/null", O_WRONLY);
  for (int i = 0; i < threads; ++i)
    pthread_create(&thread[i], NULL, work, &calls[i]);
  long sum = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_join(thread[i], NULL);
    sum += calls[i];
  }
  printf("%20ld\n", sum); /* never 7 bytes: the test counts writes of so many */
  return 0;
}
