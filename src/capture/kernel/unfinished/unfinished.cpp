// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/unfinished/unfinished.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cstring>

#include "capture/kernel/unfinished/unfinished_async.hpp"
#include "capture/kernel/unfinished/unfinished_record.hpp"
#include "capture/kernel/unfinished/unfinished_spans.hpp"
#include "iotrail.skel.h"
#include "schema.hpp"

namespace iotrail::capture::kernel {
namespace {

void add_spans(BpfObject& object, std::uint64_t stopped_ns, std::vector<RecordSlot>& records) {
  for (const iot_task& task : object.skeleton().bss->task_states)
    add_unfinished_spans(task, object.skeleton().rodata->iot_config, stopped_ns, records);
}

RecordSlot wait_record(const iot_task& task, std::uint64_t stopped_ns) {
  RecordSlot record{};
  auto& wait = reinterpret_cast<iot_sched_wait&>(record);
  set_header(wait.event, task.owner, task.wait_start_ns, IOT_KIND_sched_wait);
  wait.duration_ns = length_ns(task.wait_start_ns, stopped_ns);
  const std::uint64_t runnable_from_ns =
      task.wait_state == 'R' ? task.wait_start_ns : task.woken_ns;
  wait.runnable_ns = runnable_from_ns == 0 ? 0 : length_ns(runnable_from_ns, stopped_ns);
  wait.stack = task.wait_stack;
  wait.state = task.wait_state;
  wait.result = IOT_UNFINISHED;
  return record;
}

RecordSlot request_record(iot_u64 key, const iot_request& request, std::uint64_t stopped_ns) {
  RecordSlot record{};
  auto& complete = reinterpret_cast<iot_block_complete&>(record);
  set_header(complete.event, request.first.owner, request.issued_ns, IOT_KIND_block_complete);
  complete.duration_ns = length_ns(request.issued_ns, stopped_ns);
  complete.queue_ns = request.issued_ns - request.first.queued_ns;
  complete.request = key;
  complete.sector = request.sector;
  complete.device = request.device;
  complete.flags = request.flags;
  complete.error = IOT_UNFINISHED;
  complete.file = request.first.file;
  complete.tags_in_use = request.tags_in_use;
  complete.hardware_queue = static_cast<iot_u16>(request.hardware_queue);
  return record;
}

RecordSlot commit_record(iot_u32 tid, const iot_commit& commit, std::uint64_t stopped_ns) {
  RecordSlot record{};
  auto& unfinished = reinterpret_cast<iot_fs_journal_commit&>(record);
  const iot_owner owner{.op_id = 0, .parent_op = 0, .pid = commit.pid, .tid = tid};
  set_header(unfinished.event, owner, commit.start_ns, IOT_KIND_fs_journal_commit);
  const auto length = [&](iot_u64 begin_ns, iot_u64 end_ns) {
    return begin_ns == 0 ? 0 : length_ns(begin_ns, end_ns == 0 ? stopped_ns : end_ns);
  };
  unfinished.duration_ns = length_ns(commit.start_ns, stopped_ns);
  unfinished.running_ns = commit.running_ns;
  unfinished.request_delay_ns = commit.request_delay_ns;
  unfinished.handle_wait_ns = commit.handle_wait_ns;
  unfinished.locked_ns = length(commit.start_ns, commit.flushing_ns);
  unfinished.flushing_ns = length(commit.flushing_ns, commit.logging_ns);
  unfinished.logging_ns = length(commit.logging_ns, 0);
  unfinished.result = IOT_UNFINISHED;
  unfinished.device = commit.device;
  unfinished.transaction = commit.transaction;
  unfinished.handles = commit.handles;
  unfinished.blocks = commit.blocks;
  unfinished.blocks_logged = commit.blocks_logged;
  return record;
}

RecordSlot swap_record(const iot_swap& swap, std::uint64_t stopped_ns) {
  RecordSlot record{};
  auto& unfinished = reinterpret_cast<iot_memory_swap_in&>(record); // the other has the same shape
  set_header(unfinished.event, swap.owner, swap.start_ns, static_cast<iot_u16>(swap.kind));
  unfinished.duration_ns = length_ns(swap.start_ns, stopped_ns);
  unfinished.slot = swap.slot;
  unfinished.sector = swap.sector;
  unfinished.area = swap.area;
  unfinished.device = swap.device;
  unfinished.pages = swap.pages;
  unfinished.result = IOT_UNFINISHED;
  return record;
}

RecordSlot rpc_record(const iot_rpc& call, std::uint64_t stopped_ns) {
  RecordSlot record{};
  auto& unfinished = reinterpret_cast<iot_fs_rpc&>(record);
  set_header(unfinished.event, call.owner, call.start_ns, IOT_KIND_fs_rpc);
  unfinished.duration_ns = length_ns(call.start_ns, stopped_ns);
  unfinished.result = IOT_UNFINISHED;
  unfinished.file = call.file;
  unfinished.program = call.program;
  unfinished.procedure = call.procedure;
  unfinished.server = call.server;
  unfinished.version = call.version;
  return record;
}

template <class Key, class Value> struct Entry {
  Key key;
  Value value;
};

template <class Key, class Value>
std::vector<Entry<Key, Value>> entries_of(const BpfObject& object, const char* name,
                                          std::size_t most) {
  std::vector<Entry<Key, Value>> found;
  const int map = object.map_fd(name);
  if (map < 0)
    return found;
  Key key{};
  // Bounded, since keys come and go meanwhile.
  for (const Key* previous = nullptr;
       found.size() < most && bpf_map_get_next_key(map, previous, &key) == 0; previous = &key) {
    Value value{};
    if (bpf_map_lookup_elem(map, &key, &value) == 0)
      found.push_back({key, value});
  }
  return found;
}

using OpenRequest = Entry<iot_u64, iot_request>;

iot_u64 key_of(const iot_request_place& place) {
  return __atomic_load_n(&place.key, __ATOMIC_ACQUIRE);
}

// An entry that is inserted or removed during the search is not open.
void add_open(const iot_request_place& place, std::vector<OpenRequest>& open) {
  const iot_u64 key = key_of(place);
  if (key == 0 || key == IOT_PLACE_CLAIMED)
    return;
  const OpenRequest request{key, place.value};
  if (key_of(place) == key)
    open.push_back(request);
}

std::vector<OpenRequest> open_requests(BpfObject& object) {
  auto open = entries_of<iot_u64, iot_request>(object, "requests", IOT_REQUEST_LIMIT);
  for (const iot_request_set& set : object.skeleton().bss->request_sets)
    for (const iot_request_place& place : set.places)
      add_open(place, open);
  return open;
}

// False: it is gone, or there is a new one.
bool take(BpfObject& object, const OpenRequest& request) {
  for (iot_request_set& set : object.skeleton().bss->request_sets)
    for (iot_request_place& place : set.places) {
      iot_u64 key = request.key;
      if (key_of(place) == key && place.value.issued_ns == request.value.issued_ns)
        return __atomic_compare_exchange_n(&place.key, &key, 0, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED);
    }
  iot_request now{};
  const int map = object.map_fd("requests");
  return bpf_map_lookup_elem(map, &request.key, &now) == 0 &&
         now.issued_ns == request.value.issued_ns && bpf_map_delete_elem(map, &request.key) == 0;
}

void add_asyncs(BpfObject& object, std::uint64_t stopped_ns, std::vector<RecordSlot>& records) {
  const bool are_ends_missed = object.skeleton().bss->are_async_ends_missed != 0;
  for (const auto& [key, async] :
       entries_of<iot_async_key, iot_async>(object, "asyncs", IOT_ASYNC_LIMIT))
    if (key.by != IOT_ASYNC_BY_USER_DATA)
      add_unfinished_async(async, object.skeleton().rodata->iot_config, stopped_ns, are_ends_missed,
                           records);
}

// The journals of the recording: as in bpf/probes/fs/journal.bpf.c.
auto open_commits(const BpfObject& object) {
  auto commits = entries_of<iot_u32, iot_commit>(object, "commits", IOT_JOURNAL_LIMIT);
  const int journals = object.map_fd("journals");
  std::erase_if(commits, [&](const auto& entry) {
    iot_journal journal{};
    return entry.value.is_of_all == 0 &&
           bpf_map_lookup_elem(journals, &entry.value.device, &journal) != 0;
  });
  return commits;
}

auto open_swaps(const BpfObject& object) {
  return entries_of<iot_u64, iot_swap>(object, "swaps", IOT_SWAP_LIMIT);
}

auto open_rpcs(const BpfObject& object) {
  return entries_of<iot_u64, iot_rpc>(object, "rpcs", IOT_RPC_LIMIT);
}

bool is_over(const BpfObject& object, const OpenRequest& request) {
  iot_request_question question{
      .request = request.key, .issued_ns = request.value.issued_ns, .is_over = 0};
  return object.ask("block_request_is_over", std::as_writable_bytes(std::span(&question, 1))) &&
         question.is_over != 0;
}

bool is_anything_open(BpfObject& object) {
  const auto& tasks = object.skeleton().bss->task_states;
  if (std::ranges::any_of(tasks, [](const iot_task& task) {
        return task.owner.op_id != 0 || task.span_depth != 0;
      }))
    return true;
  return !open_commits(object).empty() || !open_requests(object).empty() ||
         !open_swaps(object).empty() || !open_rpcs(object).empty() ||
         !entries_of<iot_async_key, iot_async>(object, "asyncs", 1).empty();
}

} // namespace

std::uint64_t forget_missed_completions(BpfObject& object) {
  std::uint64_t missed = 0;
  // Requests that completed meanwhile are not taken.
  for (const OpenRequest& request : open_requests(object))
    if (is_over(object, request) && take(object, request))
      ++missed;
  return missed;
}

Unfinished unfinished_records(BpfObject& object, const CallsInProgress& calls,
                              std::uint64_t started_ns) {
  // A span that ended at the same moment is being recorded by a program that still runs. Most often
  // all have ended.
  if (!is_anything_open(object) && calls.early.empty())
    return {};
  BpfObject::wait_for_programs();
  const iot_config& config = object.skeleton().rodata->iot_config;
  const std::uint64_t stopped_ns = object.silenced_ns();
  const auto* const programs = object.skeleton().bss;
  Unfinished found{
      .records = {},
      .names = {programs->last_string_id, programs->last_stack_id, programs->last_file_id}};
  std::vector<RecordSlot>& records = found.records;
  add_unfinished_calls(object, calls, started_ns, stopped_ns, found.names, records);
  add_spans(object, stopped_ns, records);
  if (is_wanted(config, IOT_KIND_sched_wait))
    for (const iot_task& task : object.skeleton().bss->task_states)
      if (task.wait_start_ns != 0)
        records.push_back(wait_record(task, stopped_ns));
  if (is_wanted(config, IOT_KIND_block_complete))
    for (const auto& [key, request] : open_requests(object))
      records.push_back(request_record(key, request, stopped_ns));
  if (is_wanted(config, IOT_KIND_fs_journal_commit))
    for (const auto& [tid, commit] : open_commits(object))
      records.push_back(commit_record(tid, commit, stopped_ns));
  for (const auto& [bio, swap] : open_swaps(object))
    records.push_back(swap_record(swap, stopped_ns));
  for (const auto& [call, rpc] : open_rpcs(object))
    records.push_back(rpc_record(rpc, stopped_ns));
  add_asyncs(object, stopped_ns, records);
  for (std::size_t position = 0; position < records.size(); ++position)
    event_of(records[position]).tag = static_cast<iot_u32>(position + 1);
  return found;
}

} // namespace iotrail::capture::kernel
