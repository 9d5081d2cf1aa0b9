// SPDX-License-Identifier: BSD-3-Clause
//
// What the collector knows of the library's hooks, from the same rows (libc_calls.def).
#pragma once

#include <string_view>
#include <vector>

#include "abi.h"
#include "store/format/manifest.hpp"

namespace iotrail::capture::preload {

// The event that a call number stands for; 0: there is no such call.
iot_u16 kind_of_call(iot_u16 call);

// The number of a call; 0: there is none of the name.
iot_u16 number_of_call(std::string_view name);

// Every hook with its event; 0: it makes none. In the order of libc_calls.def.
struct HookRow {
  std::string_view name;
  iot_u16 kind;
};
const std::vector<HookRow>& hook_rows();

// One report for each app event: the functions that serve it, and those that the C library lacks.
std::vector<store::HookReport> hook_reports();

} // namespace iotrail::capture::preload
