// SPDX-License-Identifier: BSD-3-Clause
//
// Asynchronous I/O with known trails, like trail_scenarios.py: async_scenarios DIRECTORY runs each
// scenario on a file with its name and prints the same JSON, without what the machine refuses.
#include <aio.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "io_uring.hpp"

namespace {

using iotrail::live::IoUring;

constexpr std::uint32_t kPage = 4096;
constexpr std::uint32_t kPages = 64;
constexpr std::uint32_t kDepth = 32;

alignas(kPage) char contents[kPage];

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

void require(bool is_so, const char* what) {
  if (!is_so)
    fail(what);
}

int open_file(const std::string& path, int flags = 0) {
  const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | flags, 0644);
  require(fd >= 0, "open");
  return fd;
}

// Causes: [[pid, cause, bytes], ...]. Fates: {pid: [written, to_device, absorbed, dropped]}.
struct Truth {
  std::string causes;
  std::string fates = "{}"; // "null": not checked
  bool is_refused = false;
};

Truth refused() {
  return {"", "", true};
}

std::string cause(pid_t pid, const char* name, std::uint64_t bytes) {
  return "[" + std::to_string(pid) + ", \"" + name + "\", " + std::to_string(bytes) + "]";
}

Truth direct(std::uint64_t pages) {
  return {"[" + cause(::getpid(), "direct", pages * kPage) + "]"};
}

Truth written_back(pid_t pid, std::uint64_t pages) {
  const std::string bytes = std::to_string(pages * kPage);
  return {"[" + cause(pid, "write_back", pages * kPage) + "]",
          "{\"" + std::to_string(pid) + "\": [" + bytes + ", " + bytes + ", 0, 0]}"};
}

// libaio by system calls alone.
class Aio {
public:
  Aio() { require(::syscall(SYS_io_setup, kDepth, &context_) == 0, "io_setup"); }

  void write(int fd, std::uint32_t page, std::uint32_t count) {
    std::array<iocb, kDepth> operations{};
    std::array<iocb*, kDepth> list{};
    for (std::uint32_t at = 0; at < count; ++at) {
      operations[at].aio_lio_opcode = IOCB_CMD_PWRITE;
      operations[at].aio_fildes = static_cast<std::uint32_t>(fd);
      operations[at].aio_buf = reinterpret_cast<std::uintptr_t>(contents);
      operations[at].aio_nbytes = kPage;
      operations[at].aio_offset = (page + at) * kPage;
      list[at] = &operations[at];
    }
    require(::syscall(SYS_io_submit, context_, count, list.data()) == count, "io_submit");
  }
  void reap(std::uint32_t count) {
    std::array<io_event, kDepth> done{};
    require(::syscall(SYS_io_getevents, context_, count, count, done.data(), nullptr) == count,
            "io_getevents");
    for (std::uint32_t at = 0; at < count; ++at)
      require(done[at].res == kPage, "an asynchronous write");
  }

private:
  aio_context_t context_ = 0;
};

Truth libaio_deep(const std::string& path) {
  const int fd = open_file(path, O_DIRECT);
  Aio aio;
  for (std::uint32_t page = 0; page < kPages; page += kDepth) {
    aio.write(fd, page, kDepth);
    aio.reap(kDepth);
  }
  return direct(kPages);
}

Truth libaio_cached(const std::string& path) {
  const int fd = open_file(path);
  Aio aio;
  aio.write(fd, 0, kDepth);
  aio.reap(kDepth);
  ::fsync(fd);
  return written_back(::getpid(), kDepth);
}

// A child that writes while its parent's operations are in flight.
Truth forked_in_flight(const std::string& path) {
  const int fd = open_file(path, O_DIRECT);
  Aio aio;
  aio.write(fd, 0, kDepth);
  const pid_t child = ::fork();
  if (child == 0) {
    const int own = open_file(path, O_DIRECT);
    ::_exit(::pwrite(own, contents, kPage, kPages * kPage) == kPage ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  require(status == 0, "the child's write");
  aio.reap(kDepth);
  return {"[" + cause(::getpid(), "direct", std::uint64_t{kDepth} * kPage) + ", " +
          cause(child, "direct", kPage) + "]"};
}

io_uring_sqe write_of(int fd, std::uint32_t page, std::uint8_t flags = 0) {
  io_uring_sqe sqe{};
  sqe.opcode = IORING_OP_WRITE;
  sqe.flags = flags;
  sqe.fd = fd;
  sqe.addr = reinterpret_cast<std::uintptr_t>(contents);
  sqe.len = kPage;
  sqe.off = std::uint64_t{page} * kPage;
  return sqe;
}

void reap(IoUring& ring, std::uint32_t count) {
  for (std::uint32_t reaped = 0; reaped < count;) {
    const auto done = ring.pop();
    if (!done) {
      ring.enter(0, 1);
      continue;
    }
    require(done->res >= 0, "an operation of io_uring");
    ++reaped;
  }
}

Truth uring_deep(const std::string& path) {
  IoUring ring(kDepth);
  if (!ring.is_open())
    return refused();
  const int fd = open_file(path, O_DIRECT);
  for (std::uint32_t page = 0; page < kPages; page += kDepth) {
    for (std::uint32_t at = 0; at < kDepth; ++at)
      ring.push(write_of(fd, page + at));
    require(ring.enter(kDepth, kDepth) == kDepth, "io_uring_enter");
    reap(ring, kDepth);
  }
  return direct(kPages);
}

Truth uring_cached(const std::string& path, std::uint8_t flags) {
  IoUring ring(kDepth);
  if (!ring.is_open())
    return refused();
  const int fd = open_file(path);
  for (std::uint32_t page = 0; page < kDepth; ++page)
    require(ring.run(write_of(fd, page, flags)) == kPage, "a write of io_uring");
  ::fsync(fd);
  return written_back(::getpid(), kDepth);
}

Truth uring_inline(const std::string& path) {
  return uring_cached(path, 0);
}

Truth uring_worker(const std::string& path) {
  return uring_cached(path, IOSQE_ASYNC);
}

// Truncates part of the last page. The page becomes dirty again without a write.
Truth uring_cut(const std::string& path) {
  constexpr std::uint8_t kFtruncate = 55; // since Linux 6.9
  constexpr auto kBtrfs = 0x9123683e;
  IoUring ring(kDepth);
  if (!ring.is_open())
    return refused();
  const int fd = open_file(path);
  for (const std::uint32_t page : {0U, 1U})
    require(ring.run(write_of(fd, page)) == kPage, "a write of io_uring");
  ::fsync(fd);
  io_uring_sqe cut{};
  cut.opcode = kFtruncate;
  cut.fd = fd;
  cut.off = kPage + 1000;
  if (ring.run(cut) != 0)
    return refused();
  ::fsync(fd);
  Truth truth = written_back(::getpid(), 2);
  if (struct statfs of;
      ::fstatfs(fd, &of) == 0 && of.f_type != kBtrfs) // btrfs leaves the page clean
    truth.causes.insert(truth.causes.size() - 1, ", " + cause(::getpid(), "along", kPage));
  return truth;
}

Truth uring_polled(const std::string& path) {
  IoUring ring(kDepth, IORING_SETUP_SQPOLL);
  if (!ring.is_open())
    return refused();
  const int fd = open_file(path, O_DIRECT);
  for (std::uint32_t page = 0; page < kDepth; ++page)
    ring.push(write_of(fd, page));
  for (std::uint32_t reaped = 0; reaped < kDepth;) {
    ring.wake_poller();
    if (ring.pop())
      ++reaped;
    else
      ::usleep(1000);
  }
  return direct(kDepth);
}

// Each write waits for the one before; a fsync ends the chain.
Truth uring_linked(const std::string& path) {
  IoUring ring(kDepth);
  if (!ring.is_open())
    return refused();
  const int fd = open_file(path);
  for (std::uint32_t page = 0; page < 8; ++page)
    ring.push(write_of(fd, page, IOSQE_IO_LINK));
  io_uring_sqe sync{};
  sync.opcode = IORING_OP_FSYNC;
  sync.fd = fd;
  ring.push(sync);
  require(ring.enter(9, 9) == 9, "io_uring_enter");
  reap(ring, 9);
  return written_back(::getpid(), 8);
}

Truth uring_fixed(const std::string& path) {
  IoUring ring(kDepth);
  if (!ring.is_open())
    return refused();
  const int fd = open_file(path, O_DIRECT);
  iovec buffer{contents, kPage};
  if (::syscall(SYS_io_uring_register, ring.fd(), IORING_REGISTER_FILES, &fd, 1) != 0 ||
      ::syscall(SYS_io_uring_register, ring.fd(), IORING_REGISTER_BUFFERS, &buffer, 1) != 0)
    return refused();
  for (std::uint32_t page = 0; page < kDepth; ++page) {
    io_uring_sqe sqe = write_of(0, page, IOSQE_FIXED_FILE);
    sqe.opcode = IORING_OP_WRITE_FIXED;
    require(ring.run(sqe) == kPage, "a write of io_uring");
  }
  return direct(kDepth);
}

// Cancels a read that waits for nothing, then writes as usual.
Truth uring_cancelled(const std::string& path) {
  IoUring ring(kDepth);
  int ends[2];
  if (!ring.is_open() || ::pipe(ends) != 0)
    return refused();
  io_uring_sqe wait = write_of(ends[0], 0);
  wait.opcode = IORING_OP_READ;
  wait.user_data = 1;
  ring.push(wait);
  require(ring.enter(1, 0) == 1, "io_uring_enter");
  io_uring_sqe cancel{};
  cancel.opcode = IORING_OP_ASYNC_CANCEL;
  cancel.addr = 1;
  cancel.user_data = 2;
  ring.push(cancel);
  require(ring.enter(1, 2) == 1, "io_uring_enter");
  while (ring.pop()) {
  }
  const int fd = open_file(path);
  require(ring.run(write_of(fd, 0)) == kPage, "a write of io_uring");
  ::fsync(fd);
  return written_back(::getpid(), 1);
}

// The second operation of a chain fails: the first is done, and none of the rest.
Truth uring_unlinked(const std::string& path) {
  IoUring ring(kDepth);
  if (!ring.is_open())
    return refused();
  const int fd = open_file(path, O_DIRECT);
  ring.push(write_of(fd, 0, IOSQE_IO_LINK));
  ring.push(write_of(-1, 1, IOSQE_IO_LINK));
  ring.push(write_of(fd, 2, IOSQE_IO_LINK));
  ring.push(write_of(fd, 3));
  require(ring.enter(4, 4) == 4, "io_uring_enter");
  int cancelled = 0;
  while (const auto done = ring.pop())
    cancelled += done->res == -ECANCELED ? 1 : 0;
  require(cancelled == 2, "a chain that breaks");
  return direct(1);
}

// Only the last operation of each chain has a completion, so the calls' layers lack most bytes.
Truth uring_silent(const std::string& path) {
  constexpr std::uint32_t kChain = 16;
  IoUring ring(kDepth);
  if (!ring.is_open())
    return refused();
  const int fd = open_file(path, O_DIRECT);
  for (std::uint32_t page = 0; page < kPages; ++page) {
    const bool is_last = (page + 1) % kChain == 0;
    ring.push(write_of(fd, page, is_last ? 0 : IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_LINK));
    if (!is_last)
      continue;
    require(ring.enter(kChain, 1) == kChain, "io_uring_enter");
    reap(ring, 1);
  }
  return {direct(kPages).causes, "null"};
}

// A ring with completions that are polled (IOPOLL), or wait for a call (DEFER_TASKRUN).
Truth uring_asked(const std::string& path, unsigned flags) {
  IoUring ring(kDepth, flags);
  if (!ring.is_open())
    return refused();
  const int fd = open_file(path, O_DIRECT);
  for (std::uint32_t page = 0; page < kDepth; ++page) { // so that no operation has to wait
    require(::pwrite(fd, contents, kPage, page * kPage) == kPage, "pwrite");
    ring.push(write_of(fd, page));
  }
  require(ring.enter(kDepth, 0) == kDepth, "io_uring_enter");
  for (std::uint32_t reaped = 0; reaped < kDepth;) {
    const auto done = ring.pop();
    if (!done)
      ring.enter(0, 1);
    else if (done->res == -EOPNOTSUPP)
      return refused();
    else
      require(done->res == kPage && ++reaped != 0, "a write of io_uring");
  }
  return direct(2ULL * kDepth);
}

Truth uring_iopoll(const std::string& path) {
  return uring_asked(path, IORING_SETUP_IOPOLL);
}

Truth uring_deferred(const std::string& path) {
  return uring_asked(path, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
}

// One operation receives all messages; each is written from its own buffer.
Truth uring_multishot(const std::string& path) {
  constexpr std::uint32_t kMessages = 4;
  constexpr std::uint16_t kGroup = 1;
  constexpr std::uint32_t kBuffers = kMessages + 1; // more than messages
  alignas(kPage) static char buffers[kBuffers * kPage];
  IoUring ring(kDepth);
  int ends[2];
  if (!ring.is_open() || ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
    return refused();
  const int fd = open_file(path, O_DIRECT);
  io_uring_sqe provide{};
  provide.opcode = IORING_OP_PROVIDE_BUFFERS;
  provide.fd = kBuffers;
  provide.addr = reinterpret_cast<std::uintptr_t>(buffers);
  provide.len = kPage;
  provide.buf_group = kGroup;
  io_uring_sqe receive{};
  receive.opcode = IORING_OP_RECV;
  receive.flags = IOSQE_BUFFER_SELECT;
  receive.fd = ends[0];
  receive.ioprio = IORING_RECV_MULTISHOT;
  receive.buf_group = kGroup;
  require(ring.run(provide) >= 0, "buffers for io_uring");
  ring.push(receive);
  require(ring.enter(1, 0) == 1, "io_uring_enter");
  for (std::uint32_t message = 0; message < kMessages; ++message) {
    require(::send(ends[1], contents, kPage, 0) == kPage && ring.enter(0, 1) == 0, "a message");
    const auto completion = ring.pop();
    if (!completion || completion->res != kPage)
      return refused();
    io_uring_sqe write = write_of(fd, message);
    write.addr = provide.addr + (completion->flags >> IORING_CQE_BUFFER_SHIFT) * kPage;
    require(ring.run(write) == kPage, "a write of io_uring");
  }
  return direct(kMessages);
}

// The submitting thread has ended before its operations complete.
Truth thread_gone(const std::string& path) {
  const int fd = open_file(path, O_DIRECT);
  Aio aio;
  std::thread([&] { aio.write(fd, 0, kDepth); }).join();
  aio.reap(kDepth);
  return direct(kDepth);
}

Truth posix_aio(const std::string& path) {
  const int fd = open_file(path);
  std::array<aiocb, 16> operations{};
  for (std::size_t at = 0; at < operations.size(); ++at) {
    operations[at].aio_fildes = fd;
    operations[at].aio_buf = contents;
    operations[at].aio_nbytes = kPage;
    operations[at].aio_offset = static_cast<off_t>(at * kPage);
    require(::aio_write(&operations[at]) == 0, "aio_write");
  }
  for (aiocb& operation : operations) {
    const aiocb* list[] = {&operation};
    while (::aio_error(&operation) == EINPROGRESS)
      ::aio_suspend(list, 1, nullptr);
    require(::aio_return(&operation) == kPage, "aio_return");
  }
  ::fsync(fd);
  return written_back(::getpid(), operations.size());
}

// In a mount namespace of its own, DIRECTORY/elsewhere/NAME is DIRECTORY/NAME.
Truth other_namespace(const std::string& path) {
  const std::string elsewhere = path.substr(0, path.rfind('/'));
  const std::string directory = elsewhere.substr(0, elsewhere.rfind('/'));
  ::mkdir(elsewhere.c_str(), 0755);
  const pid_t child = ::fork();
  if (child == 0) {
    for (int depth = 0; depth < 2; ++depth)
      require(::unshare(CLONE_NEWNS) == 0 &&
                  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0,
              "unshare");
    require(::mount(directory.c_str(), elsewhere.c_str(), nullptr, MS_BIND, nullptr) == 0, "mount");
    const int fd = open_file(path);
    for (std::uint32_t page = 0; page < 8; ++page)
      require(::pwrite(fd, contents, kPage, page * kPage) == kPage, "pwrite");
    ::fsync(fd);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  require(status == 0, "the child");
  return written_back(child, 8);
}

struct Scenario {
  const char* name;
  Truth (*run)(const std::string& path);
};
constexpr Scenario kScenarios[] = {{"libaio_deep", libaio_deep},
                                   {"libaio_cached", libaio_cached},
                                   {"forked_in_flight", forked_in_flight},
                                   {"thread_gone", thread_gone},
                                   {"uring_deep", uring_deep},
                                   {"uring_inline", uring_inline},
                                   {"uring_worker", uring_worker},
                                   {"uring_cut", uring_cut},
                                   {"uring_polled", uring_polled},
                                   {"uring_linked", uring_linked},
                                   {"uring_fixed", uring_fixed},
                                   {"uring_cancelled", uring_cancelled},
                                   {"uring_unlinked", uring_unlinked},
                                   {"uring_silent", uring_silent},
                                   {"uring_iopoll", uring_iopoll},
                                   {"uring_deferred", uring_deferred},
                                   {"uring_multishot", uring_multishot},
                                   {"posix_aio", posix_aio},
                                   {"elsewhere/other_namespace", other_namespace}};

} // namespace

int main(int argc, char** argv) {
  if (argc != 2)
    return 2;
  const char* separator = "{";
  for (const Scenario& scenario : kScenarios) {
    const Truth truth = scenario.run(std::string(argv[1]) + "/" + scenario.name);
    if (truth.is_refused)
      continue;
    std::printf("%s\"%s\": [%s, %s]", separator, scenario.name, truth.causes.c_str(),
                truth.fates.c_str());
    std::fflush(stdout);
    separator = ",\n";
  }
  std::printf("}\n");
  return 0;
}
