// SPDX-License-Identifier: BSD-3-Clause
//
// A ring of io_uring by system calls alone, for tests that know each operation.
#pragma once

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>

namespace iotrail::live {

struct Completion { // io_uring_cqe without its flexible array
  std::uint64_t user_data;
  std::int32_t res;
  std::uint32_t flags;
};

class IoUring {
public:
  explicit IoUring(unsigned entries, unsigned flags = 0) {
    parameters_.flags = flags;
    fd_ = static_cast<int>(::syscall(SYS_io_uring_setup, entries, &parameters_));
    if (fd_ < 0)
      return;
    submissions_ = map(parameters_.sq_off.array + parameters_.sq_entries * sizeof(std::uint32_t),
                       IORING_OFF_SQ_RING);
    completions_ = map(parameters_.cq_off.cqes + parameters_.cq_entries * sizeof(Completion),
                       IORING_OFF_CQ_RING);
    entries_ = reinterpret_cast<io_uring_sqe*>(
        map(parameters_.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
  }

  // False: the machine refuses io_uring.
  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const io_uring_params& parameters() const { return parameters_; }

  // Puts an operation into the queue, which must have room.
  void push(const io_uring_sqe& operation) {
    const std::uint32_t tail =
        __atomic_load_n(submission(parameters_.sq_off.tail), __ATOMIC_RELAXED);
    const std::uint32_t place = tail & (parameters_.sq_entries - 1);
    entries_[place] = operation;
    submission(parameters_.sq_off.array)[place] = place;
    __atomic_store_n(submission(parameters_.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
  }

  // Submits the queue and waits for completions. Returns the result of io_uring_enter.
  long enter(unsigned submit, unsigned wait_for) const {
    return ::syscall(SYS_io_uring_enter, fd_, submit, wait_for,
                     wait_for != 0 ? IORING_ENTER_GETEVENTS : 0, nullptr, 0);
  }

  // Wakes the thread of a ring with SQPOLL, which sleeps after some idle time.
  void wake_poller() const {
    const std::uint32_t flags =
        __atomic_load_n(submission(parameters_.sq_off.flags), __ATOMIC_ACQUIRE);
    if (flags & IORING_SQ_NEED_WAKEUP)
      ::syscall(SYS_io_uring_enter, fd_, 1, 0, IORING_ENTER_SQ_WAKEUP, nullptr, 0);
  }

  std::optional<Completion> pop() {
    std::uint32_t* const head = completion(parameters_.cq_off.head);
    const std::uint32_t place = *head;
    if (place == __atomic_load_n(completion(parameters_.cq_off.tail), __ATOMIC_ACQUIRE))
      return std::nullopt;
    const auto* all = reinterpret_cast<const Completion*>(completions_ + parameters_.cq_off.cqes);
    const Completion found = all[place & (parameters_.cq_entries - 1)];
    __atomic_store_n(head, place + 1, __ATOMIC_RELEASE);
    return found;
  }

  // Runs one operation to its end and returns its result.
  int run(const io_uring_sqe& operation) {
    push(operation);
    if (enter(1, 1) != 1)
      return -errno;
    const auto done = pop();
    return done ? done->res : -EIO;
  }

private:
  char* map(std::size_t bytes, off_t offset) const {
    return static_cast<char*>(
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, offset));
  }
  std::uint32_t* submission(std::uint32_t offset) const {
    return reinterpret_cast<std::uint32_t*>(submissions_ + offset);
  }
  std::uint32_t* completion(std::uint32_t offset) const {
    return reinterpret_cast<std::uint32_t*>(completions_ + offset);
  }

  io_uring_params parameters_{};
  int fd_ = -1;
  char* submissions_ = nullptr;
  char* completions_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
};

} // namespace iotrail::live
