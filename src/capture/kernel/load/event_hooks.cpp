// SPDX-License-Identifier: BSD-3-Clause
//
// The rows: events, and the programs that serve them.
#include <algorithm>
#include <utility>

#include "capture/kernel/load/cache_hooks.hpp"
#include "capture/kernel/load/hooks.hpp"
#include "capture/kernel/load/vfs_hooks.hpp"

namespace iotrail::capture::kernel {
namespace {

using schema::Layer;

Alternative tracepoint(std::string_view hook, std::vector<std::string_view> programs) {
  return {"T", hook, std::move(programs)};
}

EventHooks served_by(std::string_view event, Layer layer, std::vector<Alternative> alternatives) {
  return {event, layer, std::move(alternatives)};
}

void add_syscalls(std::vector<EventHooks>& rows) {
  for (const schema::Event& event : schema::kEvents)
    if (event.layer == Layer::syscall)
      rows.push_back(served_by(
          event.name, Layer::syscall,
          {tracepoint("tp_btf/sys_enter+sys_exit", {"syscall_sys_enter", "syscall_sys_exit"})}));
}

// The owners of bios and requests are known from when they are queued, split and issued, whichever
// events are wanted.
void add_block_support(std::vector<EventHooks>& rows, Layer layer) {
  const auto add = [&](std::string_view hook, std::string_view program) {
    rows.push_back(served_by("", layer, {tracepoint(hook, {program})}));
  };
  add("kallsyms", "block_find_functions");
  add("tp_btf/block_bio_queue", "block_bio_queue");
  add("tp_btf/block_split", "block_split");
  add("tp_btf/block_bio_complete", "block_bio_complete");
  add("tp_btf/block_rq_complete", "block_rq_complete");
}

// A request in flight is known from its issue to its end.
constexpr std::string_view kRequestHook = "tp_btf/block_rq_issue+block_rq_complete";
std::vector<std::string_view> request_programs() {
  return {"block_rq_issue", "block_rq_complete", "block_rq_requeue", "block_request_is_over"};
}

void add_blocks(std::vector<EventHooks>& rows) {
  const auto add = [&](std::string_view event, std::string_view hook,
                       std::vector<std::string_view> programs) {
    rows.push_back(served_by(event, Layer::block, {tracepoint(hook, std::move(programs))}));
  };
  add_block_support(rows, Layer::block);
  add("block_queue", "tp_btf/block_bio_queue", {"block_bio_queue"});
  add("block_split", "tp_btf/block_split", {"block_split"});
  add("block_remap", "tp_btf/block_bio_remap", {"block_bio_remap"});
  add("block_getrq", "tp_btf/block_getrq", {"block_getrq"});
  add("block_plug", "tp_btf/block_plug", {"block_plug"});
  add("block_unplug", "tp_btf/block_unplug", {"block_unplug"});
  add("block_insert", "tp_btf/block_rq_insert", {"block_rq_insert"});
  add("block_issue", "tp_btf/block_rq_issue", {"block_rq_issue"});
  add("block_complete", kRequestHook, request_programs());
  add("block_merge", "tp_btf/block_bio_backmerge+block_bio_frontmerge+block_rq_merge",
      {"block_bio_backmerge", "block_bio_frontmerge", "block_rq_merge"});
  add("block_requeue", "tp_btf/block_rq_requeue", {"block_rq_requeue"});
  std::vector<std::string_view> of_errors = request_programs();
  of_errors.insert(of_errors.begin(), "block_rq_error");
  add("block_error", "tp_btf/block_rq_error", of_errors);
}

void add_devices(std::vector<EventHooks>& rows) {
  const auto add = [&](std::string_view event, std::string_view hook,
                       std::vector<std::string_view> programs) {
    std::ranges::copy(request_programs(), std::back_inserter(programs));
    rows.push_back(served_by(event, Layer::device, {tracepoint(hook, std::move(programs))}));
  };
  add_block_support(rows, Layer::device);
  add("device_scsi", "tp_btf/scsi_dispatch_cmd_start+done+error+timeout",
      {"scsi_dispatch_cmd_start", "scsi_dispatch_cmd_done", "scsi_dispatch_cmd_error",
       "scsi_dispatch_cmd_timeout"});
  add("device_nvme", "tp_btf/nvme_setup_cmd+nvme_complete_rq",
      {"nvme_setup_cmd", "nvme_complete_rq"});
}

void add_tasks(std::vector<EventHooks>& rows) {
  const auto add = [&](std::string_view event, std::string_view hook, std::string_view program) {
    rows.push_back(served_by(event, Layer::process, {tracepoint(hook, {program})}));
  };
  add("process_fork", "tp_btf/task_newtask", "process_task_newtask");
  add("process_exec", "tp_btf/sched_process_exec", "process_sched_process_exec");
  add("process_exit", "tp_btf/sched_process_exit", "process_sched_process_exit");
  rows.push_back(served_by(
      "sched_wait", Layer::sched,
      {tracepoint("tp_btf/sched_switch+sched_waking", {"sched_switch", "sched_waking"})}));
}

void add_memory(std::vector<EventHooks>& rows) {
  rows.push_back(
      served_by("memory_reclaim", Layer::memory,
                {tracepoint("tp_btf/mm_vmscan_direct_reclaim_begin+end, memcg_reclaim_begin+end",
                            {"memory_direct_reclaim_begin", "memory_direct_reclaim_end",
                             "memory_cgroup_reclaim_begin", "memory_cgroup_reclaim_end"}),
                 tracepoint("tp_btf/mm_vmscan_direct_reclaim_begin+end",
                            {"memory_direct_reclaim_begin", "memory_direct_reclaim_end"})}));
  constexpr std::string_view kThrottle = "tp_btf/balance_dirty_pages";
  rows.push_back(served_by("memory_throttle", Layer::memory,
                           {{"T", kThrottle, {"memory_balance_dirty"}, 8},
                            {"T", kThrottle, {"memory_balance_dirty_limits"}, 12}}));
  rows.push_back(served_by(
      "memory_kswapd", Layer::memory,
      {tracepoint("tp_btf/mm_vmscan_kswapd_wake+kswapd_sleep+lru_shrink_inactive",
                  {"memory_kswapd_wake", "memory_kswapd_sleep", "memory_kswapd_shrink"})}));
  for (const std::string_view event : {"memory_swap_in", "memory_swap_out"})
    rows.push_back(served_by(event, Layer::memory,
                             {tracepoint("tp_btf/block_bio_queue+rq_complete+bio_complete",
                                         {"memory_swap_queue", "memory_swap_rq_complete",
                                          "memory_swap_bio_complete", "block_find_functions"})}));
}

// Changes and syncs of traced tasks show which file systems belong to the recording. Syncs also
// show which tasks wait for the writes of a journal's thread.
void add_journals(std::vector<EventHooks>& rows) {
  const Alternative syncs =
      tracepoint("tp_btf/ext4_sync_file_enter+exit", {"journal_sync_enter", "journal_sync_exit"});
  const Alternative waits =
      tracepoint("tp_btf/jbd2_handle_stats, ext4_sync_fs+sync_file_enter",
                 {"journal_wait_for_change", "journal_wait_for_all", "journal_wait_for_file"});
  for (const Layer layer : {Layer::fs, Layer::block, Layer::device}) {
    rows.push_back(served_by("", layer, {syncs}));
    rows.push_back(served_by("", layer, {waits}));
  }
  rows.push_back(served_by("fs_sync", Layer::fs, {syncs}));
  rows.push_back(served_by(
      "fs_journal_commit", Layer::fs,
      {tracepoint("tp_btf/jbd2_start_commit+commit_flushing+commit_logging+run_stats+"
                  "end_commit+handle_start",
                  {"journal_start_commit", "journal_commit_flushing", "journal_commit_logging",
                   "journal_run_stats", "journal_end_commit", "journal_handle_start"})}));
  rows.push_back(served_by(
      "fs_journal_checkpoint", Layer::fs,
      {tracepoint("tp_btf/jbd2_checkpoint+checkpoint_stats+handle_start",
                  {"journal_checkpoint", "journal_checkpoint_stats", "journal_handle_start"})}));
  const auto handles = [](std::string_view hook, std::vector<std::string_view> programs) {
    programs.insert(programs.end(), {"journal_handle_start", "journal_handle_stats"});
    return tracepoint(hook, std::move(programs));
  };
  rows.push_back(
      served_by("fs_journal_handle", Layer::fs,
                {handles("tp_btf/ext4_journal_start_inode+sb, jbd2_handle_start+stats",
                         {"journal_ask_of_inode", "journal_ask_of_sb"}),
                 handles("tp_btf/ext4_journal_start, jbd2_handle_start+stats", {"journal_ask"})}));
}

// Each file system has a row: only those with a loaded module are served.
void add_file_systems(std::vector<EventHooks>& rows) {
  const auto add = [&](std::string_view event, std::vector<Alternative> alternatives) {
    rows.push_back(served_by(event, Layer::fs, std::move(alternatives)));
  };
  add("fs_allocate", {tracepoint("tp_btf/ext4_allocate_blocks+ext_map_blocks+ind_map_blocks",
                                 {"allocate_ext4_take", "allocate_ext4_take_part",
                                  "allocate_ext4_extent", "allocate_ext4_block"})});
  add("fs_allocate",
      {tracepoint("tp_btf/xfs_alloc_vextent_finish+iext_insert+bmap_post_update",
                  {"allocate_xfs_take", "allocate_xfs_insert", "allocate_xfs_update"}),
       tracepoint("tp_btf/xfs_alloc_*+iext_insert+bmap_post_update",
                  {"allocate_xfs_take_exact", "allocate_xfs_take_near", "allocate_xfs_take_size",
                   "allocate_xfs_take_small", "allocate_xfs_insert", "allocate_xfs_update"})});
  add("fs_allocate",
      {tracepoint("tp_btf/btrfs_ordered_extent_add+reserve_extent+add_delayed_data_ref",
                  {"allocate_btrfs_ordered", "allocate_btrfs_take", "allocate_btrfs_reference"})});
  // A first program without a second argument to read is refused, and the other one is tried.
  const auto reservations = [](std::string_view reserve) {
    return tracepoint("tp_btf/ext4_da_reserve_space+update_reserve_space+release_space",
                      {reserve, "reserve_ext4_placed", "reserve_ext4_released"});
  };
  add("fs_reserve", {reservations("reserve_ext4_many"), reservations("reserve_ext4_one")});
  add("fs_lock",
      {tracepoint("tp_btf/posix_lock_inode+fcntl_setlk+flock_lock_inode+locks_remove_posix, "
                  "tp_btf/sys_exit",
                  {"lock_posix", "lock_fcntl", "lock_flock", "lock_close"})});
  add("fs_rpc",
      {tracepoint("tp_btf/rpc_task_begin+end", {"rpc_begin", "rpc_end", "block_find_functions"})});
  add("fs_log_force", {tracepoint("tp_btf/xfs_log_force", {"journal_xfs_log_force"})});
  add("fs_transaction_commit", {tracepoint("tp_btf/btrfs_transaction_commit+ordered_extent_add",
                                           {"journal_btrfs_commit", "allocate_btrfs_ordered"})});
}

// The programs with parameters that differ between kernels come first.
void add_asyncs(std::vector<EventHooks>& rows) {
  const std::vector<Alternative> operations = {
      {"T",
       "tp_btf/io_uring_submit_req+io_uring_complete, sys_enter+sys_exit",
       {"async_complete_cqe", "async_submit_req", "async_req_failed", "async_queue_work"},
       3},
      {"T",
       "tp_btf/io_uring_submit_req+io_uring_complete (old), sys_enter+sys_exit",
       {"async_complete", "async_submit_req", "async_req_failed", "async_queue_work"},
       7},
      {"T",
       "tp_btf/io_uring_submit_sqe+io_uring_complete (old), sys_enter+sys_exit",
       {"async_complete", "async_submit_sqe", "async_req_failed", "async_queue_work"},
       7}};
  for (const Layer layer : {Layer::async, Layer::cache, Layer::block, Layer::device})
    rows.push_back(served_by("", layer, operations));
  rows.push_back(served_by("", Layer::async, {tracepoint("kallsyms", {"block_find_functions"})}));
  rows.push_back(served_by("async_operation", Layer::async, operations));
  rows.push_back(served_by("async_result", Layer::async, operations));
  rows.push_back(served_by("async_path", Layer::async, operations));
  rows.push_back(served_by("async_overflow", Layer::async,
                           {tracepoint("tp_btf/io_uring_cqe_overflow", {"async_cqe_overflow"})}));
  rows.push_back(served_by(
      "async_step", Layer::async,
      {tracepoint("tp_btf/io_uring_poll_arm+task_add+link+fail_link+defer+queue_async_work",
                  {"async_poll_arm", "async_task_add", "async_link", "async_fail_link",
                   "async_defer", "async_queue_work"})}));
}

// A fault is an operation of its own, which owns the work of the cache and the block layer for it.
void add_faults(std::vector<EventHooks>& rows) {
  for (const Layer layer : {Layer::cache, Layer::block, Layer::device})
    rows.push_back(served_by(
        "", layer,
        {{"F", "fentry+fexit/filemap_fault", {"fault_filemap_enter", "fault_filemap_exit"}},
         {"K",
          "kprobe+kretprobe/filemap_fault",
          {"fault_filemap_kprobe", "fault_filemap_kretprobe"}}}));
  rows.push_back(
      served_by("fault_file", Layer::fault,
                {{"F", "fentry+fexit/handle_mm_fault", {"fault_enter", "fault_exit"}},
                 {"K", "kprobe+kretprobe/handle_mm_fault", {"fault_kprobe", "fault_kretprobe"}}}));
  rows.push_back(served_by(
      "fault_page", Layer::fault,
      {tracepoint("tp_btf/mm_filemap_fault, page_fault_user", {"fault_page", "fault_user"})}));
  rows.push_back(served_by("fault_around", Layer::fault,
                           {tracepoint("tp_btf/mm_filemap_map_pages", {"fault_around"})}));
}

// The owners of connections are tracked whichever events are wanted. If a kernel passes more to one
// program, that program comes first.
void add_net(std::vector<EventHooks>& rows) {
  const auto add = [&](std::string_view event, std::vector<Alternative> alternatives) {
    rows.push_back(served_by(event, Layer::net, std::move(alternatives)));
  };
  const Alternative states =
      tracepoint("tp_btf/inet_sock_set_state+tcp_destroy_sock", {"net_set_state", "net_destroy"});
  add("", {states});
  add("net_state", {states});
  constexpr std::string_view kRetransmit = "tp_btf/tcp_retransmit_skb+tcp_retransmit_synack";
  add("net_retransmit",
      {{"T", kRetransmit, {"net_retransmit_skb_result", "net_retransmit_synack"}, 3},
       {"T", kRetransmit, {"net_retransmit_skb", "net_retransmit_synack"}, 2}});
  constexpr std::string_view kReset = "tp_btf/tcp_send_reset+tcp_receive_reset";
  add("net_reset", {{"T", kReset, {"net_send_reset_reason", "net_receive_reset"}, 3},
                    {"T", kReset, {"net_send_reset", "net_receive_reset"}, 2}});
  add("net_drop", {{"T", "tp_btf/kfree_skb", {"net_kfree_skb_of"}, 4},
                   {"T",
                    "tp_btf/kfree_skb+udp_fail_queue_rcv_skb (no receiver)",
                    {"net_udp_full", "net_kfree_skb"},
                    2},
                   {"T", "tp_btf/kfree_skb (no receiver)", {"net_kfree_skb"}, 3}});
}

std::vector<EventHooks> make_rows() {
  std::vector<EventHooks> rows;
  add_syscalls(rows);
  add_vfs_hooks(rows);
  add_cache_hooks(rows);
  add_memory(rows);
  add_journals(rows);
  add_file_systems(rows);
  add_blocks(rows);
  add_devices(rows);
  add_tasks(rows);
  add_faults(rows);
  add_asyncs(rows);
  add_net(rows);
  return rows;
}

} // namespace

std::span<const EventHooks> event_hooks() {
  static const std::vector<EventHooks> rows = make_rows();
  return rows;
}

} // namespace iotrail::capture::kernel
