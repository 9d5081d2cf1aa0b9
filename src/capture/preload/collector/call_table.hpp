// SPDX-License-Identifier: BSD-3-Clause
//
// The collector's table of the library's hooks, from the same rows (libc_calls.def).
#pragma once

#include <string_view>
#include <vector>

#include "abi.h"
#include "store/format/manifest.hpp"

namespace iotrail::capture::preload {

// The event of a call number; 0: no such call.
iot_u16 kind_of_call(iot_u16 call);

// The number of a call by its name; 0: no such call.
iot_u16 number_of_call(std::string_view name);

// Every hook with its event; 0: no event. In the order of libc_calls.def.
struct HookRow {
  std::string_view name;
  iot_u16 kind;
};
const std::vector<HookRow>& hook_rows();

// One report for each app event: its functions, and those that the C library lacks.
std::vector<store::HookReport> hook_reports();

} // namespace iotrail::capture::preload
