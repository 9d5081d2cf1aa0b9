// SPDX-License-Identifier: BSD-3-Clause
//
// The collector's side of the kernel's rings (capture/ring.h): records of fixed size in one ring
// per CPU, and messages in BPF's own ring buffer. The layout of the latter is part of the kernel's
// interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/abi/message_abi.h"

namespace iotrail::capture::kernel {

// Memory shared with the kernel.
class Mapping {
public:
  static Result<Mapping> make(int fd, std::size_t bytes, int protection, std::size_t offset);
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

struct RecordSlot {
  alignas(8) std::byte bytes[IOT_KERNEL_SLOT_BYTES];
};

// Slots in the ring of a CPU with this many bytes; 0: the default.
std::uint32_t slots_for(std::size_t ring_bytes);

// Size of the ring of messages beside such rings: as large as one of them, since a burst of long
// paths is also one of records.
std::uint32_t message_bytes_for(std::uint32_t slots_per_cpu);

class RecordRings {
public:
  // `cpus` is already shared with the programs and outlives the rings.
  static Result<RecordRings> map(int slots_fd, std::span<iot_cpu> cpus,
                                 std::uint32_t slots_per_cpu);

  std::span<const iot_cpu> cpus() const { return cpus_; }
  std::size_t memory_bytes() const { return slots_.bytes(); }

  // Events so far: to be recorded; of these, left out by the programs; of these, of the layer,
  // without a slot.
  std::uint64_t produced() const;
  std::uint64_t left_out() const;
  std::uint64_t lost(iot_u32 layer) const;

  std::uint64_t head(std::uint32_t cpu) const; // acquire: slots below it are reserved
  std::uint64_t tail(std::uint32_t cpu) const;
  void release(std::uint32_t cpu, std::uint64_t tail); // the slots below it may be used again

  // Slots from `position` on, up to `end` or the last one before the ring begins anew; at least
  // one. A slot holds a record once its tag says so.
  std::span<const RecordSlot> slots(std::uint32_t cpu, std::uint64_t position,
                                    std::uint64_t end) const;

private:
  Mapping slots_;
  std::span<iot_cpu> cpus_;
  std::uint32_t slots_per_cpu_ = 0;
};

class StringRing {
public:
  static Result<StringRing> map(int fd, std::size_t bytes);

  // The position up to which messages are reserved.
  std::uint64_t end() const;
  std::size_t memory_bytes() const { return data_.bytes(); }

  // Hands messages to `take(const iot_message&, bytes)` until `end`; stops before one that is still being written: false.
  template <class Take> bool consume(std::uint64_t end, Take&& take) {
    while (position_ < end) {
      const std::uint32_t header = load(position_);
      if (header & kBusy)
        return false;
      const std::uint32_t bytes = header & ~(kBusy | kDiscarded);
      if (!(header & kDiscarded))
        take(*reinterpret_cast<const iot_message*>(at(position_) + kHeaderBytes));
      position_ += (bytes + kHeaderBytes + 7) / 8 * 8;
      release();
    }
    return true;
  }

private:
  static constexpr std::uint32_t kBusy = 1U << 31U;
  static constexpr std::uint32_t kDiscarded = 1U << 30U;
  static constexpr std::size_t kHeaderBytes = 8;

  const std::byte* at(std::uint64_t position) const;
  std::uint32_t load(std::uint64_t position) const;
  void release();

  Mapping consumer_; // our position
  Mapping data_; // the producer's position, then the messages twice in a row, so that none wraps
  std::size_t bytes_ = 0;
  std::uint64_t position_ = 0;
};

} // namespace iotrail::capture::kernel
