// SPDX-License-Identifier: BSD-3-Clause
//
// The actions of block devices as blktrace has them, for its binary format and its text.
#pragma once

#include <linux/blktrace_api.h>

#include <cstdint>
#include <functional>
#include <string>

#include "export/trace_format.hpp"

namespace iotrail::output {

struct BlockAction {
  blk_io_trace record; // its time counts from the begin of the recording
  char letter;
  std::string comm;       // printable; empty: unknown
  std::uint64_t requests; // of an unplug
};

// All with this device and processor, or all if `device` is 0; in the order of time. Numbers of
// sequence count from 1 for each processor.
Result<void> for_each_block_action(const TraceInput& input, const Sink& sink, std::uint64_t device,
                                   std::uint64_t cpu,
                                   const std::function<void(const BlockAction&)>& each);

} // namespace iotrail::output
