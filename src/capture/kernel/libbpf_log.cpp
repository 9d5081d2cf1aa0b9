// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/libbpf_log.hpp"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace iotrail::capture::kernel {
namespace {

std::string last_failed;

int read_log(libbpf_print_level level, const char* format, va_list arguments) {
  static const bool is_shown = std::getenv("IOTRAIL_BPF_LOG") != nullptr;
  if (level == LIBBPF_DEBUG && !is_shown)
    return 0;
  char text[512];
  va_list copy;
  va_copy(copy, arguments);
  std::vsnprintf(text, sizeof(text), format, copy);
  va_end(copy);
  if (is_shown)
    std::vfprintf(stderr, format, arguments);
  const std::string_view message(text);
  constexpr std::string_view kProgram = "libbpf: prog '";
  if (level == LIBBPF_WARN && message.starts_with(kProgram)) {
    const std::string_view rest = message.substr(kProgram.size());
    const std::size_t quote = std::min(rest.find('\''), rest.size());
    last_failed = rest.substr(0, quote);
  }
  return 0;
}

} // namespace

void read_libbpf_log() {
  libbpf_set_print(read_log);
}

const std::string& failed_program() {
  return last_failed;
}

void forget_failed_program() {
  last_failed.clear();
}

} // namespace iotrail::capture::kernel
