/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes the same calls each time that it runs, in a directory of its own, for tests that count them:
 *
 *   calls threads DIRECTORY THREADS CALLS   each thread: preads and pwrites of a file of its own, one after the other
 *   calls stdio DIRECTORY CALLS             that many fputc, fgetc and fscanf through buffers
 *   calls family DIRECTORY                  children by fork, vfork, posix_spawn, system and popen, each running `true`
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static const char* directory;
static long calls;

static void must(int done) {
  if (!done)
    abort();
}

static void path_of(char* path, size_t room, const char* name, long number) {
  snprintf(path, room, "%s/%s%ld", directory, name, number);
}

static void* work(void* number) {
  char path[4096];
  char block[64] = "block";
  path_of(path, sizeof(path), "thread", (long)number);
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  must(fd >= 0);
  for (long i = 0; i < calls; ++i) {
    must(pwrite(fd, block, sizeof(block), i) == sizeof(block));
    must(pread(fd, block, sizeof(block), i) == sizeof(block));
  }
  struct stat attributes;
  must(fstat(fd, &attributes) == 0 && close(fd) == 0 && unlink(path) == 0);
  return NULL;
}

static void run_threads(long threads) {
  enum { kThreadsMax = 64 };
  pthread_t thread[kThreadsMax];
  must(threads > 0 && threads <= kThreadsMax);
  for (long i = 0; i < threads; ++i)
    must(pthread_create(&thread[i], NULL, work, (void*)i) == 0);
  for (long i = 0; i < threads; ++i)
    must(pthread_join(thread[i], NULL) == 0);
}

static void run_stdio(void) {
  char path[4096];
  path_of(path, sizeof(path), "stdio", 0);
  FILE* file = fopen(path, "w");
  must(file != NULL);
  for (long i = 0; i < calls; ++i)
    must(fputc(i % 8 == 7 ? '\n' : '7', file) != EOF);
  must(fclose(file) == 0);
  file = fopen(path, "r");
  must(file != NULL);
  for (long i = 0; i < calls / 2; ++i)
    must(fgetc(file) != EOF);
  long sum = 0;
  for (int number = 0; fscanf(file, "%d", &number) == 1;)
    sum += number;
  must(sum > 0 && fclose(file) == 0 && unlink(path) == 0);
}

static void wait_for(pid_t pid) {
  int status = 0;
  must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void run_family(void) {
  char* arguments[] = {"true", NULL};
  char* nothing[] = {NULL};
  pid_t pid = fork();
  if (pid == 0) {
    work((void*)1000);
    execve("/bin/true", arguments, nothing);
  }
  wait_for(pid);
  pid = vfork();
  if (pid == 0) {
    execvp("true", arguments);
    _exit(1);
  }
  wait_for(pid);
  must(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) == 0);
  wait_for(pid);
  must(system("true && true") == 0);
  FILE* stream = popen("cat /etc/passwd", "r");
  char line[4096];
  while (fgets(line, sizeof(line), stream) != NULL) {
  }
  must(pclose(stream) == 0);
}

int main(int argc, char** argv) {
  if (argc < 3)
    return 2;
  directory = argv[2];
  calls = argc > 3 ? atol(argv[argc - 1]) : 1;
  if (strcmp(argv[1], "threads") == 0 && argc == 5)
    run_threads(atol(argv[3]));
  else if (strcmp(argv[1], "stdio") == 0 && argc == 4)
    run_stdio();
  else if (strcmp(argv[1], "family") == 0 && argc == 3)
    run_family();
  else
    return 2;
  return 0;
}
