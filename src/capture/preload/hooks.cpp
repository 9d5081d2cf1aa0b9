// SPDX-License-Identifier: BSD-3-Clause
//
// The wrappers: one for each row of hooks.def. Each is defined under a name of its own and exported under the C
// library's by an assembler label, so that the system's headers can be used beside it.
#include "capture/preload/calls.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace iotrail::capture::preload {

// clang-format off
#define COMMIT(event_name, name, result_value, ...)                                         \
  do {                                                                                      \
    [[maybe_unused]] const io_s64 result = (result_value);                                  \
    io_##event_name e = blank<io_##event_name>(target);                                     \
    e.result = result;                                                                      \
    __VA_ARGS__;                                                                            \
    write_record(IO_KIND_##event_name, IO_app_call_##name, begin, end, e);                  \
  } while (false)

#define HOOK(event, type, name, parameters, arguments, target_value, result_value, ...)     \
  EXPORTED type hook_##name parameters __asm__(#name);                                      \
  EXPORTED type hook_##name parameters {                                                    \
    auto* const real = REAL(name);                                                          \
    if (is_off())                                                                           \
      return real arguments;                                                                \
    [[maybe_unused]] const Target target = target_value;                                    \
    const io_u64 begin = ticks();                                                           \
    const auto value = real arguments;                                                      \
    const io_u64 end = ticks();                                                             \
    COMMIT(event, name, result_value, __VA_ARGS__);                                         \
    return value;                                                                           \
  }

#define VOID_HOOK(event, name, parameters, arguments, target_value, ...)                    \
  EXPORTED void hook_##name parameters __asm__(#name);                                      \
  EXPORTED void hook_##name parameters {                                                    \
    auto* const real = REAL(name);                                                          \
    if (is_off())                                                                           \
      return real arguments;                                                                \
    [[maybe_unused]] const Target target = target_value;                                    \
    const io_u64 begin = ticks();                                                           \
    real arguments;                                                                         \
    const io_u64 end = ticks();                                                             \
    COMMIT(event, name, 0, __VA_ARGS__);                                                    \
  }

#define FORMAT_HOOK(event, name, real_name, parameters, last, arguments, target_value, result_value, ...) \
  EXPORTED int hook_##name parameters __asm__(#name);                                       \
  EXPORTED int hook_##name parameters {                                                     \
    auto* const real = REAL(real_name);                                                     \
    va_list list;                                                                           \
    va_start(list, last);                                                                   \
    if (is_off()) {                                                                         \
      const int value = real arguments;                                                     \
      va_end(list);                                                                         \
      return value;                                                                         \
    }                                                                                       \
    [[maybe_unused]] const Target target = target_value;                                    \
    const io_u64 begin = ticks();                                                           \
    const int value = real arguments;                                                       \
    const io_u64 end = ticks();                                                             \
    va_end(list);                                                                           \
    COMMIT(event, name, result_value, __VA_ARGS__);                                         \
    return value;                                                                           \
  }

#define PLAIN(type, name, parameters)
#include "capture/preload/hooks.def"
// clang-format on

} // namespace iotrail::capture::preload
