// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/select/syscalls.hpp"

#include <sys/syscall.h>

#include <algorithm>

#include "capture/kernel/load/hooks.hpp"
#include "capture/selection/operations.hpp"

#ifndef __x86_64__
#error "schema/syscalls.def has no column of this machine's numbers"
#endif

#ifndef SYS_fchmodat2 // newer than the headers of Debian 12
#define SYS_fchmodat2 452
#endif

namespace iotrail::capture::kernel {
namespace {

using schema::SyscallTrait;

#define SYSCALL(number, compat, name, event, fd, path, below)                                      \
  static_assert(SYS_##name == (number) && (number) < IOT_SYSCALL_LIMIT);                           \
  static_assert((compat) < IOT_SYSCALL_LIMIT);
#define SYSCALL_ALIAS(compat, name) static_assert((compat) < IOT_SYSCALL_LIMIT);
#include "syscalls.def"

iot_u64 native_flags(const schema::Syscall& call) {
  return (has_trait(call, SyscallTrait::is_plain) ? IOT_CALL_PLAIN : 0) |
         (has_trait(call, SyscallTrait::names_position) ? IOT_CALL_PLACED : 0);
}

iot_u64 place(int argument) {
  return static_cast<iot_u64>(argument) + 1; // -1: none
}

// A close ends the meaning of its descriptor, a munmap the meaning of its memory. Writes of a
// kernel thread for a fsync belong to the fsync.
bool is_looked_at(const schema::Syscall& call, bool is_recorded, const Filter& filter) {
  const iot_u16 event = call.event;
  if (event == IOT_KIND_syscall_sync)
    return is_any_wanted(filter, schema::Layer::fs) ||
           is_any_wanted(filter, schema::Layer::block) ||
           is_any_wanted(filter, schema::Layer::device);
  if (event == IOT_KIND_syscall_aio_submit)
    return follows_async(filter);
  return is_recorded &&
         (event == IOT_KIND_syscall_close || has_trait(call, SyscallTrait::overwrites_timeout) ||
          has_trait(call, SyscallTrait::names_memory));
}

bool is_excluded(const schema::Syscall& call, const Filter& filter) {
  const schema::Event* event = schema::find_event(call.event);
  return event != nullptr &&
         !is_chosen(filter, {event, call.name, schema::class_name(*event, call.name)});
}

bool submits(iot_u16 event, const Filter& filter) {
  return follows_async(filter) &&
         (event == IOT_KIND_syscall_uring_enter || event == IOT_KIND_syscall_aio_submit);
}

// For recordings of some operations only.
iot_u64 choice_flags(const schema::Syscall& call, const Filter& filter) {
  if (!filter.filters_operations() || !is_excluded(call, filter))
    return 0;
  return IOT_CALL_EXCLUDED | (submits(call.event, filter) ? IOT_CALL_SUBMITS : 0);
}

// Causes write-back: it makes pages dirty, may let the program do so, or waits for them.
bool leads_to_write_back(const Operation& operation) {
  constexpr std::string_view kMayWrite[] = {"mmap", "fault", "uring_enter", "aio_submit"};
  return schema::has_trait(operation.class_name, schema::Trait::writes) ||
         schema::has_trait(operation.class_name, schema::Trait::is_sync) ||
         std::ranges::find(kMayWrite, operation.class_name) != std::end(kMayWrite);
}

void fill_operations(iot_config& config, const Filter& filter) {
  config.filters_operations = filter.filters_operations();
  config.names_operations = !filter.wanted.operations.empty();
  config.excludes_write_back = config.names_operations;
  for (const Operation& operation : all_operations()) {
    const bool is_of_kernel = operation.event->layer != schema::Layer::app;
    if (is_of_kernel && is_chosen(filter, operation) && leads_to_write_back(operation))
      config.excludes_write_back = 0;
    if (operation.event->layer == schema::Layer::fault)
      config.excludes_between = !is_chosen(filter, operation);
  }
  for (const schema::Value& value : schema::kValues) {
    if (value.table != schema::value_table(schema::Meaning::value_async_call))
      continue;
    const schema::Event& event = *schema::find_event(IOT_KIND_async_operation);
    const Choice choice =
        choice_of(filter, {&event, value.name, schema::class_name(event, value.name)});
    const bool is_of_libaio = value.number >= IOT_async_call_IOCB_CMD_PREAD;
    config.asyncs_chosen[is_of_libaio][value.number & (IOT_ASYNC_CALLS - 1)] =
        choice == Choice::excluded ? IOT_EXCLUDED
        : choice == Choice::wanted ? IOT_WANTED
                                   : 0;
  }
}

// The description of a call in both tables.
iot_u64 entry_of(const schema::Syscall& call, const Filter& filter) {
  const schema::Event* event = schema::find_event(call.event);
  const bool is_recorded = event != nullptr && filter.records(*event);
  return (call.event & IOT_CALL_CLASS_BITS) | iot_u64{call.event} << 16U |
         iot_u64{call.number} << IOT_CALL_NUMBER_SHIFT |
         place(call.fd_argument) << IOT_CALL_FD_SHIFT |
         place(call.path_argument) << IOT_CALL_PATH_SHIFT |
         iot_u64{call.below} << IOT_CALL_BELOW_SHIFT | (is_recorded ? IOT_CALL_RECORDED : 0) |
         (has_trait(call, SyscallTrait::may_append) ? IOT_CALL_MAY_APPEND : 0) |
         choice_flags(call, filter) |
         (is_looked_at(call, is_recorded, filter) ? IOT_CALL_IS_LOOKED_AT : 0);
}

} // namespace

void fill_calls(iot_config& config, const Filter& filter) {
  config.follows_async = follows_async(filter) ? 1 : 0;
  fill_operations(config, filter);
  for (const schema::Syscall& call : schema::kSyscalls) {
    const iot_u64 entry = entry_of(call, filter);
    config.calls[call.number] = entry | native_flags(call);
    if (call.compat_number >= 0)
      config.compat_calls[call.compat_number] = entry | IOT_CALL_COMPAT;
    for (const schema::SyscallAlias& alias : schema::kSyscallAliases)
      if (alias.number == call.number)
        config.compat_calls[alias.compat_number] = entry | IOT_CALL_COMPAT;
  }
}

} // namespace iotrail::capture::kernel
