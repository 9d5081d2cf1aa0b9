// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/load/hooks.hpp"

#include <algorithm>
#include <bit>

#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/load/features.hpp"
#include "capture/kernel/load/pid_numbers.hpp"

namespace iotrail::capture::kernel {
namespace {

// The indices of `wanted`, of the aggregate fields and of the sets of vfs events.
static_assert(std::ranges::all_of(schema::kEvents,
                                  [](const schema::Event& event) {
                                    return (event.id & 0xffU) < IOT_KIND_LIMIT;
                                  }),
              "a layer has more kinds than places: raise IOT_KIND_LIMIT");
static_assert(std::ranges::all_of(schema::kEvents,
                                  [](const schema::Event& event) {
                                    return event.layer != schema::Layer::vfs ||
                                           (event.id & 0xffU) < IOT_BELOW_LIMIT;
                                  }),
              "a vfs event has no bit in a set of them: make IOT_BELOW wider");
static_assert(std::has_single_bit(unsigned{IOT_KIND_LIMIT}), "programs mask by it");

template <class List, class Value> bool contains(const List& list, const Value& value) {
  return std::ranges::find(list, value) != std::ranges::end(list);
}

// Always loaded. Without the first, no child is followed. Without the others, the owner of an event
// would depend on which events are recorded.
constexpr std::string_view kTaskFollowers[] = {"process_task_newtask", "process_sched_process_exec",
                                               "process_sched_process_exit"};
constexpr std::string_view kCallFollowers[] = {"syscall_sys_enter", "syscall_sys_exit"};

std::string_view remedy_for(std::string_view tier, std::string_view reason) {
  if (reason.contains(kNotOfFiles))
    return store::kAskForOther;
  if (reason.find("EPERM") != reason.npos && tier != "T")
    return "this kernel refuses hooks on functions. If lockdown or secure boot is on, boot without "
           "it. Else the kernel never allows them";
  if (reason.find("EPERM") != reason.npos)
    return kPermissionRemedy;
  if (tier == "K")
    return "needs a kernel with CONFIG_KPROBES";
  return "";
}

const std::string* refusal_among(std::span<const std::string_view> programs,
                                 const Refusals& refusals) {
  for (std::string_view program : programs)
    if (const std::string* reason = refusals.reason(program))
      return reason;
  return nullptr;
}

std::string first_refusal(const Alternative& alternative, const Refusals& refusals) {
  const std::string* const reason = refusal_among(alternative.programs, refusals);
  return reason == nullptr ? std::string() : fmt::format("{}: {}", alternative.hook, *reason);
}

void append(std::string& list, std::string_view separator, std::string_view text) {
  if (!text.empty())
    list += list.empty() ? text : fmt::format("{}{}", separator, text);
}

store::HookReport report(const EventHooks& hooks, const Refusals& refusals) {
  store::HookReport report;
  report.event = hooks.event;
  report.source = "kernel";
  const Alternative* chosen = choose(hooks, refusals);
  for (const Alternative& alternative : hooks.alternatives) {
    if (&alternative == chosen)
      break;
    const std::string refusal = first_refusal(alternative, refusals);
    append(report.reason, "; ", refusal);
    if (report.remedy.empty())
      report.remedy = remedy_for(alternative.tier, refusal);
  }
  if (chosen != nullptr) {
    report.tier = chosen->tier;
    report.hook = chosen->hook;
  }
  return report;
}

// An event with two rows is served if one of them is.
void join(store::HookReport& report, const store::HookReport& other) {
  append(report.hook, ", ", other.hook);
  append(report.reason, "; ", other.reason);
  if (report.tier.empty())
    report.tier = other.tier;
  if (report.remedy.empty())
    report.remedy = other.remedy;
}

} // namespace

bool is_any_wanted(const Filter& filter, schema::Layer layer) {
  return std::ranges::any_of(schema::kEvents, [&](const schema::Event& event) {
    return event.layer == layer && filter.records(event);
  });
}

bool is_wanted(const Filter& filter, const EventHooks& hooks) {
  if (hooks.event.empty())
    return is_any_wanted(filter, hooks.layer);
  const schema::Event* event = schema::find_event(hooks.event);
  return event != nullptr && filter.records(*event);
}

bool follows_async(const Filter& filter) {
  return std::ranges::any_of(
      std::initializer_list<schema::Layer>{schema::Layer::async, schema::Layer::cache,
                                           schema::Layer::block, schema::Layer::device},
      [&](schema::Layer layer) { return is_any_wanted(filter, layer); });
}

void Refusals::add(std::string program, std::string reason) {
  if (this->reason(program) == nullptr)
    rows_.emplace_back(std::move(program), std::move(reason));
}

const std::string* Refusals::reason(std::string_view program) const {
  const auto found = std::ranges::find(rows_, program, &std::pair<std::string, std::string>::first);
  return found == rows_.end() ? nullptr : &found->second;
}

const Alternative* choose(const EventHooks& hooks, const Refusals& refusals) {
  for (const Alternative& alternative : hooks.alternatives)
    if (refusal_among(alternative.programs, refusals) == nullptr)
      return &alternative;
  return nullptr;
}

const std::string* refusal_to_follow_tasks(const Refusals& refusals) {
  return refusal_among(kTaskFollowers, refusals);
}

iot_u32 served_below(const Filter& filter, const Refusals& refusals) {
  iot_u32 served = 0;
  for (const EventHooks& hooks : event_hooks())
    if (const schema::Event* event = schema::find_event(hooks.event);
        event != nullptr && event->layer == schema::Layer::vfs && filter.records(*event) &&
        choose(hooks, refusals) != nullptr)
      served |= IOT_BELOW(event->id);
  return served;
}

std::vector<std::string_view> chosen_programs(const Filter& filter, const Refusals& refusals) {
  std::vector<std::string_view> programs;
  const auto add = [&](std::string_view program) {
    if (!contains(programs, program) && refusals.reason(program) == nullptr)
      programs.push_back(program);
  };
  for (std::string_view program : kTaskFollowers)
    add(program);
  // Begins of calls are followed only with their ends: otherwise no call would ever end.
  if (refusal_among(kCallFollowers, refusals) == nullptr)
    for (std::string_view program : kCallFollowers)
      add(program);
  if (!counts_like_kernel())
    add("task_numbers");
  if ((!filter.pids.empty() || filter.whole_system) && is_any_wanted(filter, schema::Layer::net))
    add("net_running");
  for (const EventHooks& hooks : event_hooks())
    if (const Alternative* chosen = choose(hooks, refusals); chosen && is_wanted(filter, hooks))
      for (std::string_view program : chosen->programs)
        add(program);
  return programs;
}

std::vector<store::HookReport> report_hooks(const Filter& filter, const Refusals& refusals) {
  std::vector<store::HookReport> reports;
  for (const EventHooks& hooks : event_hooks())
    if (!hooks.event.empty() && is_wanted(filter, hooks)) {
      if (!reports.empty() && reports.back().event == hooks.event)
        join(reports.back(), report(hooks, refusals));
      else
        reports.push_back(report(hooks, refusals));
    }
  return reports;
}

} // namespace iotrail::capture::kernel