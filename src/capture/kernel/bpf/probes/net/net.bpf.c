/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * TCP below the calls on sockets. All of it is rare compared to the data, so the programs are short
 * rather than fast. Helpers read the fields that all kernels have, from the socket's address as a
 * number. This also works for sockets without a type for the verifier.
 */
#include "probes/net/socket_facts.bpf.h"

/*
 * The owner of a listening socket, in the socket's storage. The kernel copies the socket for each
 * connection, with this storage.
 */
struct listener {
  iot_u32 pid;
  iot_u32 tid;
};
struct {
  __uint(type, BPF_MAP_TYPE_SK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
  __type(key, int);
  __type(value, struct listener);
} listeners SEC(".maps");

/* The task that changes this socket in an operation; NULL: none, or an untraced one. */
static __always_inline struct iot_task* user_of(iot_u64 socket) {
  return BPF_CORE_READ(SOCK_OF(socket), sk_lock.owned) ? iot_current() : 0;
}

/* A recording of the whole machine adds an existing connection, whatever its owner. */
static __always_inline void find_any(iot_u64 socket) {
  if (!follows_all() || bpf_map_lookup_elem(&connections, &socket) || !iot_is_tcp(SOCK_OF(socket)))
    return;
  struct iot_connection found = {};
  iot_add_connection(socket, &found);
}

/* The local id of a socket's file; 0: no program has it. */
static __noinline iot_u32 file_of_socket(struct iot_task* task, iot_u64 socket) {
  const iot_u64 handle = (iot_u64)BPF_CORE_READ(SOCK_OF(socket), sk_socket);
  return handle ? iot_file_of_inode(
                      task,
                      (const void*)(handle - bpf_core_field_offset(struct socket_alloc, socket) +
                                    bpf_core_field_offset(struct socket_alloc, vfs_inode)),
                      0)
                : 0;
}

/* Bytes received. The kernel counts the end of the other side's data as a byte. */
static __always_inline iot_u64 bytes_received(iot_u64 socket) {
  const iot_u64 bytes = BPF_CORE_READ(TCP_OF(socket), bytes_received);
  const iot_u64 has_ended = BPF_CORE_READ(SOCK_OF(socket), __sk_common.skc_flags) >>
                                bpf_core_enum_value(enum sock_flags, SOCK_DONE) &
                            1;
  return bytes - (bytes ? has_ended : 0);
}

/* Retransmits may have no tracepoint: docs/adr/0007. `reported`: those of this event. */
static __always_inline void count_missed_segments(struct iot_connection* known, iot_u64 socket,
                                                  iot_u32 reported) {
  const iot_u32 segments = BPF_CORE_READ(TCP_OF(socket), total_retrans);
  if ((iot_s32)(segments - known->segments_sent_again - reported) > 0)
    iot_count(IOT_COUNTER_kernel_connection_missed);
  known->segments_sent_again = segments;
}

static __noinline int emit_state(struct socket_facts* facts, iot_u64 socket, iot_u32 states,
                                 iot_u64 state_ns) {
  const iot_u64 sent_again = BPF_CORE_READ(TCP_OF(socket), bytes_retrans);
  const iot_u64 sent = BPF_CORE_READ(TCP_OF(socket), bytes_sent);
  const iot_u64 received = bytes_received(socket);
  const iot_u32 segments = BPF_CORE_READ(TCP_OF(socket), total_retrans);
  struct iot_place place;
  struct iot_net_state* record = IOT_RESERVE_COLD(net_state, &place);
  if (!record)
    return 0;
  SET_CONNECTION(record, facts);
  record->rtt_ns = facts->rtt_ns;
  record->state_ns = state_ns;
  record->bytes_sent = sent - sent_again;
  record->bytes_received = received;
  record->bytes_retransmitted = sent_again;
  record->segments_retransmitted = segments;
  record->old_state = (iot_u16)(states >> 16);
  record->new_state = (iot_u16)states;
  iot_commit(&place, &facts->owner, facts->ts_ns);
  return 0;
}

/* A connection begins, or a socket listens. NULL: it has no traced owner. */
static __always_inline struct iot_connection*
begin_connection(const struct iot_task* task, const struct listener* listener, iot_u64 socket) {
  struct iot_connection added = {};
  if (task) {
    added.pid = task->owner.pid;
    added.tid = task->owner.tid;
  } else if (listener && !is_stopped) {
    added.pid = listener->pid;
    added.tid = listener->tid;
  } else if (!follows_all()) {
    bpf_map_delete_elem(&connections, &socket); /* the end of an earlier socket was missed */
    return 0;
  }
  return iot_add_connection(socket, &added);
}

SEC("?tp_btf/inet_sock_set_state")
int BPF_PROG(net_set_state, struct sock* sk, int old_state, int new_state) {
  const iot_u64 socket = iot_number_of(sk);
  if (sk->sk_protocol != IOT_IPPROTO_TCP || old_state == new_state)
    return 0;
  struct iot_task* task = user_of(socket);
  const int is_copy = old_state == IOT_tcp_state_LISTEN && new_state == IOT_tcp_state_SYN_RECV;
  struct iot_connection* known = 0;
  if (old_state == IOT_tcp_state_CLOSE || is_copy) {
    const struct listener* listener = is_copy ? bpf_sk_storage_get(&listeners, sk, 0, 0) : 0;
    known = begin_connection(is_copy ? 0 : task, listener, socket);
  } else {
    if (task && !iot_find_connection(socket))
      iot_use_connection(task, socket, 0);
    find_any(socket);
    known = iot_find_connection(socket);
  }
  if (!known)
    return 0;
  if (task && !known->file)
    known->file = file_of_socket(task, socket);
  if (new_state == IOT_tcp_state_LISTEN) {
    struct listener own = {.pid = known->pid, .tid = known->tid};
    bpf_sk_storage_get(&listeners, sk, &own, BPF_SK_STORAGE_GET_F_CREATE);
  }
  const iot_u64 now_ns = bpf_ktime_get_ns();
  const iot_u64 state_ns = known->since_ns ? now_ns - known->since_ns : 0;
  known->since_ns = now_ns;
  const int was_change_missed = known->state != (iot_u32)old_state;
  known->state = new_state;
  if (old_state == IOT_tcp_state_SYN_RECV) /* retransmitted answers belong to the listener */
    known->segments_sent_again = BPF_CORE_READ(TCP_OF(socket), total_retrans);
  struct socket_facts facts = {.ts_ns = now_ns};
  if (task)
    facts.owner = *iot_owner_of(task);
  if (iot_wants(IOT_KIND_net_retransmit) && iot_file_wanted(known->file))
    count_missed_segments(known, socket, 0);
  if (!iot_wants(IOT_KIND_net_state) || !describe_connection(&facts, socket, 0))
    return 0;
  if (was_change_missed)
    iot_count(IOT_COUNTER_kernel_connection_missed);
  emit_state(&facts, socket, (iot_u32)old_state << 16 | (iot_u32)new_state, state_ns);
  return 0;
}

/* A packet may be dropped before anyone uses the socket again, so its file is announced here. */
static __always_inline void identify_datagrams(struct iot_connection* found,
                                               const struct file* file) {
  const struct inode* inode = BPF_CORE_READ(file, f_inode);
  struct iot_file_sight sight = {.inode = iot_number_of(inode), .file = iot_number_of(file)};
  sight.key.inode = BPF_CORE_READ(inode, i_ino);
  sight.key.device = BPF_CORE_READ(inode, i_sb, s_dev);
  sight.key.generation = BPF_CORE_READ(inode, i_generation);
  found->inode = (iot_u32)sight.key.inode;
  found->file = iot_file_register(&sight);
}

/*
 * Sends no message: files that processes have open at the start become known. The first process
 * that shares one owns it.
 */
SEC("?iter/task_file")
int net_running(struct bpf_iter__task_file* listing) {
  struct task_struct* task = listing->task;
  struct file* file = listing->file;
  struct socket* handle = task && file ? bpf_sock_from_file(file) : 0;
  struct sock* sk = handle ? handle->sk : 0;
  const iot_u32 protocol = sk ? iot_protocol_of(sk) : 0;
  if (protocol != IOT_IPPROTO_TCP && protocol != IOT_IPPROTO_UDP)
    return 0;
  const iot_u64 socket = iot_number_of(sk);
  const iot_u32 state = BPF_CORE_READ(SOCK_OF(socket), __sk_common.skc_state);
  const iot_u32 tgid = (iot_u32)task->tgid;
  const int is_wanted = iot_config.adopt_all || bpf_map_lookup_elem(&adopted_pids, &tgid);
  const int is_udp = protocol == IOT_IPPROTO_UDP;
  if (!is_wanted || tgid == recorder_tgid || (state == IOT_tcp_state_CLOSE && !is_udp) ||
      iot_find_connection(socket))
    return 0;
  struct iot_connection found = {.pid = tgid, .tid = tgid};
  if (is_udp)
    identify_datagrams(&found, file);
  struct listener own = {.pid = tgid, .tid = tgid};
  if (iot_add_connection(socket, &found) && state == IOT_tcp_state_LISTEN)
    bpf_sk_storage_get(&listeners, sk, &own, BPF_SK_STORAGE_GET_F_CREATE);
  return 0;
}

/* The last event of a socket: another may get its address from now on. */
SEC("?tp_btf/tcp_destroy_sock")
int BPF_PROG(net_destroy, struct sock* sk) {
  const iot_u64 socket = iot_number_of(sk);
  bpf_map_delete_elem(&connections, &socket);
  return 0;
}

struct packet {
  iot_u32 sequence;
  iot_u32 bytes;
  iot_u32 segments;
};

static __noinline int emit_retransmit(iot_u64 socket, iot_u64 request, const struct packet* packet,
                                      iot_s64 result) {
  find_any(socket);
  struct socket_facts facts = {.ts_ns = bpf_ktime_get_ns()};
  if (!describe_connection(&facts, socket, request))
    return 0;
  struct iot_connection* known = request ? 0 : iot_find_connection(socket);
  if (known)
    count_missed_segments(known, socket, packet->segments);
  const iot_u32 ticks = BPF_CORE_READ((const struct inet_connection_sock*)socket, icsk_rto);
  const iot_u32 window = BPF_CORE_READ(TCP_OF(socket), snd_cwnd);
  struct iot_place place;
  struct iot_net_retransmit* record = IOT_RESERVE_COLD(net_retransmit, &place);
  if (!record)
    return 0;
  SET_CONNECTION(record, &facts);
  record->rtt_ns = facts.rtt_ns;
  record->timeout_ns = request ? 0 : ticks * iot_config.tick_ns;
  record->result = result;
  record->sequence = packet->sequence;
  record->bytes = packet->bytes;
  record->segments = packet->segments;
  record->congestion_window = window;
  record->state = request ? IOT_tcp_state_SYN_RECV : facts.state;
  iot_commit(&place, &facts.owner, facts.ts_ns);
  return 0;
}

static __always_inline int emit_packet_again(const struct sock* sk, const struct sk_buff* skb,
                                             iot_s64 result) {
  const iot_u64 socket = iot_number_of(sk);
  if (!follows_all() && !iot_find_connection(socket))
    return 0;
  const struct tcp_skb_cb* control =
      (const struct tcp_skb_cb*)(iot_number_of(skb) + bpf_core_field_offset(struct sk_buff, cb));
  const struct packet packet = {.sequence = BPF_CORE_READ(control, seq),
                                .bytes = BPF_CORE_READ(skb, len),
                                .segments = BPF_CORE_READ(control, tcp_gso_segs)};
  return emit_retransmit(socket, 0, &packet, result);
}

SEC("?tp_btf/tcp_retransmit_skb")
int BPF_PROG(net_retransmit_skb, struct sock* sk, struct sk_buff* skb) {
  return emit_packet_again(sk, skb, 0);
}

SEC("?tp_btf/tcp_retransmit_skb")
int BPF_PROG(net_retransmit_skb_result, struct sock* sk, struct sk_buff* skb, int result) {
  return emit_packet_again(sk, skb, result);
}

/* The answer to a peer that wants to connect: the connection has no socket yet. */
SEC("?tp_btf/tcp_retransmit_synack")
int BPF_PROG(net_retransmit_synack, struct sock* sk, struct request_sock* request) {
  const struct packet packet = {.segments = 1};
  return emit_retransmit(iot_number_of(sk), iot_number_of(request), &packet, 0);
}

static __noinline int emit_reset(iot_u64 socket, iot_u32 direction, iot_u32 reason) {
  if (!socket)
    return 0;
  find_any(socket);
  struct iot_task* task = user_of(socket);
  struct socket_facts facts = {.ts_ns = bpf_ktime_get_ns()};
  if (task)
    facts.owner = *iot_owner_of(task);
  if (!describe_connection(&facts, socket, 0))
    return 0;
  struct iot_place place;
  struct iot_net_reset* record = IOT_RESERVE_COLD(net_reset, &place);
  if (!record)
    return 0;
  SET_CONNECTION(record, &facts);
  record->direction = (iot_u16)direction;
  record->reason = iot_config.reset_reasons[reason & (IOT_REASON_LIMIT - 1)];
  record->state = facts.state;
  iot_commit(&place, &facts.owner, facts.ts_ns);
  return 0;
}

#define NO_REASON (IOT_REASON_LIMIT - 1)

SEC("?tp_btf/tcp_send_reset")
int BPF_PROG(net_send_reset, struct sock* sk) {
  return emit_reset(iot_number_of(sk), IOT_net_direction_sent, NO_REASON);
}

SEC("?tp_btf/tcp_send_reset")
int BPF_PROG(net_send_reset_reason, struct sock* sk, void* skb, int reason) {
  return emit_reset(iot_number_of(sk), IOT_net_direction_sent, (iot_u32)reason);
}

SEC("?tp_btf/tcp_receive_reset")
int BPF_PROG(net_receive_reset, struct sock* sk) {
  return emit_reset(iot_number_of(sk), IOT_net_direction_received, NO_REASON);
}
