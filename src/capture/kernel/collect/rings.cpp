// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/collect/rings.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace iotrail::capture::kernel {
namespace {

std::size_t page_bytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

constexpr std::uint32_t kDefaultSlots = 1U
                                        << 15U; // per CPU: 4 MiB, 0.1 s at 300,000 events a second
constexpr std::uint32_t kSmallestSlots = 64;

} // namespace

std::uint32_t slots_for(std::size_t ring_bytes) {
  if (ring_bytes == 0)
    return kDefaultSlots;
  const std::size_t slots =
      std::bit_floor(std::max<std::size_t>(ring_bytes / IOT_KERNEL_SLOT_BYTES, 1));
  return std::clamp<std::uint32_t>(static_cast<std::uint32_t>(slots), kSmallestSlots, 1U << 24U);
}

std::uint32_t message_bytes_for(std::uint32_t slots_per_cpu) {
  constexpr std::uint32_t kMost = 1U << 30U;
  return std::clamp<std::uint32_t>(std::min(slots_per_cpu, kMost / IOT_KERNEL_SLOT_BYTES) *
                                       IOT_KERNEL_SLOT_BYTES,
                                   IOT_MESSAGE_BYTES, kMost);
}

Result<Mapping> Mapping::make(int fd, std::size_t bytes, int protection, std::size_t offset) {
  void* data = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (data == MAP_FAILED)
    return fail_errno("mapping the kernel's rings");
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.bytes_ = bytes;
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr)
    ::munmap(data_, bytes_);
}

Result<RecordRings> RecordRings::map(int slots_fd, std::span<iot_cpu> cpus,
                                     std::uint32_t slots_per_cpu) {
  const std::size_t slots_bytes = cpus.size() * slots_per_cpu * sizeof(RecordSlot);
  auto slots = Mapping::make(slots_fd, whole_pages(slots_bytes), PROT_READ, 0);
  if (!slots)
    return std::unexpected(slots.error());
  RecordRings rings;
  rings.slots_ = std::move(*slots);
  rings.cpus_ = cpus;
  rings.slots_per_cpu_ = slots_per_cpu;
  return rings;
}

std::uint64_t RecordRings::produced() const {
  std::uint64_t produced = 0;
  for (const iot_cpu& cpu : cpus_)
    produced += __atomic_load_n(&cpu.produced, __ATOMIC_RELAXED);
  return produced;
}

std::uint64_t RecordRings::left_out() const {
  std::uint64_t left_out = 0;
  for (const iot_cpu& cpu : cpus_)
    left_out += __atomic_load_n(&cpu.left_out, __ATOMIC_RELAXED);
  return left_out;
}

std::uint64_t RecordRings::lost(iot_u32 layer) const {
  std::uint64_t lost = 0;
  for (const iot_cpu& cpu : cpus_)
    lost += __atomic_load_n(&cpu.ring.lost[layer - 1], __ATOMIC_RELAXED);
  return lost;
}

std::uint64_t RecordRings::head(std::uint32_t cpu) const {
  return __atomic_load_n(&cpus()[cpu].ring.head, __ATOMIC_ACQUIRE);
}

std::uint64_t RecordRings::tail(std::uint32_t cpu) const {
  return __atomic_load_n(&cpus()[cpu].ring.tail, __ATOMIC_RELAXED);
}

void RecordRings::release(std::uint32_t cpu, std::uint64_t tail) {
  __atomic_store_n(&cpus_[cpu].ring.tail, tail, __ATOMIC_RELEASE);
}

std::span<const RecordSlot> RecordRings::slots(std::uint32_t cpu, std::uint64_t position,
                                               std::uint64_t end) const {
  const auto* own =
      reinterpret_cast<const RecordSlot*>(slots_.data()) + std::size_t{cpu} * slots_per_cpu_;
  const std::size_t at = position & (slots_per_cpu_ - 1);
  return {own + at, std::min<std::size_t>(end - position, slots_per_cpu_ - at)};
}

Result<StringRing> StringRing::map(int fd, std::size_t bytes) {
  auto consumer = Mapping::make(fd, page_bytes(), PROT_READ | PROT_WRITE, 0);
  if (!consumer)
    return std::unexpected(consumer.error());
  auto data = Mapping::make(fd, page_bytes() + 2 * bytes, PROT_READ, page_bytes());
  if (!data)
    return std::unexpected(data.error());
  StringRing ring;
  ring.consumer_ = std::move(*consumer);
  ring.data_ = std::move(*data);
  ring.bytes_ = bytes;
  return ring;
}

std::uint64_t StringRing::end() const {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(data_.data()), __ATOMIC_ACQUIRE);
}

const std::byte* StringRing::at(std::uint64_t position) const {
  return data_.data() + page_bytes() + (position & (bytes_ - 1));
}

std::uint32_t StringRing::load(std::uint64_t position) const {
  return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(at(position)), __ATOMIC_ACQUIRE);
}

void StringRing::release() {
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(consumer_.data()), position_, __ATOMIC_RELEASE);
}

} // namespace iotrail::capture::kernel
