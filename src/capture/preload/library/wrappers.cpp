// SPDX-License-Identifier: BSD-3-Clause
//
// The wrappers: one for each row of libc_calls.def. Each has its own name, to avoid a clash with
// the system's headers. An assembler label exports it under the C library's name.
#include "capture/preload/library/calls.hpp"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace iotrail::capture::preload {

// clang-format off
#define COMMIT(quick, event_name, call_number, result_value, ...)                           \
  do {                                                                                      \
    [[maybe_unused]] const iot_s64 result = (result_value);                                 \
    iot_##event_name e = blank<iot_##event_name>(target);                                   \
    e.result = result;                                                                      \
    __VA_ARGS__;                                                                            \
    write_record<IOT_KIND_##event_name, quick>(call_number, begin, end, e);                 \
  } while (false)

// Each wrapper has two variants: the quick one checks only its bit in the mask.
#define WRAPPER(event, type, name, parameters, arguments)                                   \
  [[gnu::noinline, gnu::cold]] static type slow_##name parameters {                         \
    if (is_off())                                                                           \
      return REAL(name) arguments;                                                          \
    return make_##name<false> arguments;                                                    \
  }                                                                                         \
  EXPORTED type hook_##name parameters __asm__(#name);                                      \
  EXPORTED type hook_##name parameters {                                                    \
    return is_quick<IOT_KIND_##event>() ? make_##name<true> arguments : slow_##name arguments; \
  }

#define HOOK(number, event, event_class, type, name, parameters, arguments, target_value, result_value, ...) \
  template <bool kQuick> IOTRAIL_HOT type make_##name parameters {                          \
    auto* const real = REAL(name);                                                          \
    [[maybe_unused]] const Target target = target_value;                                    \
    const iot_u64 begin = ticks<kQuick>();                                                  \
    const auto value = real arguments;                                                      \
    const iot_u64 end = ticks<kQuick>();                                                    \
    end_call(target.moved.buffer);                                                          \
    COMMIT(kQuick, event, number, result_value, __VA_ARGS__);                               \
    return value;                                                                           \
  }                                                                                         \
  WRAPPER(event, type, name, parameters, arguments)

#define VOID_HOOK(number, event, event_class, name, parameters, arguments, target_value, ...) \
  template <bool kQuick> IOTRAIL_HOT void make_##name parameters {                          \
    auto* const real = REAL(name);                                                          \
    [[maybe_unused]] const Target target = target_value;                                    \
    const iot_u64 begin = ticks<kQuick>();                                                  \
    real arguments;                                                                         \
    const iot_u64 end = ticks<kQuick>();                                                    \
    end_call(target.moved.buffer);                                                          \
    COMMIT(kQuick, event, number, 0, __VA_ARGS__);                                          \
  }                                                                                         \
  WRAPPER(event, void, name, parameters, arguments)

#define FORMAT_HOOK(number, event, event_class, name, real_name, parameters, last, arguments, target_value, result_value, ...) \
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
    const iot_u64 begin = ticks();                                                           \
    const int value = real arguments;                                                       \
    const iot_u64 end = ticks();                                                             \
    end_call(target.moved.buffer);                                                          \
    va_end(list);                                                                           \
    COMMIT(false, event, number, result_value, __VA_ARGS__);                                         \
    return value;                                                                           \
  }

#define PLAIN(type, name, parameters)
#include "libc_calls.def"
// clang-format on

} // namespace iotrail::capture::preload
