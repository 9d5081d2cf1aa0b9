// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/btf/libbpf_log.hpp"

#include <bpf/libbpf.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace iotrail::capture::kernel {
namespace {

int show(libbpf_print_level, const char* format, va_list arguments) {
  return shows_libbpf_log() ? std::vfprintf(stderr, format, arguments) : 0;
}

} // namespace

void hush_libbpf() {
  libbpf_set_print(show);
}

bool shows_libbpf_log() {
  static const bool is_shown = std::getenv("IOTRAIL_BPF_LOG") != nullptr;
  return is_shown;
}

void show_in_log(std::string_view text) {
  if (shows_libbpf_log())
    std::fwrite(text.data(), 1, text.size(), stderr);
}

} // namespace iotrail::capture::kernel
