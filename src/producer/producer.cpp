// SPDX-License-Identifier: BSD-3-Clause
//
// The library that other programs link: no exceptions, and nothing of the rest of iotrail.
#include "iotrail/producer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>

#include "producer/producer_file.hpp"

using namespace iotrail::producer;

struct iotrail_producer {
  int fd;
  std::size_t file_bytes;
  Head* head;
  Record* records;
};

namespace {

constexpr std::uint64_t kDefaultRecords = 1U << 20U;
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kHeadBytes = (sizeof(Head) + kPageBytes - 1) / kPageBytes * kPageBytes;

std::uint64_t now_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

template <class T> std::atomic_ref<T> shared(T& value) {
  return std::atomic_ref<T>(value);
}

// Threads are spread over the lanes in the order of their first push.
std::uint32_t own_lane() {
  static std::atomic<std::uint32_t> threads{0};
  thread_local const std::uint32_t lane = threads.fetch_add(1, std::memory_order_relaxed) % kLanes;
  return lane;
}

std::uint32_t own_tid() {
  thread_local const auto tid = static_cast<std::uint32_t>(::gettid());
  return tid;
}

void read_small_file(const char* path, char* text, std::size_t room) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = fd < 0 ? 0 : ::read(fd, text, room - 1);
  if (fd >= 0)
    ::close(fd);
  text[std::max<ssize_t>(bytes, 0)] = '\0';
}

void describe_process(Head& head) {
  head.pid = static_cast<std::uint32_t>(::getpid());
  read_small_file("/proc/self/comm", head.comm, sizeof(head.comm));
  if (char* end = std::strchr(head.comm, '\n'))
    *end = '\0';
  char command[sizeof(head.command)]{};
  read_small_file("/proc/self/cmdline", command, sizeof(command));
  for (std::size_t i = 0; i + 2 < sizeof(command); ++i) // arguments end in zero bytes
    if (command[i] == '\0' && command[i + 1] != '\0')
      command[i] = ' ';
  std::memcpy(head.command, command, sizeof(command));
}

void copy_name(char* to, const char* from) {
  if (from != nullptr)
    std::strncpy(to, from, kNameBytes - 1);
}

int map_file(iotrail_producer& producer, std::uint64_t lane_records) {
  producer.file_bytes = kHeadBytes + kLanes * lane_records * sizeof(Record);
  // A full disk must not end the program later, by SIGBUS.
  if (const int error = ::posix_fallocate(producer.fd, 0, static_cast<off_t>(producer.file_bytes)))
    return error;
  void* at =
      ::mmap(nullptr, producer.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, producer.fd, 0);
  if (at == MAP_FAILED)
    return errno;
  // A fault on a page of a file costs ten times as much as the pushes into it.
  ::madvise(at, producer.file_bytes, MADV_POPULATE_WRITE);
  producer.head = static_cast<Head*>(at);
  producer.records = reinterpret_cast<Record*>(static_cast<std::byte*>(at) + kHeadBytes);
  return 0;
}

void fill_head(Head& head, std::uint64_t lane_records) {
  head.head_bytes = kHeadBytes;
  head.record_bytes = sizeof(Record);
  head.lanes = kLanes;
  head.lane_records = lane_records;
  head.monotonic_to_real_ns =
      static_cast<std::int64_t>(now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC));
  describe_process(head);
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(head.magic, kMagic, sizeof(kMagic));
}

// A place in a lane, first of the thread's own; nullptr: all are full, and the push is counted.
Record* reserve(iotrail_producer& producer, std::uint64_t& number) {
  Head& head = *producer.head;
  const std::uint32_t own = own_lane();
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    const std::uint32_t at = (own + i) % kLanes;
    auto reserved = shared(head.lane[at].reserved);
    if (reserved.load(std::memory_order_relaxed) >= head.lane_records)
      continue;
    const std::uint64_t place = reserved.fetch_add(1, std::memory_order_relaxed);
    if (place >= head.lane_records)
      continue;
    number = (std::uint64_t{at} + 1) << kPlaceBits | place;
    return &producer.records[at * head.lane_records + place];
  }
  shared(head.lane[own].skipped).fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void make_ready(Record& record) {
  record.at_ns = now_ns(CLOCK_MONOTONIC);
  record.tid = own_tid();
  shared(record.ready).store(1, std::memory_order_release);
}

void close_file(iotrail_producer* producer) {
  if (producer->head != nullptr)
    ::munmap(producer->head, producer->file_bytes);
  if (producer->fd >= 0)
    ::close(producer->fd);
  delete producer;
}

} // namespace

int iotrail_producer_create(const char* path, uint64_t records, iotrail_producer** made) {
  *made = nullptr;
  if (records > IOTRAIL_RECORDS_MAX)
    return EINVAL;
  auto* producer = new (std::nothrow) iotrail_producer{-1, 0, nullptr, nullptr};
  if (producer == nullptr)
    return ENOMEM;
  producer->fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
  int error = producer->fd < 0 ? errno : 0;
  const std::uint64_t lane_records =
      ((records == 0 ? kDefaultRecords : records) + kLanes - 1) / kLanes;
  if (error == 0) {
    error = map_file(*producer, lane_records);
    if (error != 0)
      ::unlink(path);
  }
  if (error != 0) {
    close_file(producer);
    return error;
  }
  fill_head(*producer->head, lane_records);
  *made = producer;
  return 0;
}

uint32_t iotrail_producer_add_device(iotrail_producer* producer, const char* name,
                                     const char* model, uint64_t bytes) {
  Head& head = *producer->head;
  const std::uint32_t number = shared(head.devices).fetch_add(1, std::memory_order_relaxed);
  if (number >= IOTRAIL_DEVICES_MAX)
    return UINT32_MAX;
  Device& device = head.device[number];
  device.bytes = bytes;
  copy_name(device.name, name);
  copy_name(device.model, model);
  shared(device.is_ready).store(1, std::memory_order_release);
  return number;
}

uint64_t iotrail_producer_push_io(iotrail_producer* producer, uint32_t device,
                                  enum iotrail_operation operation, uint32_t flags, uint64_t sector,
                                  uint32_t bytes) {
  std::uint64_t number = 0;
  Record* record = reserve(*producer, number);
  if (record == nullptr)
    return 0;
  record->io = number;
  record->sector = sector;
  record->bytes = bytes;
  record->device = device;
  record->kind = kIo;
  record->operation = static_cast<std::uint32_t>(operation);
  record->flags = flags;
  make_ready(*record);
  return number;
}

void iotrail_producer_push_completion(iotrail_producer* producer, uint64_t io, uint32_t bytes,
                                      int error) {
  if (io == 0) {
    shared(producer->head->lane[own_lane()].skipped).fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::uint64_t number = 0;
  Record* record = reserve(*producer, number);
  if (record == nullptr)
    return;
  record->io = io;
  record->bytes = bytes;
  record->kind = kCompletion;
  record->error = error < 0 ? -error : error;
  make_ready(*record);
}

uint64_t iotrail_producer_lost(const iotrail_producer* producer) {
  Head& head = *producer->head;
  std::uint64_t lost = 0;
  for (Lane& lane : head.lane)
    lost += shared(lane.skipped).load(std::memory_order_relaxed);
  return lost;
}

int iotrail_producer_flush(iotrail_producer* producer) {
  return ::fdatasync(producer->fd) == 0 ? 0 : errno;
}

int iotrail_producer_destroy(iotrail_producer* producer) {
  shared(producer->head->has_ended).store(1, std::memory_order_release);
  const int error = iotrail_producer_flush(producer);
  close_file(producer);
  return error;
}
