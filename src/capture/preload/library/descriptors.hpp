// SPDX-License-Identifier: BSD-3-Clause
//
// The file of each descriptor of this process: a table of file numbers, 0 if unknown yet. A file
// number belongs to the arena; the collector gets its meaning once. Descriptors made by functions
// without a hook are resolved at their first use, which is right because every close is hooked.
#pragma once

#include "capture/preload/library/call_recorder.hpp"

namespace iotrail::capture::preload {

inline constexpr iot_u32 kDescriptors =
    1U << 20U; // the kernel's default limit (fs.nr_open); beyond it, each use asks the kernel

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit, which the check does not see
extern constinit iot_u32* g_descriptors IOTRAIL_HIDDEN; // null: not created yet

// Gives the thread direct access to the table.
inline void use_descriptors(Context& context) {
  context.files = g_descriptors;
  context.file_limit = g_descriptors != nullptr ? kDescriptors : 0;
}

iot_u32 file_of_slowly(int fd);

IOTRAIL_HOT iot_u32 file_of(int fd) {
  const Context* const context = t_context;
  const auto index = static_cast<iot_u32>(fd);
  if (__builtin_expect(index < context->file_limit, true)) {
    const iot_u32 file = __atomic_load_n(&context->files[index], __ATOMIC_RELAXED);
    if (__builtin_expect(file != 0, true))
      return file;
  }
  return file_of_slowly(fd);
}

// The descriptor was just opened.
iot_u32 file_of_new(int fd);

// The file of all streams that are not on a descriptor.
iot_u32 memory_file();

// The known file of the descriptor, without asking the kernel.
iot_u32 known_file(int fd);
void set_file(int fd, iot_u32 file);
void forget_files(iot_u32 first, iot_u32 last);

} // namespace iotrail::capture::preload
