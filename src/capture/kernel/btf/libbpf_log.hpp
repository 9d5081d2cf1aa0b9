// SPDX-License-Identifier: BSD-3-Clause
//
// What libbpf and the kernel say while programs are loaded: shown to who asks for it by IOTRAIL_BPF_LOG.
#pragma once

#include <string_view>

namespace iotrail::capture::kernel {

// From here on libbpf's words are kept from the terminal, unless IOTRAIL_BPF_LOG is set.
void hush_libbpf();

bool shows_libbpf_log();
// Where libbpf's words go: to the terminal, or nowhere.
void show_in_log(std::string_view text);

} // namespace iotrail::capture::kernel
