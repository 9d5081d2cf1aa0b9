// SPDX-License-Identifier: BSD-3-Clause
//
// Messages of Protocol Buffers: fields are appended by their numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace iotrail::output {

class ProtobufMessage {
public:
  void put_number(std::uint32_t field, std::uint64_t number) {
    put_key(field, kVarint);
    put_varint(number);
  }
  void put_signed(std::uint32_t field, std::int64_t number) { // int64, not sint64
    put_number(field, static_cast<std::uint64_t>(number));
  }
  void put_fixed(std::uint32_t field, std::uint64_t number) { // fixed64
    put_key(field, kFixed64);
    for (unsigned shift = 0; shift < 64; shift += 8)
      bytes_ += static_cast<char>(number >> shift);
  }
  void put_text(std::uint32_t field, std::string_view text) {
    put_key(field, kLength);
    put_varint(text.size());
    bytes_ += text;
  }
  void put_message(std::uint32_t field, const ProtobufMessage& message) {
    put_text(field, message.bytes_);
  }

  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

private:
  enum WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2 };

  void put_key(std::uint32_t field, WireType type) {
    put_varint(static_cast<std::uint64_t>(field) << 3U | type);
  }
  void put_varint(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7U)
      bytes_ += static_cast<char>(number | 0x80U);
    bytes_ += static_cast<char>(number);
  }

  std::string bytes_;
};

} // namespace iotrail::output
