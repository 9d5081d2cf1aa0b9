/* SPDX-License-Identifier: BSD-3-Clause
 *
 * load CALLS_PER_SECOND CALLS THREADS: writes 7 bytes to /dev/null so often, each thread its share, at this rate (0: as fast
 * as it can), once its input ends. However busy the machine is, a recording must account for this number of calls. With one
 * thread the number of its other calls is always the same.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double calls_per_second; /* of a thread */
static long calls;
static int null_fd;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Works in slices of a millisecond, so that pacing itself makes few calls. */
static void* work(void* unused) {
  (void)unused;
  const double begin = now();
  for (long done = 0; done < calls;) {
    const double due = calls_per_second > 0 ? (now() - begin + 0.001) * calls_per_second : 1e18;
    for (; done < calls && (double)done < due; ++done)
      if (write(null_fd, "1234567", 7) != 7)
        abort();
    if (calls_per_second > 0)
      usleep(500);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4)
    return 2;
  enum { kThreadsMax = 64 };
  const int threads = atoi(argv[3]);
  pthread_t thread[kThreadsMax];
  if (threads < 1 || threads > kThreadsMax)
    return 2;
  calls_per_second = atof(argv[1]) / threads;
  calls = atol(argv[2]) / threads;
  null_fd = open("/dev/null", O_WRONLY);
  char byte;
  if (read(STDIN_FILENO, &byte, 1) != 0)
    return 2;
  if (threads == 1) {
    work(NULL);
    return 0;
  }
  for (int i = 0; i < threads; ++i)
    pthread_create(&thread[i], NULL, work, NULL);
  for (int i = 0; i < threads; ++i)
    pthread_join(thread[i], NULL);
  return 0;
}
