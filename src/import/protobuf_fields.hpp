// SPDX-License-Identifier: BSD-3-Clause
//
// The fields of a protobuf message, as its bytes have them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.hpp"

namespace iotrail::import {

// Calls each(field number, number, bytes): a number has no bytes. False: the bytes are no message;
// `each` may have seen fields.
template <class Each> bool for_each_field(std::string_view message, const Each& each) {
  enum Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  ByteReader in(std::as_bytes(std::span(message)));
  while (in.ok() && in.remaining() > 0) {
    const std::uint64_t tag = in.varint();
    const auto field = static_cast<std::uint32_t>(tag >> 3U);
    std::uint64_t number = 0;
    std::string_view bytes;
    switch (tag & 7U) {
    case kVarint:
      number = in.varint();
      break;
    case kFixed64:
      number = in.read<std::uint64_t>();
      break;
    case kFixed32:
      number = in.read<std::uint32_t>();
      break;
    case kBytes: {
      const ByteSpan taken = in.take(in.varint());
      bytes = {reinterpret_cast<const char*>(taken.data()), taken.size()};
      break;
    }
    default:
      return false;
    }
    if (!in.ok() || tag >> 3U == 0 || tag >> 3U > UINT32_MAX)
      return false;
    each(field, number, bytes);
  }
  return in.ok();
}

} // namespace iotrail::import
