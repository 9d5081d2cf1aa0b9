// SPDX-License-Identifier: BSD-3-Clause
//
// Room for a text of up to kPathBytes. A program may make its calls on a stack of a few KiB, as in
// a signal handler or a coroutine. So most texts have room on the stack, and long ones in memory of
// the kernel.
#pragma once

#include "capture/preload/library/attachment.hpp"

namespace iotrail::capture::preload {

class PathRoom {
public:
  static constexpr iot_u64 kSmallBytes = 512;

  PathRoom() = default;
  PathRoom(const PathRoom&) = delete;
  PathRoom& operator=(const PathRoom&) = delete;
  ~PathRoom() {
    if (large_ != nullptr)
      raw_syscall(SYS_munmap, address(large_), kPathBytes);
  }

  // Null: too many bytes, or no memory. A later request may move the room, without its content.
  char* of(iot_u64 bytes) {
    if (bytes <= kSmallBytes)
      return small_;
    if (large_ == nullptr && bytes <= kPathBytes)
      large_ = map_private(kPathBytes);
    return bytes <= kPathBytes ? static_cast<char*>(large_) : nullptr;
  }

  // The text that fill(room, bytes) writes, which returns its size; `bytes`: it may be longer. Null:
  // no memory.
  template <class Fill> const char* filled_by(const Fill& fill, iot_u32* size) {
    for (const iot_u64 bytes : {kSmallBytes, iot_u64{kPathBytes}}) {
      char* const room = of(bytes);
      if (room == nullptr)
        return nullptr;
      *size = fill(room, static_cast<iot_u32>(bytes));
      if (*size < bytes || bytes == kPathBytes)
        return room;
    }
    return nullptr;
  }

private:
  char small_[kSmallBytes];
  void* large_ = nullptr; // kPathBytes
};

} // namespace iotrail::capture::preload
