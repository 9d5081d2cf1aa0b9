// SPDX-License-Identifier: BSD-3-Clause
//
// The file of include/iotrail/producer.h: a head, lanes of records. Numbers have the byte order of
// the machine. A thread pushes into its own lane, and into others once that is full; several threads
// may share one. A push takes its place in a lane by counting `reserved` up, fills its record, and
// sets `ready`. So whatever ends the process, this is lost: of each lane the places taken that are
// not ready, and `skipped`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "iotrail/producer.h"

namespace iotrail::producer {

inline constexpr char kMagic[8] = {'I', 'O', 'T', 'P', 'R', 'O', 'D', '1'};
inline constexpr std::uint32_t kLanes = 16;
inline constexpr std::size_t kNameBytes = 64;

struct Device {
  std::uint64_t bytes;
  std::uint32_t is_ready; // the description is whole
  std::uint32_t unused;
  char name[kNameBytes];
  char model[kNameBytes];
};

struct alignas(64) Lane {
  std::uint64_t reserved; // places taken; those from the lane's room on do not exist
  std::uint64_t skipped;  // pushes that did not fit, and completions of such I/O
};

struct Head {
  char magic[8];
  std::uint32_t head_bytes; // the records begin there
  std::uint32_t record_bytes;
  std::uint32_t lanes;
  std::uint32_t pid;
  std::uint64_t lane_records; // room of each lane
  std::int64_t monotonic_to_real_ns;
  std::uint32_t has_ended; // the producer was destroyed
  std::uint32_t devices;   // in use, or more
  char comm[16];
  char command[256];
  Device device[IOTRAIL_DEVICES_MAX];
  Lane lane[kLanes];
};

enum Kind : std::uint32_t { kIo = 1, kCompletion = 2 };

struct alignas(64) Record {
  std::uint64_t ready; // 1: all below is written
  std::uint64_t at_ns; // CLOCK_MONOTONIC
  std::uint64_t io;    // its number: lane + 1 in the upper bits, place in the lane in the lower 40
  std::uint64_t sector;
  std::uint32_t bytes;
  std::uint32_t device;
  std::uint32_t kind;
  std::uint32_t operation; // iotrail_operation
  std::uint32_t flags;
  std::int32_t error; // an errno
  std::uint32_t tid;
};
static_assert(sizeof(Record) == 64);

inline constexpr unsigned kPlaceBits = 40;

} // namespace iotrail::producer
