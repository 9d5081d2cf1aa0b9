// SPDX-License-Identifier: BSD-3-Clause
//
// Reads which bytes of an image in QEMU's format QCOW2 (versions 2 and 3) hold which bytes of the
// guest's disk. Guests and users can forge an image: each offset is checked, and the work and the
// memory are bounded by a budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi.h"

namespace iotrail::capture::vm {

// Fills all of `bytes` from this position of the image; false: not all could be read.
using ReadAt = std::function<bool(std::uint64_t position, std::span<std::byte> bytes)>;

struct Qcow2Header {
  std::uint64_t guest_bytes = 0; // size of the guest's disk
  std::uint32_t cluster_bits = 0;
  std::uint64_t l1_position = 0;
  std::uint64_t l1_entries = 0;        // that the guest's disk needs
  std::uint64_t refcount_position = 0; // of the table of refcount blocks
  std::uint64_t refcount_bytes = 0;
  std::uint64_t keys_position = 0; // of the header of LUKS; 0: none
  std::uint64_t keys_bytes = 0;
  bool has_long_entries = false; // extended L2 entries, of 16 bytes
  bool has_data_file = false;    // the guest's bytes are in another file
  std::string backing;           // name of the backing file; empty: none
  std::string backing_format;    // empty: QEMU detects it

  std::uint64_t cluster_bytes() const { return std::uint64_t{1} << cluster_bits; }
  std::uint64_t entry_bytes() const { return has_long_entries ? 16 : 8; }
  std::uint64_t table_entries() const { return cluster_bytes() / entry_bytes(); } // of an L2 table
};

// Nothing: the image is no valid QCOW2.
std::optional<Qcow2Header> read_qcow2_header(const ReadAt& read);

// A range of the image file. `content` is a value of `vm_content`. `guest_position` is known of data;
// of compressed data, it is where the cluster begins.
struct ImageRange {
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;
  std::uint64_t guest_position = 0;
  iot_u32 content = 0;

  bool operator==(const ImageRange&) const = default;
};

// What may still be read and kept, for all images of a machine.
struct MapBudget {
  std::uint64_t table_bytes = 256U << 20U;
  std::size_t ranges = 512U << 10U;
};

struct ImageMap {
  std::vector<ImageRange> ranges; // sorted by position, without overlaps
  bool is_complete = true;        // false: the budget was spent, or a table could not be read
};

// `file_bytes`: size of the image file. Reduces the budget.
ImageMap read_qcow2_map(const ReadAt& read, std::uint64_t file_bytes, const Qcow2Header& header,
                        MapBudget& budget);

} // namespace iotrail::capture::vm
