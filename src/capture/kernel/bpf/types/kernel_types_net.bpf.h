/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The types of sockets and TCP. Only kernel_types.bpf.h includes this file.
 */
#ifndef IOTRAIL_KERNEL_TYPES_NET_BPF_H
#define IOTRAIL_KERNEL_TYPES_NET_BPF_H

struct in6_addr {
  u32 in6_u[4];
};
/*
 * The common begin of all kinds of sockets, also of those that are only a request or wait for their
 * end.
 */
struct sock_common {
  u32 skc_daddr; /* addresses and `skc_dport` in network byte order */
  u32 skc_rcv_saddr;
  u16 skc_dport;
  u16 skc_num;
  u16 skc_family;
  u8 skc_state;
  unsigned long skc_flags;
  struct in6_addr skc_v6_daddr;
  struct in6_addr skc_v6_rcv_saddr;
};
struct socket {
  struct sock* sk;
};
struct socket_alloc {
  struct socket socket;
  struct inode vfs_inode;
};
enum sock_flags { SOCK_DONE = 1 };
struct sock {
  struct sock_common __sk_common;
  struct {
    int owned;
  } sk_lock;
  u16 sk_protocol;
  struct socket* sk_socket;
};
struct inet_sock {
  u16 inet_sport; /* in network byte order */
};
struct inet_connection_sock {
  u32 icsk_rto; /* in ticks */
};
struct tcp_sock {
  u64 bytes_sent;
  u64 bytes_retrans;
  u64 bytes_received;
  u32 total_retrans;
  u32 srtt_us; /* eight times the value */
  u32 snd_cwnd;
};
struct request_sock {
  struct sock_common __req_common;
};
struct tcp_skb_cb {
  u32 seq;
  u16 tcp_gso_segs;
};
struct bpf_iter__task_file {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
  struct file* file;
};
struct sk_buff {
  struct sock* sk;
  char cb[48];
  u32 len;
  int skb_iif; /* the device that received it; 0: none */
  unsigned char* head;
  u16 network_header; /* offsets from `head` */
  u16 transport_header;
};

#endif
