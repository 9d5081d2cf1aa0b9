// SPDX-License-Identifier: BSD-3-Clause
//
// How far the clocks of a time namespace are ahead of those of the initial one. Needs no library: also the preload
// library asks.
#pragma once

namespace iotrail {

inline constexpr char kClockOffsetsFile[] = "/proc/self/timens_offsets";
inline constexpr unsigned long kInitialTimeNamespace = 0xeffffffa; // PROC_TIME_INIT_INO

namespace detail {

// The number at `text`, which moves behind it; 0 where there is none.
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

// Of CLOCK_MONOTONIC, from what kClockOffsetsFile holds: a line for each clock, "monotonic SECONDS NANOSECONDS".
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
