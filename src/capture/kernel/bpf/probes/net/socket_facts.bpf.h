/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The owner and the addresses of a socket, for the records of events below the calls.
 */
#ifndef IOTRAIL_SOCKET_FACTS_BPF_H
#define IOTRAIL_SOCKET_FACTS_BPF_H

#include "track/net.bpf.h"

#define SWAP_BYTES(port) ((iot_u16)((port) << 8 | (port) >> 8))

enum { OWN_SIDE, OTHER_SIDE };

/*
 * Two fields may hold a socket's port. After the end of its connection only the second one does,
 * for a request only the first one.
 */
static __always_inline iot_u16 port_of(const struct sock_common* at, const int side, int is_whole) {
  if (side == OTHER_SIDE)
    return BPF_CORE_READ(at, skc_dport);
  const iot_u16 number = BPF_CORE_READ(at, skc_num);
  return number || !is_whole ? SWAP_BYTES(number)
                             : BPF_CORE_READ((const struct inet_sock*)at, inet_sport);
}

/* Offsets in struct sockaddr_in and sockaddr_in6. */
#define INET_BYTES 16
#define INET6_BYTES 28
#define PORT_AT 2
#define ADDRESS_AT 4
#define ADDRESS6_AT 8

/* Local id of an address of a socket; 0: none. `side` is a constant. */
static __always_inline iot_u32 send_address(const struct sock_common* at, const int side,
                                            int is_whole) {
  const iot_u16 family = BPF_CORE_READ(at, skc_family);
  struct iot_message_address* message = reserve_message(IOT_MESSAGE_ADDRESS, sizeof(*message));
  if (!message)
    return 0;
  __builtin_memset(message->address, 0, INET6_BYTES);
  *(iot_u16*)message->address = family;
  *(iot_u16*)(message->address + PORT_AT) = port_of(at, side, is_whole);
  if (family != IOT_AF_INET6)
    *(iot_u32*)(message->address + ADDRESS_AT) =
        side == OTHER_SIDE ? BPF_CORE_READ(at, skc_daddr) : BPF_CORE_READ(at, skc_rcv_saddr);
  else if (bpf_core_field_exists(at->skc_v6_daddr))
    bpf_core_read(message->address + ADDRESS6_AT, sizeof(struct in6_addr),
                  side == OTHER_SIDE ? &at->skc_v6_daddr : &at->skc_v6_rcv_saddr);
  const iot_u32 id = __sync_fetch_and_add(&last_string_id, 1) + 1;
  message->header.id = id;
  message->header.bytes = family == IOT_AF_INET6 ? INET6_BYTES : INET_BYTES;
  bpf_ringbuf_submit(message, BPF_RB_NO_WAKEUP);
  return id;
}

/* The facts about a connection, gathered before a record is reserved. */
struct socket_facts {
  struct iot_owner owner;
  iot_u64 ts_ns;
  iot_u64 connection;
  iot_u64 rtt_ns;
  iot_u32 file;
  iot_u32 local;
  iot_u32 peer;
  iot_u16 state;
  iot_u16 family;
};

#define SET_CONNECTION(record, facts)                                                              \
  do {                                                                                             \
    (record)->connection = (facts)->connection;                                                    \
    (record)->file = (facts)->file;                                                                \
    (record)->local = (facts)->local;                                                              \
    (record)->peer = (facts)->peer;                                                                \
    (record)->family = (facts)->family;                                                            \
  } while (0)

/* The addresses are those of `request`, if the kernel has no socket yet; 0: those of the socket. */
static __noinline int describe_connection(struct socket_facts* facts, iot_u64 socket,
                                          iot_u64 request) {
  const struct iot_connection* known = iot_find_connection(socket);
  if (!known || !iot_file_wanted(known->file))
    return 0;
  facts->connection = known->number;
  facts->file = known->file;
  if (!facts->owner.tid) {
    facts->owner.pid = known->pid;
    facts->owner.tid = known->tid;
  }
  facts->state = BPF_CORE_READ(SOCK_OF(socket), __sk_common.skc_state);
  facts->family = BPF_CORE_READ(SOCK_OF(socket), __sk_common.skc_family);
  facts->rtt_ns = (iot_u64)(BPF_CORE_READ(TCP_OF(socket), srtt_us) >> 3) * 1000;
  const struct sock_common* at = (const struct sock_common*)(request ? request : socket);
  facts->local = send_address(at, OWN_SIDE, !request);
  facts->peer = send_address(at, OTHER_SIDE, !request);
  return 1;
}

static __always_inline int follows_all(void) {
  return iot_config.adopt_all && is_started && !is_stopped;
}

#endif
