// SPDX-License-Identifier: BSD-3-Clause
//
// A block device of the test, and a recording of a child's operations on it or on another device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "block_device.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {

inline constexpr std::uint64_t kDeviceBytes = 16U << 20U;
inline constexpr std::uint32_t kBlockBytes = 4096;
inline constexpr std::uint64_t kBlockSectors = kBlockBytes / kSectorBytes;
inline constexpr std::uint64_t kOperationBits = 0xff;

class KernelBlockDevice : public testing::Test {
protected:
  void SetUp() override { make_device(kBlockBytes); }

  void make_device(std::uint32_t block_bytes, std::uint64_t bytes = kDeviceBytes) {
    make_device_over(folder_ / "disk", block_bytes, bytes);
  }

  void make_device_over(const std::filesystem::path& file, std::uint32_t block_bytes,
                        std::uint64_t bytes) {
    device_.reset();
    std::ofstream{file}.close();
    std::filesystem::resize_file(file, bytes);
    device_.emplace(file, block_bytes);
    block_bytes_ = block_bytes;
  }

  // Records `body` with these events; none: the default events.
  void record(const std::vector<std::string>& events,
              const std::function<int(DirectDevice&)>& body) {
    if (!device_->refusal().empty())
      return;
    record_of(device_->path(), events, body);
  }

  void record_of(const std::string& path, const std::vector<std::string>& events,
                 const std::function<int(DirectDevice&)>& body) {
    recording_ = Recording::with_missed_completions(
        {.layers = {schema::Layer::syscall, schema::Layer::block}, .events = events}, [&] {
          DirectDevice disk(path, block_bytes_);
          return disk.fd() < 0 ? errno : body(disk);
        });
    if (!recording_.refusal().empty())
      return;
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
    EXPECT_EQ(recording_.lost(), missed());
  }

  // Completions that the kernel did not report: docs/adr/0007.
  std::uint64_t missed() const { return recording_.counter(IOT_COUNTER_kernel_completion_missed); }

  std::vector<Row> of_device(const std::string& table) const {
    return recording_.rows(table, "device", device_->device());
  }

  std::string refusal() const {
    return device_->refusal().empty() ? recording_.refusal() : device_->refusal();
  }

  ScratchDirectory folder_;
  std::optional<LoopDevice> device_;
  std::uint32_t block_bytes_ = kBlockBytes;
  Recording recording_;
};

#define RECORD_DEVICE(...)                                                                         \
  do {                                                                                             \
    record(__VA_ARGS__);                                                                           \
    if (!refusal().empty())                                                                        \
      GTEST_SKIP() << refusal();                                                                   \
    ASSERT_EQ(recording_.status(), 0);                                                             \
  } while (false)

struct Piece {
  std::uint64_t operation;
  std::uint64_t sector;
  std::uint64_t bytes;
  auto operator<=>(const Piece&) const = default;
};

inline std::vector<Piece> pieces_of(const std::vector<Row>& rows) {
  std::vector<Piece> pieces;
  for (const Row& row : rows)
    pieces.push_back({row.u("flags") & kOperationBits, row.u("sector"), row.u("bytes")});
  std::ranges::sort(pieces);
  return pieces;
}

inline void PrintTo(const Piece& piece, std::ostream* out) {
  *out << piece.operation << ':' << piece.sector << '+' << piece.bytes;
}

} // namespace iotrail::live
