// SPDX-License-Identifier: BSD-3-Clause
//
// Offsets of the clocks of a time namespace from the initial one. Needs no library, because the
// preload library uses it too.
#pragma once

namespace iotrail {

inline constexpr char kClockOffsetsFile[] = "/proc/self/timens_offsets";
inline constexpr unsigned long kInitialTimeNamespace = 0xeffffffa; // PROC_TIME_INIT_INO

namespace detail {

// Reads the number at `text` and moves `text` behind it; 0 if there is none.
constexpr long long take_number(const char*& text) {
  while (*text == ' ' || *text == '\t')
    ++text;
  const bool is_negative = *text == '-';
  text += is_negative ? 1 : 0;
  long long number = 0;
  for (; *text >= '0' && *text <= '9'; ++text)
    number = number * 10 + (*text - '0');
  return is_negative ? -number : number;
}

constexpr const char* after(const char* text, const char* word) {
  for (; *word != 0; ++text, ++word)
    if (*text != *word)
      return nullptr;
  return text;
}

} // namespace detail

// Offset of CLOCK_MONOTONIC, from the contents of kClockOffsetsFile: a line per clock, "monotonic
// SECONDS NANOSECONDS".
constexpr long long monotonic_offset_ns(const char* text) {
  constexpr long long kSecondNs = 1'000'000'000;
  while (*text != 0) {
    if (const char* at = detail::after(text, "monotonic"); at != nullptr) {
      const long long seconds = detail::take_number(at);
      return seconds * kSecondNs + detail::take_number(at);
    }
    while (*text != 0 && *text != '\n')
      ++text;
    text += *text == '\n' ? 1 : 0;
  }
  return 0;
}

static_assert(monotonic_offset_ns("monotonic      100000         7\nboottime 3 0\n") ==
              100'000'000'000'007);
static_assert(monotonic_offset_ns("boottime 3 0\nmonotonic -2 500000000\n") == -1'500'000'000);
static_assert(monotonic_offset_ns("") == 0);

} // namespace iotrail
