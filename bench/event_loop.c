/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does one thing N times and prints what a step took: event_loop STEP FILE N
 * Each step makes known events of the kernel's layers; bench/kernel_cost --events says how many.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

static char page[PAGE_BYTES] __attribute__((aligned(PAGE_BYTES)));
static const char* path;
static int fd = -1;
static int pair[2];
static int back[2];
static long step;
static char* mapped;
static aio_context_t aio;

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void open_with(int flags) {
  fd = open(path, flags, 0600);
}
static void open_file(void) {
  open_with(O_RDWR | O_CREAT);
}
static void open_direct(void) {
  open_with(O_RDWR | O_DIRECT);
}
static void open_socket(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
    exit(1);
}
static void map_file(void) {
  open_file();
  if (pwrite(fd, page, PAGE_BYTES, 0) == PAGE_BYTES)
    mapped = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
}
static void listen_on_loopback(void) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons(4711)};
  fd = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(fd, (struct sockaddr*)&address, sizeof(address)) != 0 || listen(fd, 8) != 0)
    exit(1);
}
/* A child sends each byte back: two waits a step, one in each process. */
static void start_partner(void) {
  if (pipe(pair) != 0 || pipe(back) != 0)
    exit(1);
  if (fork() != 0)
    return;
  close(pair[1]);
  char byte;
  while (read(pair[0], &byte, 1) == 1)
    if (write(back[1], &byte, 1) != 1)
      break;
  _exit(0);
}
static void set_up_aio(void) {
  open_direct();
  syscall(SYS_io_setup, 8, &aio);
}

static int do_read(void) {
  return pread(fd, page, 1, 0) == 1;
}
static int do_write(void) { /* to a new page each time */
  return pwrite(fd, page, PAGE_BYTES, step * PAGE_BYTES) == PAGE_BYTES;
}
static int do_read_anew(void) { /* adds the page to the cache and removes it */
  return posix_fadvise(fd, 0, PAGE_BYTES, POSIX_FADV_DONTNEED) == 0 &&
         pread(fd, page, PAGE_BYTES, 0) == PAGE_BYTES;
}
static int do_open(void) {
  return close(open(path, O_RDONLY)) == 0;
}
static int do_seek(void) {
  return lseek(fd, 0, SEEK_SET) == 0;
}
static int do_stat(void) {
  struct stat unused;
  return fstat(fd, &unused) == 0;
}
static int do_sync(void) { /* nothing is dirty */
  return fsync(fd) == 0;
}
static int do_write_and_sync(void) {
  return pwrite(fd, page, PAGE_BYTES, 0) == PAGE_BYTES && fdatasync(fd) == 0;
}
static int do_map(void) {
  return munmap(mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0), PAGE_BYTES) == 0;
}
static int do_poll(void) {
  struct pollfd poll_fd = {.fd = pair[0], .events = POLLIN};
  return poll(&poll_fd, 1, 0) == 0;
}
static int do_send(void) {
  return send(pair[0], page, 1, 0) == 1 && recv(pair[1], page, 1, 0) == 1;
}
static int do_rename(void) { /* there and back */
  return (step % 2 == 0 ? rename(path, "renamed") : rename("renamed", path)) == 0;
}
static int do_fault(void) {
  return madvise(mapped, PAGE_BYTES, MADV_DONTNEED) == 0 && *(volatile char*)mapped == 0;
}
static int do_fork(void) {
  const pid_t child = fork();
  if (child == 0)
    _exit(0);
  return waitpid(child, NULL, 0) == child;
}
static int do_ping(void) {
  return write(pair[1], page, 1) == 1 && read(back[0], page, 1) == 1;
}
static int do_connect(void) {
  struct sockaddr_in address;
  socklen_t bytes = sizeof(address);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  if (getsockname(fd, (struct sockaddr*)&address, &bytes) != 0 ||
      connect(client, (struct sockaddr*)&address, bytes) != 0)
    return 0;
  const int server = accept(fd, NULL, NULL);
  const struct linger at_once = {.l_onoff = 1}; /* else ports run out */
  setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  return close(client) == 0 && close(server) == 0;
}
static int do_aio(void) {
  struct iocb request = {.aio_fildes = (unsigned)fd,
                         .aio_lio_opcode = IOCB_CMD_PREAD,
                         .aio_buf = (unsigned long)page,
                         .aio_nbytes = PAGE_BYTES};
  struct iocb* requests[] = {&request};
  struct io_event event;
  return syscall(SYS_io_submit, aio, 1, requests) == 1 &&
         syscall(SYS_io_getevents, aio, 1, 1, &event, NULL) == 1;
}
static int do_direct(void) {
  return pread(fd, page, PAGE_BYTES, 0) == PAGE_BYTES;
}

static const struct {
  const char* name;
  void (*prepare)(void);
  int (*run)(void);
} steps[] = {
    {"read", open_file, do_read},
    {"write", open_file, do_write},
    {"read_anew", open_file, do_read_anew},
    {"open", open_file, do_open},
    {"seek", open_file, do_seek},
    {"stat", open_file, do_stat},
    {"sync", open_file, do_sync},
    {"write_and_sync", open_file, do_write_and_sync},
    {"map", open_file, do_map},
    {"poll", open_socket, do_poll},
    {"send", open_socket, do_send},
    {"rename", open_file, do_rename},
    {"fault", map_file, do_fault},
    {"fork", open_file, do_fork},
    {"ping", start_partner, do_ping},
    {"connect", listen_on_loopback, do_connect},
    {"aio", set_up_aio, do_aio},
    {"direct", open_direct, do_direct},
};

int main(int argc, char** argv) {
  const long count = argc == 4 ? atol(argv[3]) : 0;
  if (count <= 0) {
    fprintf(stderr, "usage: event_loop STEP FILE N\n");
    return 2;
  }
  path = argv[2];
  for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); ++i) {
    if (strcmp(steps[i].name, argv[1]) != 0)
      continue;
    steps[i].prepare();
    if (!steps[i].run()) {
      perror(argv[1]);
      return 1;
    }
    const double begin = now_ns();
    for (step = 1; step <= count; ++step)
      if (!steps[i].run()) {
        perror(argv[1]);
        return 1;
      }
    printf("ns_per_step %.1f\n", (now_ns() - begin) / (double)count);
    return 0;
  }
  fprintf(stderr, "event_loop: there is no step %s\n", argv[1]);
  return 2;
}
