// SPDX-License-Identifier: BSD-3-Clause
//
// The BPF programs that serve each event, in order of preference. A new probe is a row in
// event_hooks.cpp, vfs_hooks.cpp or cache_hooks.cpp; everything else follows.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi.h"
#include "capture/source.hpp"
#include "schema.hpp"

namespace iotrail::capture::kernel {

// One way to serve an event: all its programs must load and attach.
struct Alternative {
  std::string_view tier; // "T", "F", "K"
  std::string_view hook; // as shown: "tp_btf/block_rq_issue"
  std::vector<std::string_view> programs;
  // The number of parameters that the function or tracepoint of the first program must have, if it
  // differs between kernels; -1: any.
  int parameters = -1;
};

// An event that several parts of the kernel report has a row for each, one after another; each part
// may be missing.
struct EventHooks {
  std::string_view event; // empty: support, needed whenever `layer` is recorded
  schema::Layer layer;
  std::vector<Alternative> alternatives;
};

std::span<const EventHooks> event_hooks();

bool is_any_wanted(const Filter& filter, schema::Layer layer);
bool is_wanted(const Filter& filter, const EventHooks& hooks);

// Operations of io_uring and libaio are followed if they are recorded, or if block I/O is
// attributed to them.
bool follows_async(const Filter& filter);

// Programs on delays of calls, and why they are left out if the filter names files or devices.
inline constexpr std::array kHooksOnDelays = {
    "sched_switch",         "memory_direct_reclaim_begin", "memory_kswapd_wake",
    "memory_balance_dirty", "memory_balance_dirty_limits", "memory_swap_queue"};
inline constexpr std::string_view kNotOfFiles =
    "which file a call is on is often not known yet when it is held up: recordings of files or "
    "devices leave that out";

// The reasons why programs cannot be used, by name; filled when loading and attaching are tried.
class Refusals {
public:
  void add(std::string program, std::string reason);
  const std::string* reason(std::string_view program) const; // nullptr: not refused
  std::size_t count() const { return rows_.size(); }

private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

// The first alternative without a refused program; nullptr: none.
const Alternative* choose(const EventHooks& hooks, const Refusals& refusals);

// Why no task can be followed to its children and programs; nullptr: it can.
const std::string* refusal_to_follow_tasks(const Refusals& refusals);

// IOT_BELOW of the vfs events that are wanted and served.
iot_u32 served_below(const Filter& filter, const Refusals& refusals);

// Programs to load: those that follow tasks and operations, and those chosen for the wanted events.
std::vector<std::string_view> chosen_programs(const Filter& filter, const Refusals& refusals);

std::vector<store::HookReport> report_hooks(const Filter& filter, const Refusals& refusals);

} // namespace iotrail::capture::kernel
