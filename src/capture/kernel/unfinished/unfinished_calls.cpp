// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/unfinished/unfinished_calls.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "capture/kernel/unfinished/unfinished_record.hpp"
#include "capture/tasks/process_stat.hpp"
#include "iotrail.skel.h"
#include "schema.hpp"

namespace iotrail::capture::kernel {
namespace {

bool is_in_recorded_call(const iot_task& task) {
  return task.owner.op_id != 0 && task.suppressed_by == 0 && (task.call & IOT_CALL_RECORDED) != 0;
}

const schema::Event* event_of_call(iot_u64 call) {
  return schema::find_event(static_cast<std::uint16_t>((call & IOT_CALL_KIND_BITS) >> 16U));
}

// The rest of what the arguments name.
AskedCall asked_by(iot_u32 tid, iot_u64 call, const Arguments& arguments) {
  AskedCall asked{.arguments = arguments, .path = {}, .file = {}};
  const auto argument = [&](iot_u32 place) { return arguments.at(place - 1); };
  if (const iot_u32 place = IOT_CALL_PATH(call); place != 0 && place <= arguments.size())
    asked.path = path_in_memory(tid, argument(place));
  else if (const iot_u32 fd = IOT_CALL_FD(call); fd != 0 && fd <= arguments.size())
    asked.file = file_of_descriptor(tid, static_cast<std::int32_t>(argument(fd)));
  return asked;
}

void set_names(RecordSlot& record, const schema::Event& event, const AskedCall& asked,
               LateNames& names) {
  for (const schema::Field& field : event.fields) {
    if (field.name == "path")
      store(record, field.offset, names.string(asked.path));
    else if (field.name == "file" && asked.file)
      store(record, field.offset, names.file(*asked.file));
  }
}

RecordSlot call_record(const iot_task& task, const schema::Event& event, std::uint64_t stopped_ns) {
  RecordSlot record{};
  set_header(event_of(record), task.owner, task.entry_ns, event.id);
  set_unended(record, event, length_ns(task.entry_ns, stopped_ns));
  for (const schema::Field& field : event.fields)
    if (field.meaning == schema::Meaning::value_syscall)
      store(record, field.offset, IOT_CALL_NUMBER(task.call));
  if (event.id == IOT_KIND_syscall_poll)
    reinterpret_cast<iot_syscall_poll&>(record).timeout_ns = -1; // not known
  return record;
}

void add_call(const iot_task& task, const AskedCall* asked, std::uint64_t stopped_ns,
              LateNames& names, std::vector<RecordSlot>& records) {
  const schema::Event* const event = event_of_call(task.call);
  if (event == nullptr)
    return;
  records.push_back(call_record(task, *event, stopped_ns));
  if (asked == nullptr)
    return;
  set_what_was_asked(records.back(), task, *event, asked->arguments);
  set_names(records.back(), *event, *asked, names);
}

std::vector<iot_u32> threads_of(pid_t pid) {
  std::vector<iot_u32> threads;
  std::error_code gone;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone))
    threads.push_back(
        static_cast<iot_u32>(std::strtoul(entry.path().filename().c_str(), nullptr, 10)));
  return threads;
}

iot_u32 state_of(iot_u32 tid) {
  std::ifstream file(fmt::format("/proc/{}/stat", tid));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto stat = parse_process_stat(text);
  return stat ? static_cast<iot_u32>(stat->state) : 0;
}

// In a recorded call now, which is not the one that the programs know about the thread.
std::optional<EarlyCall> early_call(BpfObject& object, pid_t pid, iot_u32 tid) {
  const auto* const skeleton = &object.skeleton();
  const auto number = read_call_number(tid);
  const iot_u64 call = number ? skeleton->rodata->iot_config.calls[*number] : 0;
  const bool waits_by_design = IOT_CALL_CLASS(call) == (IOT_KIND_syscall_poll & 0xffU);
  const iot_task& task = skeleton->bss->task_states[tid % IOT_TASK_BUCKETS];
  const bool is_known = task.is_shared != 0 || (task.owner.tid == tid && task.owner.op_id != 0);
  const bool is_hidden = task.owner.tid == tid && task.suppressed_by != 0;
  if ((call & IOT_CALL_RECORDED) == 0 || waits_by_design || is_known || is_hidden)
    return {};
  const auto arguments = read_arguments(tid, *number);
  if (!arguments)
    return {};
  return EarlyCall{.pid = static_cast<iot_u32>(pid),
                   .tid = tid,
                   .call = call,
                   .asked = asked_by(tid, call, *arguments),
                   .stack = kernel_stack(tid),
                   .state = state_of(tid),
                   .last_run_ns = last_run_ns(tid)};
}

RecordSlot early_wait_record(const EarlyCall& call, const iot_owner& owner,
                             std::uint64_t started_ns, std::uint64_t stopped_ns, LateNames& names) {
  RecordSlot record{};
  auto& wait = reinterpret_cast<iot_sched_wait&>(record);
  const std::uint64_t since_ns = call.last_run_ns != 0 ? call.last_run_ns : started_ns;
  set_header(wait.event, owner, since_ns, IOT_KIND_sched_wait);
  wait.duration_ns = length_ns(since_ns, stopped_ns);
  wait.stack = names.stack(call.stack);
  wait.state = call.state;
  wait.result = IOT_UNFINISHED;
  return record;
}

// A thread that was woken meanwhile for nothing was in its call before, at least from the begin on.
void add_early_call(const EarlyCall& call, const iot_config& config, iot_u64 op_id,
                    std::uint64_t started_ns, std::uint64_t stopped_ns, LateNames& names,
                    std::vector<RecordSlot>& records) {
  iot_task task{};
  task.owner = {.op_id = op_id, .parent_op = 0, .pid = call.pid, .tid = call.tid};
  task.call = call.call;
  task.entry_ns = call.last_run_ns != 0 ? std::min(call.last_run_ns, started_ns) : started_ns;
  add_call(task, &call.asked, stopped_ns, names, records);
  if (is_wanted(config, IOT_KIND_sched_wait) && !call.stack.empty())
    records.push_back(early_wait_record(call, task.owner, started_ns, stopped_ns, names));
}

} // namespace

CallsInProgress calls_in_progress(BpfObject& object, const Tasks& tasks,
                                  std::span<const pid_t> pids) {
  CallsInProgress calls;
  if (!tasks.counts_like_proc())
    return calls;
  for (const iot_task& seen : object.skeleton().bss->task_states) {
    const iot_task task = seen; // the kernel changes it meanwhile
    if (!is_in_recorded_call(task) || (task.call & IOT_CALL_COMPAT) != 0)
      continue;
    if (const auto arguments = read_arguments(task.owner.tid, IOT_CALL_NUMBER(task.call)))
      calls.asked.emplace(task.owner.op_id, asked_by(task.owner.tid, task.call, *arguments));
  }
  for (const pid_t pid : pids)
    for (const iot_u32 tid : threads_of(pid))
      if (auto call = early_call(object, pid, tid))
        calls.early.push_back(*std::move(call));
  return calls;
}

void add_unfinished_calls(BpfObject& object, const CallsInProgress& calls, std::uint64_t started_ns,
                          std::uint64_t stopped_ns, LateNames& names,
                          std::vector<RecordSlot>& records) {
  const iot_config& config = object.skeleton().rodata->iot_config;
  if (config.filter_files || config.filter_devices)
    return;
  for (const iot_task& task : object.skeleton().bss->task_states) {
    if (!is_in_recorded_call(task))
      continue;
    const auto known = calls.asked.find(task.owner.op_id);
    add_call(task, known == calls.asked.end() ? nullptr : &known->second, stopped_ns, names,
             records);
  }
  // The first block of operations that the programs have not begun.
  iot_u64 op_id = object.skeleton().bss->cpus[0].next_op_block * IOT_OP_BLOCK + 1;
  for (const EarlyCall& call : calls.early)
    add_early_call(call, config, ++op_id, started_ns, stopped_ns, names, records);
}

} // namespace iotrail::capture::kernel
