// SPDX-License-Identifier: BSD-3-Clause
//
// Why the kernel dropped a packet, reset a connection, or wrote dirty pages back. The numbers
// differ between kernels, the names do not.
#pragma once

#include <array>
#include <string_view>

#include "capture/kernel/abi/kernel_abi.h"

namespace iotrail::capture::kernel {

class KernelTypes;

inline constexpr std::string_view kDropReasons = "skb_drop_reason";
inline constexpr std::string_view kResetReasons = "sk_rst_reason";
inline constexpr std::string_view kWritebackReasons = "wb_reason";
inline constexpr std::array kReasonTypes = {kDropReasons, kResetReasons, kWritebackReasons};

// Fills the tables that map the kernel's numbers to those of the value tables with the same names.
void fill_reasons(iot_config& config, const KernelTypes& types);

} // namespace iotrail::capture::kernel
