// SPDX-License-Identifier: BSD-3-Clause
//
// The result of the engine: bytes on their way to or from a device, each with its cause. The bytes
// of all links with completed_ns add up to what the devices completed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trail/state/fact.hpp"

namespace iotrail::trail {

// Causes of device I/O. Queries show these names; sentences say the words that follow.
#define IOTRAIL_CAUSES(CAUSE)                                                                      \
  CAUSE(direct, "direct", "the operation moved them itself, past the page cache")                  \
  CAUSE(write_back, "written back",                                                                \
        "the operation wrote them into the page cache, and they were written back")                \
  CAUSE(mapped, "through mappings", "the program stored them through a mapping")                   \
  CAUSE(rounding, "rest of pages",                                                                 \
        "they share a page with bytes that were written or read, and went along")                  \
  CAUSE(along, "rest of folios", "their folio became dirty as a whole, and they went along")       \
  CAUSE(read, "read", "the operation asked for them")                                              \
  CAUSE(read_ahead, "read ahead", "they were read ahead of what the operation asked for")          \
  CAUSE(mapped_read, "mapped", "the program touched memory that is mapped to them")                \
  CAUSE(outside, "by others", "a process that is not in the trace wrote or read them")             \
  CAUSE(metadata, "metadata", "metadata of the file system, for the operation")                    \
  CAUSE(discard, "discarded", "the operation gave the space back, or had it filled with zeroes")   \
  CAUSE(request, "without bios",                                                                   \
        "the request belongs to the operation; its bios are not in the trace")                     \
  CAUSE(compressed, "compressed",                                                                  \
        "the operation wrote them or asked for them; on the device, they are compressed")          \
  CAUSE(                                                                                           \
      kernel_thread, "by kernel threads",                                                          \
      "a thread of the kernel did it, for no operation in the trace: it initialised, gave back, "  \
      "or repaired")                                                                               \
  CAUSE(dirty_before, "dirty before",                                                              \
        "no process in the trace is known to have written their page: dirty before, by "           \
        "others, or layer cache was not recorded")                                                 \
  CAUSE(other_metadata, "others' metadata",                                                        \
        "metadata of the file system, for no process in the trace")                                \
  CAUSE(swap, "swap", "memory that was swapped")                                                   \
  CAUSE(no_bio, "bio unknown", "their bio is not in the trace: queued before it, or by others")    \
  CAUSE(unknown, "no known cause", "no cause in the trace is known")

enum class Cause : std::uint8_t {
#define CAUSE(name, words, meaning) name,
  IOTRAIL_CAUSES(CAUSE)
#undef CAUSE
};
std::string_view cause_name(Cause cause);
std::string_view cause_words(Cause cause); // plain words: "written back"
std::string_view cause_meaning(Cause cause);
inline constexpr Cause kLastCause = Cause::unknown;

// A cause without an operation: such bytes are remainders.
constexpr bool is_remainder(Cause cause) {
  return cause >= Cause::dirty_before;
}

// exact: the kernel reported it, or nothing else is possible. shared: another write of the same
// bytes may be the cause. inferred: a deciding fact is not in the trace.
enum class Confidence : std::uint8_t { exact, shared, inferred };
std::string_view confidence_name(Confidence confidence);

inline constexpr std::uint8_t kNotWrittenBack = UINT8_MAX;
inline constexpr std::size_t kNotAhead = SIZE_MAX;

// A part of one bio with one cause. Times are CLOCK_MONOTONIC.
struct Link {
  std::uint64_t queued_ns = 0; // when the bio was queued
  std::uint64_t inserted_ns =
      0; // when it was put into a scheduler's queue; 0: unknown, or no scheduler
  std::uint64_t issued_ns = 0;      // when its request went to the device
  std::uint64_t completed_ns = 0;   // 0: not in the trace
  std::uint64_t stored_ns = 0;      // of bytes written back: when they entered the cache; else 0
  std::uint64_t op_id = 0;          // the operation that caused them; 0: unknown
  std::uint64_t by_op = 0;          // the operation that queued the bio, such as a sync; 0: none
  std::uint64_t begin = 0;          // on the device, in bytes
  std::uint64_t offset = kNoOffset; // in the file; kNoOffset: unknown, or none
  std::uint64_t used_bytes = 0;     // of read_ahead: bytes read later
  std::uint64_t late_bytes = 0;     // of these: read by a call that began before they arrived
  std::uint64_t late_ns = 0;        // how long such calls waited for them, without overlaps
  std::uint64_t bytes = 0;
  std::uint64_t plain_bytes = 0; // of compressed data: its bytes in the file; 0: others, or unknown
  std::size_t ahead_bio = kNotAhead; // the same for all links of a bio that reads ahead
  std::uint32_t pid = 0;             // the process that caused them; 0: unknown
  std::uint32_t by_pid = 0;          // the process that queued the bio
  std::uint32_t file = 0;
  std::uint32_t device = 0;
  std::int32_t error = 0;
  std::uint8_t operation = 0;            // of the block layer, as numbered in schema/values.def
  std::uint8_t reason = kNotWrittenBack; // of pages written back: the trigger, likewise
  bool is_repeat = false; // the device above had a bio for the same bytes, with a link of its own
  Cause cause = Cause::unknown;
  Confidence confidence = Confidence::exact;

  // The length of its range of the file.
  std::uint64_t file_bytes() const { return plain_bytes != 0 ? plain_bytes : bytes; }
};

// The fate of the bytes that a process wrote into the pages of a file: written == the sum of the
// others.
struct Fate {
  std::uint32_t pid = 0;
  std::uint32_t file = 0;
  std::uint64_t written = 0;
  std::uint64_t mapped = 0;    // of these: stored through a mapping
  std::uint64_t outside = 0;   // of these: by a process that is not in the trace
  std::uint64_t to_device = 0; // submitted to a device, which did not fail
  std::uint64_t failed = 0;    // submitted to a device, which failed
  std::uint64_t absorbed = 0;  // overwritten before that
  std::uint64_t dropped = 0;   // dropped with their pages: truncated, deleted
  std::uint64_t inlined = 0;   // a sync had them written inside metadata of the file system
  std::uint64_t pending = 0;   // still in the cache at the end of the recording
};

// A call that needed read-ahead bytes of another operation before they arrived.
struct LateRead {
  std::uint64_t op_id = 0;
  std::uint64_t by_op = 0; // the operation with the read-ahead that arrived last; 0: unknown
  std::uint64_t bytes = 0; // bytes that had not arrived when it began
  std::uint64_t late_ns =
      0; // until all arrived, from its begin or from the queueing of the first bio
  std::uint32_t pid = 0;
  std::uint32_t file = 0;
};

struct Trails {
  std::vector<Link>
      links; // sorted by the queueing of their bios; those without a bio are out of order
  std::vector<LateRead> late_reads;
  std::vector<Fate> fates;
};

} // namespace iotrail::trail
