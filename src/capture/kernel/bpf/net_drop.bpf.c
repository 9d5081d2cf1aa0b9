/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Packets that the kernel throws away instead of passing them on.
 */
#include "net_told.bpf.h"

/* Reasons of other parts of the kernel, which number theirs by themselves, lie above. */
static __always_inline iot_u16 drop_reason_of(iot_u32 reason) {
  return reason < IOT_REASON_LIMIT ? iot_config.drop_reasons[reason] : IOT_drop_reason_other;
}

/* Packets that came, and that are still in the queue of a socket when it is closed, are no drops; 6.1 has no name for them. */
static __always_inline int is_left_behind(iot_u64 socket, iot_u32 reason) {
  return reason == IOT_drop_reason_QUEUE_PURGE ||
         (reason == IOT_drop_reason_NOT_SPECIFIED &&
          BPF_CORE_READ(SOCK_OF(socket), __sk_common.skc_state) == IOT_tcp_state_CLOSE);
}

static __noinline int emit_drop(iot_u64 socket, iot_u32 is_received, iot_u32 bytes,
                                iot_u32 reason) {
  struct told told = {.ts_ns = bpf_ktime_get_ns()};
  if (is_left_behind(socket, drop_reason_of(reason)) || !describe_connection(&told, socket, 0))
    return 0;
  struct iot_place place;
  struct iot_net_drop* record = IOT_RESERVE_SELDOM(net_drop, &place);
  if (!record)
    return 0;
  TELL_CONNECTION(record, &told);
  record->bytes = bytes;
  record->kernel_reason = reason;
  record->direction = is_received ? IOT_net_direction_received : IOT_net_direction_sent;
  record->reason = drop_reason_of(reason);
  record->state = told.state;
  iot_commit(&place, &told.owner, told.ts_ns);
  return 0;
}

/* Passed for any packet of the machine, so what is not ours leaves first thing. */
static __always_inline int drop_of(iot_u64 receiver, const struct sk_buff* skb, iot_u32 reason) {
  const iot_u64 sender = iot_number_of(IOT_UNTRUSTED(sk_buff, skb)->sk);
  const iot_u64 socket = receiver ? receiver : sender;
  if (!socket || !iot_find_connection(socket))
    return 0;
  return emit_drop(socket, receiver || skb->skb_iif, skb->len, reason);
}

SEC("?tp_btf/kfree_skb")
int BPF_PROG(net_kfree_skb, struct sk_buff* skb, void* place, int reason) {
  return drop_of(0, skb, (iot_u32)reason);
}

SEC("?tp_btf/kfree_skb")
int BPF_PROG(net_kfree_skb_of, struct sk_buff* skb, void* place, int reason, struct sock* sk) {
  return drop_of(iot_number_of(sk), skb, (iot_u32)reason);
}
