/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls to servers of network file systems, the equivalent of requests to a disk. The task of the
 * operation starts one, or the kernel thread that writes a file back. It ends in any thread.
 */
#include "out/message.bpf.h"
#include "track/attribution.bpf.h"
#include "track/core.bpf.h"
#include "track/sync_waiter.bpf.h"

/* In flight, by the kernel's record of the call. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IOT_RPC_LIMIT);
  __type(key, iot_u64);
  __type(value, struct iot_rpc);
} rpcs SEC(".maps");

/* The inode of the pages that NFS transfers or commits by this call; NULL: another kind of call. */
static __always_inline struct inode* inode_of_rpc(const struct rpc_task* call) {
  const iot_u64 done = (iot_u64)BPF_CORE_READ(call, tk_ops, rpc_call_done);
  const void* data = BPF_CORE_READ(call, tk_calldata);
  if (!done || !data)
    return 0;
  if (done == iot_functions.nfs_pgio_result)
    return BPF_CORE_READ((const struct nfs_pgio_header*)data, inode);
  if (done == iot_functions.nfs_commit_done)
    return BPF_CORE_READ((const struct nfs_commit_data*)data, inode);
  return 0;
}

/* The owner and the file. False: the call has no owner, or is not wanted. */
static __always_inline int find_caller(struct attribution* attribution,
                                       const struct rpc_task* call) {
  struct iot_task* task = iot_current();
  struct inode* inode = inode_of_rpc(call);
  if (inode) {
    if (!find_attribution(attribution, task, inode, 0))
      return 0;
    if (!attribution->owner.op_id) /* a mount without a disk is known by its own number */
      find_sync_waiter(BPF_CORE_READ(inode, i_sb, s_dev), &attribution->owner);
    return 1;
  }
  if (!task || !iot_file_wanted(0))
    return 0;
  attribution->owner = *iot_owner_of(task);
  return 1;
}

SEC("?tp_btf/rpc_task_begin")
int BPF_PROG(rpc_begin, const struct rpc_task* trusted) {
  const iot_u64 key = iot_number_of(trusted);
  const struct rpc_task* call = (const struct rpc_task*)key;
  struct attribution attribution = {};
  if (!iot_wants(IOT_KIND_fs_rpc) || !find_caller(&attribution, call)) {
    bpf_map_delete_elem(
        &rpcs, &key); /* stale entry: the previous call at this address, without a reported end */
    return 0;
  }
  const struct iot_rpc begun = {
      .owner = attribution.owner,
      .start_ns = BPF_CORE_READ(call, tk_start),
      .file = attribution.file,
      .program = iot_string_of_kernel((iot_u64)BPF_CORE_READ(call, tk_client, cl_program, name)),
      .procedure = iot_string_of_kernel((iot_u64)BPF_CORE_READ(call, tk_msg.rpc_proc, p_name)),
      .server = iot_string_of_kernel((iot_u64)BPF_CORE_READ(call, tk_xprt, address_strings[0])),
      .version = BPF_CORE_READ(call, tk_client, cl_vers)};
  if (bpf_map_update_elem(&rpcs, &key, &begun, BPF_ANY))
    iot_lose(IOT_COUNTER_kernel_rpc_untracked);
  return 0;
}

/* Data that the client keeps until its statistics, which are made after this hook. */
static __always_inline void describe_answer(struct iot_fs_rpc* record, const struct iot_rpc* begun,
                                            const struct rpc_task* call) {
  const struct rpc_rqst* request = BPF_CORE_READ(call, tk_rqstp);
  record->queued_ns = 0;
  record->rtt_ns = 0;
  record->call_bytes = 0;
  record->answer_bytes = 0;
  record->transmissions = 0;
  record->xid = 0;
  if (!request)
    return;
  const iot_s64 sent_ns = BPF_CORE_READ(request, rq_xtime);
  record->queued_ns = sent_ns > (iot_s64)begun->start_ns ? sent_ns - begun->start_ns : 0;
  record->rtt_ns = BPF_CORE_READ(request, rq_rtt);
  record->call_bytes = BPF_CORE_READ(request, rq_xmit_bytes_sent);
  record->answer_bytes = BPF_CORE_READ(request, rq_reply_bytes_recvd);
  record->transmissions = BPF_CORE_READ(request, rq_ntrans);
  record->xid = __builtin_bswap32(BPF_CORE_READ(request, rq_xid));
}

static __noinline int emit_rpc(const struct iot_rpc* begun, const struct rpc_task* call) {
  if (!begun)
    return 0;
  const iot_u64 now_ns = bpf_ktime_get_ns();
  struct iot_place place;
  struct iot_fs_rpc* record = IOT_RESERVE_COLD(fs_rpc, &place);
  if (!record)
    return 0;
  record->duration_ns = now_ns - begun->start_ns;
  record->result = BPF_CORE_READ(call, tk_status);
  record->file = begun->file;
  record->program = begun->program;
  record->procedure = begun->procedure;
  record->server = begun->server;
  record->version = begun->version;
  record->timeouts = BPF_CORE_READ(call, tk_timeouts);
  describe_answer(record, begun, call);
  iot_commit(&place, &begun->owner, begun->start_ns);
  return 0;
}

SEC("?tp_btf/rpc_task_end")
int BPF_PROG(rpc_end, const struct rpc_task* trusted) {
  const iot_u64 key = iot_number_of(trusted);
  const struct iot_rpc* found = bpf_map_lookup_elem(&rpcs, &key);
  if (!found)
    return 0;
  const struct iot_rpc begun = *found;
  bpf_map_delete_elem(&rpcs, &key);
  return is_stopped ? 0 : emit_rpc(&begun, (const struct rpc_task*)key);
}
