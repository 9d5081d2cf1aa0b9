/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * The owners of TCP connections and UDP sockets. TCP works in interrupts and in any task. A
 * connection is therefore known by the address of its socket. It is added at its first change of
 * state or first use by a traced task, and lasts until the kernel frees the socket. It belongs to
 * the task that connected or accepted it, and before that to the task that made the listening
 * socket.
 *
 * A UDP socket belongs to the task that last used it by a call on sockets. The kernel has no
 * tracepoint for its end, so it is also known by its inode: the next socket at its address has
 * another.
 *
 * A task locks a socket only while it works on it, and interrupts leave their work to that task
 * meanwhile. The operation on a locked socket is therefore the operation of the running task.
 */
#ifndef IOTRAIL_NET_BPF_H
#define IOTRAIL_NET_BPF_H

#include "track/core.bpf.h"

#define IOT_IPPROTO_TCP 6
#define IOT_IPPROTO_UDP 17
#define IOT_AF_INET 2
#define IOT_AF_INET6 10
#define SOCK_OF(socket) ((const struct sock*)(socket))
#define TCP_OF(socket) ((const struct tcp_sock*)(socket))

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, IOT_CONNECTION_LIMIT);
  __type(key, iot_u64);
  __type(value, struct iot_connection);
} connections SEC(".maps");

iot_u64 last_connection;

static __always_inline struct iot_connection* iot_find_connection(iot_u64 socket) {
  return is_stopped ? 0 : bpf_map_lookup_elem(&connections, &socket);
}

/* `from` has the owner; NULL: no room, which is counted. */
static __noinline struct iot_connection* iot_add_connection(iot_u64 socket,
                                                            struct iot_connection* from) {
  from->number = __sync_fetch_and_add(&last_connection, 1) + 1;
  from->state = BPF_CORE_READ(SOCK_OF(socket), __sk_common.skc_state);
  from->segments_sent_again = BPF_CORE_READ(TCP_OF(socket), total_retrans);
  if (bpf_map_update_elem(&connections, &socket, from, BPF_ANY))
    iot_count(IOT_COUNTER_kernel_connection_untracked);
  return bpf_map_lookup_elem(&connections, &socket);
}

/* 0: not a socket of the internet protocols. */
static __always_inline iot_u32 iot_protocol_of(const struct sock* sk) {
  const iot_u32 family = BPF_CORE_READ(sk, __sk_common.skc_family);
  return family == IOT_AF_INET || family == IOT_AF_INET6 ? BPF_CORE_READ(sk, sk_protocol) : 0;
}

static __always_inline int iot_is_tcp(const struct sock* sk) {
  return iot_protocol_of(sk) == IOT_IPPROTO_TCP;
}

/* A traced task uses a connection that is unknown, or that another task owned. */
static __noinline int iot_use_connection(struct iot_task* task, iot_u64 socket, iot_u32 file) {
  const struct iot_connection other = {
      .pid = task->owner.pid, .tid = task->owner.tid, .file = file};
  struct iot_connection* known = iot_find_connection(socket);
  if (!known) {
    if (!iot_config.adopt_all && !iot_config.filters_tasks)
      iot_count(IOT_COUNTER_kernel_connection_unknown);
    struct iot_connection added = other;
    return iot_add_connection(socket, &added) != 0;
  }
  known->pid = other.pid;
  known->tid = other.tid;
  known->file = other.file;
  return 1;
}

/* accept() has returned: the connection now belongs to the running task. Global: checked once. */
__noinline int iot_note_accepted(iot_s32 fd) {
  struct iot_task* task = iot_busy(bpf_get_current_task_btf());
  const struct file* file = (const struct file*)iot_file_pointer_of_fd(fd);
  if (!task || !file)
    return 0;
  const struct socket* socket = (const struct socket*)BPF_CORE_READ(file, private_data);
  const struct sock* sk = BPF_CORE_READ(socket, sk);
  return sk && iot_is_tcp(sk) ? iot_use_connection(task, (iot_u64)sk, iot_file_of_fd(fd)) : 0;
}

/*
 * A call on a socket has returned: a UDP socket now belongs to the running task. Global: checked
 * once.
 */
__noinline int iot_note_use_of_socket(iot_s32 fd) {
  struct iot_task* task = iot_busy(bpf_get_current_task_btf());
  const struct file* file = (const struct file*)iot_file_pointer_of_fd(fd);
  if (!task || !file || is_stopped ||
      (BPF_CORE_READ(file, f_inode, i_mode) & IOT_CHOICE_file_type) != IOT_file_type_socket)
    return 0;
  const struct socket* handle = (const struct socket*)BPF_CORE_READ(file, private_data);
  const struct sock* sk = BPF_CORE_READ(handle, sk);
  if (!sk || iot_protocol_of(sk) != IOT_IPPROTO_UDP)
    return 0;
  const iot_u64 socket = (iot_u64)sk;
  struct iot_connection added = {.pid = task->owner.pid, .tid = task->owner.tid};
  added.inode = (iot_u32)BPF_CORE_READ(file, f_inode, i_ino);
  struct iot_connection* known = bpf_map_lookup_elem(&connections, &socket);
  if (known && known->inode == added.inode && known->file) {
    known->pid = added.pid;
    known->tid = added.tid;
    return 0;
  }
  added.file = iot_file_of_fd(fd);
  iot_add_connection(socket, &added);
  return 0;
}

#endif
