// SPDX-License-Identifier: BSD-3-Clause
//
// The output of libbpf and of the verifier while programs are loaded, shown if IOTRAIL_BPF_LOG is
// set.
#pragma once

#include <string_view>

namespace iotrail::capture::kernel {

// From here on libbpf prints nothing, unless IOTRAIL_BPF_LOG is set.
void hush_libbpf();

bool shows_libbpf_log();
// The destination of libbpf's output: the terminal, or nowhere.
void show_in_log(std::string_view text);

} // namespace iotrail::capture::kernel
