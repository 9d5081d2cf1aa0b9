// SPDX-License-Identifier: BSD-3-Clause
//
// For the tests: a small QCOW2 image in memory.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "capture/vm/qcow2.hpp"

namespace iotrail::capture::vm {

class TestImage {
public:
  static constexpr std::uint32_t kClusterBits = 10;
  static constexpr std::uint64_t kCluster = 1U << kClusterBits;
  static constexpr std::uint64_t kEntries = kCluster / 8; // of an L2 table
  static constexpr std::uint64_t kGuestBytes = kEntries * kCluster * 3 / 2;
  // Clusters of the file.
  static constexpr std::uint64_t kRefcountTable = 1; // its block is behind it
  static constexpr std::uint64_t kL1 = 3;
  static constexpr std::uint64_t kL2 = 4;
  static constexpr std::uint64_t kClusters = 20;

  TestImage() : bytes(kClusters * kCluster) {
    put<std::uint32_t>(0, 0x514649fb);
    put<std::uint32_t>(4, 3);
    put<std::uint32_t>(20, kClusterBits);
    put<std::uint64_t>(24, kGuestBytes);
    put<std::uint32_t>(36, 2);
    put<std::uint64_t>(40, kL1 * kCluster);
    put<std::uint64_t>(48, kRefcountTable * kCluster);
    put<std::uint32_t>(56, 1);
    put<std::uint32_t>(96, 4);
    put<std::uint32_t>(100, 104);
    put<std::uint64_t>(kRefcountTable * kCluster, 2 * kCluster);
    set_l1(0, kL2 * kCluster);
  }

  template <std::unsigned_integral T> void put(std::uint64_t position, T value) {
    const T big = std::byteswap(value);
    std::memcpy(&bytes.at(position + sizeof(T) - 1) - (sizeof(T) - 1), &big, sizeof(T));
  }
  void put_text(std::uint64_t position, std::string_view text) {
    std::memcpy(&bytes.at(position), text.data(), text.size());
  }
  void set_l1(std::uint64_t index, std::uint64_t position) {
    put(kL1 * kCluster + 8 * index, position);
  }
  void set_entry(std::uint64_t guest_cluster, std::uint64_t entry) {
    put(kL2 * kCluster + 8 * guest_cluster, entry);
  }
  void set_long_entry(std::uint64_t guest_cluster, std::uint64_t entry) {
    put(kL2 * kCluster + 16 * guest_cluster, entry);
  }
  void map(std::uint64_t guest_cluster, std::uint64_t cluster) {
    set_entry(guest_cluster, cluster * kCluster);
  }
  // `sectors`: that it begins in or continues in.
  void set_compressed(std::uint64_t guest_cluster, std::uint64_t position, std::uint64_t sectors) {
    constexpr std::uint32_t kPositionBits = 62 - (kClusterBits - 8);
    set_entry(guest_cluster, (1ULL << 62U) | ((sectors - 1) << kPositionBits) | position);
  }
  void set_features(std::uint64_t features) { put(72, features); }
  void set_backing(const std::string& name, const std::string& format) {
    put<std::uint32_t>(104, 0xe2792aca);
    put<std::uint32_t>(108, static_cast<std::uint32_t>(format.size()));
    put_text(112, format);
    put<std::uint64_t>(8, 512);
    put<std::uint32_t>(16, static_cast<std::uint32_t>(name.size()));
    put_text(512, name);
  }

  ReadAt reader() const {
    return [this](std::uint64_t position, std::span<std::byte> into) {
      if (position > bytes.size() || into.size() > bytes.size() - position)
        return false;
      std::memcpy(into.data(), bytes.data() + position, into.size());
      return true;
    };
  }

  std::vector<std::byte> bytes;
};

} // namespace iotrail::capture::vm
