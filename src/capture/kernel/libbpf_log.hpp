// SPDX-License-Identifier: BSD-3-Clause
//
// What libbpf says while it loads: it returns only a number for a whole object, and names the program that failed in its log.
#pragma once

#include <string>

namespace iotrail::capture::kernel {

// From here on libbpf's words are kept from the terminal, unless IOTRAIL_BPF_LOG is set.
void read_libbpf_log();

// The one named last; empty: none since forget_failed_program().
const std::string& failed_program();
void forget_failed_program();

} // namespace iotrail::capture::kernel
