// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace iotrail::capture::preload {

// "/proc/self/fd/N", without the C library.
struct DescriptorLink {
  explicit DescriptorLink(int fd) {
    char digits[12];
    int count = 0;
    for (auto rest = static_cast<unsigned>(fd); rest != 0 || count == 0; rest /= 10)
      digits[count++] = static_cast<char>('0' + rest % 10);
    int at = 14;
    while (count > 0)
      text[at++] = digits[--count];
    text[at] = 0;
  }
  char text[32] = "/proc/self/fd/";
};

} // namespace iotrail::capture::preload
