/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Messages of any length to the collector, beside the records: paths, command lines, names of
 * tasks. A message is sent before the first record that refers to it.
 */
#ifndef IOTRAIL_MESSAGE_BPF_H
#define IOTRAIL_MESSAGE_BPF_H

#include "capture/kernel/abi/message_abi.h"
#include "out/ring.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, IOT_MESSAGE_BYTES);
} texts SEC(".maps");

iot_u32 last_string_id;

/* NULL: the ring is full, which is counted. `bytes` is a constant. */
static __always_inline void* reserve_message(iot_u32 type, iot_u64 bytes) {
  struct iot_message* message = bpf_ringbuf_reserve(&texts, bytes, 0);
  if (!message) {
    iot_count(IOT_COUNTER_kernel_text_full);
    return 0;
  }
  message->type = type;
  message->id = 0;
  message->bytes = 0;
  message->reserved = 0;
  return message;
}

/*
 * `length` is the result of the helper that read the string. Returns its local id; 0: it is empty
 * or unreadable.
 */
static __always_inline iot_u32 submit_string(struct iot_message_string* message, long length) {
  if (length <= 1) {
    if (length < 0)
      iot_count(IOT_COUNTER_kernel_path_unread);
    bpf_ringbuf_discard(message, BPF_RB_NO_WAKEUP);
    return 0;
  }
  const iot_u32 id = __sync_fetch_and_add(&last_string_id, 1) + 1;
  message->header.id = id;
  message->header.bytes = (iot_u32)length;
  bpf_ringbuf_submit(message, BPF_RB_NO_WAKEUP);
  return id;
}

/* `room` is a constant. 0: nothing was sent; `is_cut` is set if the string did not fit. */
static __always_inline iot_u32 send_string(iot_u64 string, const int is_of_user, const iot_u32 room,
                                           int* is_cut) {
  struct iot_message_string* message =
      reserve_message(IOT_MESSAGE_STRING, sizeof(message->header) + room);
  if (!message)
    return 0;
  const long length = is_of_user
                          ? bpf_probe_read_user_str(message->string, room, (const void*)string)
                          : bpf_probe_read_kernel_str(message->string, room, (const void*)string);
  *is_cut = length == room;
  if (room < IOT_PATH_BYTES && *is_cut) {
    bpf_ringbuf_discard(message, BPF_RB_NO_WAKEUP);
    return 0;
  }
  return submit_string(message, length);
}

/* Most strings are short: reserve little first, and much only for a string that does not fit. */
#define IOT_SHORT_STRING 256

static __always_inline iot_u32 send_string_of(iot_u64 string, const int is_of_user) {
  int is_cut = 0;
  const iot_u32 id = send_string(string, is_of_user, IOT_SHORT_STRING, &is_cut);
  return is_cut ? send_string(string, is_of_user, IOT_PATH_BYTES, &is_cut) : id;
}

/*
 * Local id of a string in the program's memory; 0: none. A NULL pointer is not an unreadable
 * string: futimens() passes one.
 */
__noinline iot_u32 iot_string_of_user(iot_u64 string) {
  return string ? send_string_of(string, 1) : 0;
}

/* The same for a string in the kernel's memory. */
__noinline iot_u32 iot_string_of_kernel(iot_u64 string) {
  return send_string_of(string, 0);
}

/* The number of a task or process in its own pid namespace. */
static __always_inline iot_u32 innermost_number(const struct pid* pid, iot_u32 level) {
  const iot_u64 at = (iot_u64)pid + bpf_core_field_offset(struct pid, numbers) +
                     (iot_u64)level * bpf_core_type_size(struct upid);
  return (iot_u32)BPF_CORE_READ((const struct upid*)at, nr);
}

static __always_inline iot_u64 namespace_of(const struct pid* pid, iot_u32 level) {
  const iot_u64 at = (iot_u64)pid + bpf_core_field_offset(struct pid, numbers) +
                     (iot_u64)level * bpf_core_type_size(struct upid);
  return BPF_CORE_READ((const struct upid*)at, ns, ns.inum);
}

/*
 * Sends both numbers of a task in a pid namespace below the initial one: the preload library knows
 * only the inner one.
 */
static __always_inline void send_task_of_namespace(const struct task_struct* task) {
  const struct pid* pid = BPF_CORE_READ(task, thread_pid);
  const iot_u32 level = BPF_CORE_READ(pid, level);
  if (!level)
    return;
  struct iot_message_task* message = reserve_message(IOT_MESSAGE_TASK, sizeof(*message));
  if (!message)
    return;
  message->start_ns = BPF_CORE_READ(task, start_time);
  message->pid_namespace = namespace_of(pid, level);
  message->pid = (iot_u32)BPF_CORE_READ(task, tgid);
  message->tid = (iot_u32)BPF_CORE_READ(task, pid);
  message->inner_pid = innermost_number(BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]), level);
  message->inner_tid = innermost_number(pid, level);
  bpf_ringbuf_submit(message, BPF_RB_NO_WAKEUP);
}

#endif
