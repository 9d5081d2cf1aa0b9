// SPDX-License-Identifier: BSD-3-Clause
//
// The pages that a trace's calls, or a device's requests, touched, in the order of time. It is read
// as often as needed, and never whole in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "analysis/cache/page_map.hpp"
#include "analysis/engine/engine.hpp"

namespace iotrail::output {

inline constexpr std::uint64_t kCachePageBytes = 4096;

// A trace may claim any numbers. What is beyond is not simulated, and counted.
struct PageLimits {
  std::uint64_t accesses = 2'000'000'000;   // pages of all calls
  std::uint64_t pages_per_call = 1U << 19U; // Linux moves less than 2 GiB a call
};

struct PageTally {
  std::uint64_t calls = 0;
  std::uint64_t things = 0;         // files or devices
  std::uint64_t impossible = 0;     // calls beyond the limits of a call or a file
  std::uint64_t calls_left_out = 0; // calls after the limit of accesses
};

class PageSequence {
public:
  // `device`: requests of this device, of all for "all"; "": calls on files.
  PageSequence(analysis::Engine& engine, std::string device, const PageLimits& limits = {});

  // Calls `visit` for each page. An error if the trace cannot be read.
  Result<PageTally> read(const std::function<void(analysis::Page, bool is_read)>& visit);

private:
  // One number for a page of a file; kNoPage: there is none.
  analysis::Page page_of(std::uint64_t thing, std::uint64_t number);

  analysis::Engine& engine_;
  std::string sql_;
  PageLimits limits_;
  std::map<std::uint64_t, std::uint64_t> things_; // the keys of files or devices, numbered
};

// The engine options with which it is fast.
analysis::EngineOptions cache_engine_options(analysis::EngineOptions options);

} // namespace iotrail::output
