/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Packets that the kernel drops: those of TCP connections, and UDP datagrams, which a socket loses
 * most often because its program does not read them in time.
 */
#include "probes/net/socket_facts.bpf.h"

#define PACKET_OF(packet) ((const struct sk_buff*)(packet))

/* The known part of a dropped packet. Addresses: the sender's, the receiver's. */
enum { SENDER, RECEIVER };
struct packet_told {
  iot_u32 is_received;
  iot_u32 bytes;
  iot_u32 reason;   /* in the numbers of the kernel */
  iot_u16 version;  /* of IP */
  iot_u16 ports[2]; /* in network byte order */
  iot_u8 addresses[2][16];
};

/* Offsets in the headers of IP and UDP. */
#define IP4_ADDRESSES_AT 12
#define IP6_ADDRESSES_AT 8
#define IP4_ADDRESS_BYTES 4
#define IP6_ADDRESS_BYTES 16

static __noinline int look_at_packet(struct packet_told* facts, iot_u64 packet) {
  if (!facts)
    return 0;
  const iot_u64 head = (iot_u64)BPF_CORE_READ(PACKET_OF(packet), head);
  const iot_u64 network = head + BPF_CORE_READ(PACKET_OF(packet), network_header);
  const iot_u64 transport = head + BPF_CORE_READ(PACKET_OF(packet), transport_header);
  iot_u8 first = 0;
  bpf_probe_read_kernel(&first, sizeof(first), (const void*)network);
  facts->version = first >> 4;
  bpf_probe_read_kernel(facts->ports, sizeof(facts->ports), (const void*)transport);
  if (facts->version == 6) {
    bpf_probe_read_kernel(facts->addresses, 2 * IP6_ADDRESS_BYTES,
                          (const void*)(network + IP6_ADDRESSES_AT));
    return 0;
  }
  const iot_u64 at = network + IP4_ADDRESSES_AT;
  bpf_probe_read_kernel(facts->addresses[SENDER], IP4_ADDRESS_BYTES, (const void*)at);
  bpf_probe_read_kernel(facts->addresses[RECEIVER], IP4_ADDRESS_BYTES,
                        (const void*)(at + IP4_ADDRESS_BYTES));
  return 0;
}

/* Local id of the address of one end of a packet; 0: none. */
static __noinline iot_u32 send_end(const struct packet_told* packet, iot_u32 end) {
  struct iot_message_address* message = reserve_message(IOT_MESSAGE_ADDRESS, sizeof(*message));
  if (!message)
    return 0;
  const int is_receiver = end == RECEIVER;
  const iot_u8* address = is_receiver ? packet->addresses[RECEIVER] : packet->addresses[SENDER];
  const int is_v6 = packet->version == 6;
  __builtin_memset(message->address, 0, INET6_BYTES);
  *(iot_u16*)message->address = is_v6 ? IOT_AF_INET6 : IOT_AF_INET;
  *(iot_u16*)(message->address + PORT_AT) =
      is_receiver ? packet->ports[RECEIVER] : packet->ports[SENDER];
  if (is_v6)
    __builtin_memcpy(message->address + ADDRESS6_AT, address, IP6_ADDRESS_BYTES);
  else
    __builtin_memcpy(message->address + ADDRESS_AT, address, IP4_ADDRESS_BYTES);
  const iot_u32 id = __sync_fetch_and_add(&last_string_id, 1) + 1;
  message->header.id = id;
  message->header.bytes = is_v6 ? INET6_BYTES : INET_BYTES;
  bpf_ringbuf_submit(message, BPF_RB_NO_WAKEUP);
  return id;
}

/* The inode of a socket, as a number; 0: no program has it. */
static __always_inline iot_u64 inode_of_socket(iot_u64 socket) {
  const iot_u64 handle = (iot_u64)BPF_CORE_READ(SOCK_OF(socket), sk_socket);
  return handle ? handle - bpf_core_field_offset(struct socket_alloc, socket) +
                      bpf_core_field_offset(struct socket_alloc, vfs_inode)
                : 0;
}

/*
 * A structure that only begins like a socket, such as a request, has no protocol: the state of a
 * UDP socket is one of two.
 */
static __always_inline int is_udp(iot_u64 socket) {
  const iot_u32 state = BPF_CORE_READ(SOCK_OF(socket), __sk_common.skc_state);
  return (state == IOT_tcp_state_CLOSE || state == IOT_tcp_state_ESTABLISHED) &&
         iot_protocol_of(SOCK_OF(socket)) == IOT_IPPROTO_UDP;
}

/*
 * The owner of a UDP socket; NULL: not a traced task, or the entry is of an earlier socket at its
 * address.
 */
static __always_inline const struct iot_connection* find_datagrams(iot_u64 socket) {
  const iot_u64 inode = inode_of_socket(socket);
  const iot_u32 number = inode ? (iot_u32)BPF_CORE_READ((const struct inode*)inode, i_ino) : 0;
  const struct iot_connection* known = iot_find_connection(socket);
  if (known && known->inode == number)
    return known;
  if (!follows_all() || iot_config.filters_tasks)
    return 0;
  struct iot_connection found = {.inode = number, .file = inode ? iot_file_known(inode) : 0};
  return iot_add_connection(socket, &found);
}

/*
 * Fragments have no ports, and packets of a tunnel have other ones: their ends are those of the
 * socket.
 */
static __noinline int tell_ends(struct socket_facts* facts, iot_u64 socket,
                                const struct packet_told* packet) {
  if (!facts || !packet)
    return 0;
  const struct sock_common* at = (const struct sock_common*)socket;
  const iot_u16 own_port = port_of(at, OWN_SIDE, 1);
  if (packet->is_received && packet->ports[RECEIVER] == own_port) {
    facts->local = send_end(packet, RECEIVER);
    facts->peer = send_end(packet, SENDER);
  } else if (!packet->is_received && packet->ports[SENDER] == own_port) {
    facts->local = send_end(packet, SENDER);
    facts->peer = send_end(packet, RECEIVER);
  } else {
    facts->local = send_address(at, OWN_SIDE, 1);
    facts->peer = facts->state == IOT_tcp_state_ESTABLISHED ? send_address(at, OTHER_SIDE, 1) : 0;
  }
  return 0;
}

static __noinline int describe_datagram(struct socket_facts* facts, iot_u64 socket,
                                        const struct packet_told* packet) {
  if (!facts || !packet)
    return 0;
  const struct iot_connection* known = find_datagrams(socket);
  if (!known || !iot_file_wanted(known->file))
    return 0;
  facts->connection = known->number;
  facts->file = known->file;
  facts->owner.pid = known->pid;
  facts->owner.tid = known->tid;
  facts->state = BPF_CORE_READ(SOCK_OF(socket), __sk_common.skc_state);
  facts->family = BPF_CORE_READ(SOCK_OF(socket), __sk_common.skc_family);
  tell_ends(facts, socket, packet);
  return 1;
}

/* Other parts of the kernel number their own reasons above these. */
static __always_inline iot_u16 drop_reason_of(iot_u32 reason) {
  return reason < IOT_REASON_LIMIT ? iot_config.drop_reasons[reason] : IOT_drop_reason_other;
}

/*
 * Received packets that are still queued when a socket is closed are no drops. 6.1 has no name for
 * the reason.
 */
static __always_inline int is_left_behind(iot_u64 socket, iot_u32 reason, int of_udp) {
  return reason == IOT_drop_reason_QUEUE_PURGE ||
         (!of_udp && reason == IOT_drop_reason_NOT_SPECIFIED &&
          BPF_CORE_READ(SOCK_OF(socket), __sk_common.skc_state) == IOT_tcp_state_CLOSE);
}

static __noinline int emit_drop(iot_u64 socket, const struct packet_told* packet, iot_u32 of_udp) {
  struct socket_facts facts = {.ts_ns = bpf_ktime_get_ns()};
  if (!packet || is_left_behind(socket, drop_reason_of(packet->reason), (int)of_udp) ||
      !(of_udp ? describe_datagram(&facts, socket, packet)
               : describe_connection(&facts, socket, 0)))
    return 0;
  struct iot_place place;
  struct iot_net_drop* record = IOT_RESERVE_COLD(net_drop, &place);
  if (!record)
    return 0;
  SET_CONNECTION(record, &facts);
  record->bytes = packet->bytes;
  record->kernel_reason = packet->reason;
  record->direction = packet->is_received ? IOT_net_direction_received : IOT_net_direction_sent;
  record->reason = drop_reason_of(packet->reason);
  record->state = facts.state;
  record->protocol = of_udp ? IOT_IPPROTO_UDP : IOT_IPPROTO_TCP;
  iot_commit(&place, &facts.owner, facts.ts_ns);
  return 0;
}

/*
 * If the kernel names no receiver, it reports a full socket on the same CPU right after the drop.
 */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, iot_u32);
  __type(value, struct packet_told);
} last_dropped SEC(".maps");

static __always_inline struct packet_told* last_dropped_here(void) {
  const iot_u32 only = 0;
  return bpf_map_lookup_elem(&last_dropped, &only);
}

/* Runs for any packet of the machine, so it returns first if the packet is not traced. */
static __always_inline int drop_of(iot_u64 receiver, const struct sk_buff* skb, iot_u32 reason) {
  const iot_u64 sender = iot_number_of(IOT_UNTRUSTED(sk_buff, skb)->sk);
  const iot_u64 socket = receiver ? receiver : sender;
  if (!socket || (!iot_find_connection(socket) && !follows_all()))
    return 0;
  struct packet_told packet = {
      .is_received = receiver || skb->skb_iif, .bytes = skb->len, .reason = reason};
  const int of_udp = is_udp(socket);
  if (of_udp)
    look_at_packet(&packet, iot_number_of(skb));
  else if (!iot_find_connection(socket))
    return 0;
  return emit_drop(socket, &packet, (iot_u32)of_udp);
}

SEC("?tp_btf/kfree_skb")
int BPF_PROG(net_kfree_skb, struct sk_buff* skb, void* place, int reason) {
  const iot_u16 why = drop_reason_of((iot_u32)reason);
  struct packet_told* last = last_dropped_here();
  if (last && (why == IOT_drop_reason_SOCKET_RCVBUFF || why == IOT_drop_reason_PROTO_MEM)) {
    *last = (struct packet_told){.is_received = 1, .bytes = skb->len, .reason = (iot_u32)reason};
    look_at_packet(last, iot_number_of(skb));
    return 0;
  }
  return drop_of(0, skb, (iot_u32)reason);
}

SEC("?tp_btf/kfree_skb")
int BPF_PROG(net_kfree_skb_of, struct sk_buff* skb, void* place, int reason, struct sock* sk) {
  return drop_of(iot_number_of(sk), skb, (iot_u32)reason);
}

SEC("?tp_btf/udp_fail_queue_rcv_skb")
int BPF_PROG(net_udp_full, int error, struct sock* sk) {
  const iot_u64 socket = iot_number_of(sk);
  const struct packet_told* last = last_dropped_here();
  if (!last || (!iot_find_connection(socket) && !follows_all()))
    return 0;
  return emit_drop(socket, last, 1);
}
