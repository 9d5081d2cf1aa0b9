// SPDX-License-Identifier: BSD-3-Clause
//
// The only way to turn bytes from a disk into numbers: a cursor that cannot leave its span. After
// the first read past the end, all reads return 0 and ok() is false, so a decoder checks once, at
// its end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace iotrail {

using ByteSpan = std::span<const std::byte>;

// The kernel's unit of block counts (sysfs, st_blocks, requests), independent of the block sizes of
// devices and file systems.
inline constexpr std::uint64_t kSectorBytes = 512;

class ByteReader {
public:
  explicit ByteReader(ByteSpan bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  // Marks the data as invalid, like a read past the end.
  void fail() { ok_ = false; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  std::size_t position() const { return position_; }

  template <class T>
    requires std::is_trivially_copyable_v<T>
  T read() {
    T value{};
    if (const ByteSpan from = take(sizeof(T)); ok_)
      std::memcpy(&value, from.data(), sizeof(T));
    return value;
  }

  // Unsigned LEB128.
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (position_ >= bytes_.size())
        break;
      const auto byte = static_cast<std::uint8_t>(bytes_[position_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80)
        return value;
    }
    ok_ = false;
    return 0;
  }

  ByteSpan take(std::size_t size) {
    if (!ok_ || size > remaining()) {
      ok_ = false;
      return {};
    }
    const ByteSpan taken = bytes_.subspan(position_, size);
    position_ += size;
    return taken;
  }

private:
  ByteSpan bytes_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

class ByteWriter {
public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void write(const T& value) {
    append(std::as_bytes(std::span(&value, 1)));
  }

  // Overwrites earlier bytes.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void overwrite(std::size_t position, const T& value) {
    const ByteSpan from = std::as_bytes(std::span(&value, 1));
    std::copy(from.begin(), from.end(), std::span(bytes_).subspan(position).begin());
  }

  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes_.push_back(static_cast<std::byte>(value | 0x80));
    bytes_.push_back(static_cast<std::byte>(value));
  }

  void append(ByteSpan more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }

  ByteSpan bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  void clear() { bytes_.clear(); }

private:
  std::vector<std::byte> bytes_;
};

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

} // namespace iotrail
