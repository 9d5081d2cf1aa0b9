/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
 *
 * Calls on sockets, and calls that wait for descriptors: socket, connection, sockopt, send,
 * receive, poll, epoll_ctl. A socket is a file of its own: the file joins transfers with
 * connections.
 */
#ifndef IOTRAIL_SYSCALL_NETWORK_BPF_H
#define IOTRAIL_SYSCALL_NETWORK_BPF_H

#include "probes/syscall/syscall.bpf.h"
#include "probes/syscall/syscall_data.bpf.h"

/* Local id of a struct sockaddr in the program's memory; 0: none. */
static __noinline iot_u32 iot_address_of_user(iot_u64 address, iot_u32 bytes) {
  if (!address || bytes < sizeof(iot_u16))
    return 0;
  struct iot_message_address* text = reserve_message(IOT_MESSAGE_ADDRESS, sizeof(*text));
  if (!text)
    return 0;
  if (bytes > IOT_ADDRESS_BYTES)
    bytes = IOT_ADDRESS_BYTES;
  if (bpf_probe_read_user(text->address, bytes, (const void*)address)) {
    iot_count(IOT_COUNTER_kernel_path_unread);
    bpf_ringbuf_discard(text, BPF_RB_NO_WAKEUP);
    return 0;
  }
  const iot_u32 id = __sync_fetch_and_add(&last_string_id, 1) + 1;
  text->header.id = id;
  text->header.bytes = bytes;
  bpf_ringbuf_submit(text, BPF_RB_NO_WAKEUP);
  return id;
}

/* The same if the length is in the program's memory too: the kernel has written it. */
static __always_inline iot_u32 address_of_length_at(iot_u64 address, iot_u64 length_at) {
  iot_u32 bytes = 0;
  if (!address || bpf_probe_read_user(&bytes, sizeof(bytes), (const void*)length_at))
    return 0;
  return iot_address_of_user(address, bytes);
}

/* socket(family, type, protocol), socketpair(family, type, protocol, descriptors) */
static __always_inline void emit_socket(struct returned* call) {
  const int is_one = call->number == IOT_syscall_socket && call->result >= 0;
  const iot_u32 file = is_one ? iot_file_of_fd((iot_s32)call->result) : 0;
  if (!iot_file_of_call_wanted(file))
    return;
  struct iot_place place;
  struct iot_syscall_socket* record = RESERVE_CALL(syscall_socket, &place, call);
  if (!record)
    return;
  record->file = file;
  record->family = (iot_u32)call->arguments[0];
  record->type = (iot_u32)call->arguments[1];
  record->protocol = (iot_u32)call->arguments[2];
  COMMIT_CALL(record, &place, call);
}

/* bind and connect(fd, address, bytes), listen(fd, n), shutdown(fd, how), accept4(fd, address, &bytes, flags) */
static __always_inline void emit_connection(struct returned* call) {
  const iot_u32 number = call->number;
  const int is_accept = number == IOT_syscall_accept || number == IOT_syscall_accept4;
  const struct object object = object_of(call);
  const iot_u32 accepted =
      is_accept && call->result >= 0 ? iot_file_of_fd((iot_s32)call->result) : 0;
  if (!iot_file_of_call_wanted(object.file))
    return;
  iot_u32 address = 0;
  iot_u32 argument = 0;
  if (number == IOT_syscall_bind || number == IOT_syscall_connect)
    address = iot_address_of_user(call->arguments[1], (iot_u32)call->arguments[2]);
  else if (!is_accept)
    argument = (iot_u32)call->arguments[1];
  else if (call->result >= 0)
    address = address_of_length_at(call->arguments[1], call->arguments[2]);
  if (number == IOT_syscall_accept4)
    argument = (iot_u32)call->arguments[3];
  struct iot_place place;
  struct iot_syscall_connection* record = RESERVE_CALL(syscall_connection, &place, call);
  if (!record)
    return;
  record->file = object.file;
  record->accepted = accepted;
  record->address = address;
  record->fd = object.fd;
  record->argument = argument;
  COMMIT_CALL(record, &place, call);
}

/* struct msghdr, as far as it is read. */
struct program_message {
  iot_u64 name;
  iot_u32 name_bytes;
  iot_u32 padding;
  iot_u64 vector;
  iot_u64 parts;
};
struct compat_message {
  iot_u32 name;
  iot_u32 name_bytes;
  iot_u32 vector;
  iot_u32 parts;
};
#define MESSAGE_BYTES                                                                              \
  56 /* of struct msghdr; in an array each is followed by the bytes moved, and padding */
#define COMPAT_MESSAGE_BYTES 28

static __always_inline void read_message(struct program_message* message, iot_u64 at,
                                         iot_u32 is_compat) {
  struct compat_message narrow = {};
  if (!is_compat) {
    bpf_probe_read_user(message, sizeof(*message), (const void*)at);
    return;
  }
  bpf_probe_read_user(&narrow, sizeof(narrow), (const void*)at);
  message->name = narrow.name;
  message->name_bytes = narrow.name_bytes;
  message->vector = narrow.vector;
  message->parts = narrow.parts;
}

struct message_sum {
  iot_u64 messages;
  iot_u64 sum;
  iot_u32 is_compat;
};

static long add_message(iot_u32 index, struct message_sum* of) {
  const iot_u64 header = of->is_compat ? COMPAT_MESSAGE_BYTES : MESSAGE_BYTES;
  const iot_u64 stride = of->is_compat ? COMPAT_MESSAGE_BYTES + 4 : MESSAGE_BYTES + 8;
  iot_u32 bytes = 0;
  bpf_probe_read_user(&bytes, sizeof(bytes), (const void*)(of->messages + index * stride + header));
  of->sum += bytes;
  return 0;
}

/* Bytes that `count` messages moved. */
__noinline iot_u64 iot_message_bytes(iot_u64 messages, iot_u32 count, iot_u32 is_compat) {
  struct message_sum of = {.messages = messages, .is_compat = is_compat};
  bpf_loop(count < IOT_VECTOR_LIMIT ? count : IOT_VECTOR_LIMIT, add_message, &of, 0);
  return of.sum;
}

_Static_assert(sizeof(struct iot_syscall_send) == sizeof(struct iot_syscall_receive), "one shape");

/* sendto(fd, buffer, bytes, flags, address, bytes), sendmsg(fd, message, flags), sendmmsg(fd, messages, n, flags) */
static __always_inline void emit_message(struct returned* call) {
  const iot_u32 number = call->number;
  const int is_plain = number == IOT_syscall_sendto || number == IOT_syscall_recvfrom;
  const int is_many = number == IOT_syscall_sendmmsg || number == IOT_syscall_recvmmsg;
  const struct object object = object_of(call);
  if (!iot_file_of_call_wanted(object.file))
    return;
  iot_u64 bytes = call->arguments[2];
  iot_u32 address = 0;
  if (number == IOT_syscall_sendto) {
    address = iot_address_of_user(call->arguments[4], (iot_u32)call->arguments[5]);
  } else if (number == IOT_syscall_recvfrom) {
    address = call->result < 0 ? 0 : address_of_length_at(call->arguments[4], call->arguments[5]);
  } else {
    struct program_message message = {};
    read_message(&message, call->arguments[1], call->is_compat);
    bytes = iot_vector_bytes(message.vector, (iot_u32)message.parts, call->is_compat);
    if (kind_of(call) == IOT_KIND_syscall_send || call->result >= 0)
      address = iot_address_of_user(message.name, message.name_bytes);
  }
  if (is_many && call->result > 0)
    call->result =
        (iot_s64)iot_message_bytes(call->arguments[1], (iot_u32)call->result, call->is_compat);
  struct iot_place place;
  struct iot_syscall_send* record = reserve_call(&place, kind_of(call), call);
  if (!record)
    return;
  record->bytes_requested = bytes;
  record->file = object.file;
  record->address = address;
  record->fd = object.fd;
  record->flags = (iot_u32)(is_plain || is_many ? call->arguments[3] : call->arguments[2]);
  COMMIT_CALL(record, &place, call);
}

#define WITHOUT_END (-1)
#define LONGEST_S 9223372035LL /* the nanoseconds fit an iot_s64 */

/* A struct timespec in the program's memory, or a struct timeval with fractions of `unit_ns`. */
static __noinline iot_s64 iot_timeout_at(iot_u64 address, iot_u32 unit_ns, iot_u32 is_narrow) {
  iot_s64 parts[2] = {};
  iot_s32 narrow[2] = {};
  if (!address)
    return WITHOUT_END;
  if (is_narrow ? bpf_probe_read_user(narrow, sizeof(narrow), (const void*)address)
                : bpf_probe_read_user(parts, sizeof(parts), (const void*)address)) {
    iot_count(IOT_COUNTER_kernel_path_unread);
    return WITHOUT_END;
  }
  iot_s64 seconds = is_narrow ? narrow[0] : parts[0];
  const iot_s64 fraction = is_narrow ? narrow[1] : parts[1];
  if (seconds > LONGEST_S || seconds < -LONGEST_S)
    seconds = seconds < 0 ? -LONGEST_S : LONGEST_S;
  return seconds * 1000000000LL + fraction * unit_ns;
}

/* Numbers of 32-bit calls that use the wide struct timespec all the same. */
#define PSELECT6_TIME64 413
#define PPOLL_TIME64 414

/*
 * Runs at the entry: the kernel overwrites the timeout with the rest of it. `own_number` is the
 * number that the program gave.
 */
static __always_inline iot_s64 begin_poll(const struct pt_regs* regs, iot_u64 call,
                                          iot_u64 own_number) {
  const iot_u32 number = IOT_CALL_NUMBER(call);
  const iot_u32 index = number == IOT_syscall_ppoll ? 2 : 4;
  const int is_compat = (call & IOT_CALL_COMPAT) != 0;
  const int is_narrow = is_compat && own_number != PSELECT6_TIME64 && own_number != PPOLL_TIME64;
  return iot_timeout_at(is_compat ? argument_of(regs, index, 1) : argument_of(regs, index, 0),
                        number == IOT_syscall_select ? 1000 : 1, (iot_u32)is_narrow);
}

static __always_inline iot_s64 timeout_of(const struct returned* call) {
  switch (call->number) {
  case IOT_syscall_select:
  case IOT_syscall_pselect6:
  case IOT_syscall_ppoll:
    return call->task->timeout_ns;
  case IOT_syscall_epoll_pwait2:
    return iot_timeout_at(call->arguments[3], 1, 0);
  default: {
    const int is_poll = call->number == IOT_syscall_poll;
    const iot_s32 timeout_ms = (iot_s32)(is_poll ? call->arguments[2] : call->arguments[3]);
    return timeout_ms < 0 ? WITHOUT_END : timeout_ms * 1000000LL;
  }
  }
}

/* poll(descriptors, n, timeout), select(n, ...), epoll_wait(fd, events, n, timeout), and their like */
static __always_inline void emit_poll(struct returned* call) {
  const iot_u32 number = call->number;
  const int is_epoll = IOT_CALL_FD(call->task->call) != 0;
  const int is_select = number == IOT_syscall_select || number == IOT_syscall_pselect6;
  const struct object object = object_of(call);
  if (!iot_file_of_call_wanted(object.file))
    return;
  struct iot_place place;
  struct iot_syscall_poll* record = RESERVE_CALL(syscall_poll, &place, call);
  if (!record)
    return;
  record->file = object.file;
  record->fd = object.fd;
  record->watched = (iot_u32)(is_epoll    ? call->arguments[2]
                              : is_select ? call->arguments[0]
                                          : call->arguments[1]);
  record->timeout_ns = timeout_of(call);
  COMMIT_CALL(record, &place, call);
}

/* struct epoll_event of x86-64, which has no padding. */
struct watched_events {
  iot_u32 events;
  iot_u32 data[2];
};

/* epoll_ctl(fd, operation, watched fd, events) */
static __always_inline void emit_epoll_ctl(struct returned* call) {
  const struct object object = object_of(call);
  const iot_s32 watched_fd = (iot_s32)call->arguments[2];
  const iot_u32 watched = iot_file_of_fd(watched_fd);
  if (!iot_file_of_call_wanted(object.file) && !iot_file_wanted(watched))
    return;
  struct watched_events wanted = {};
  if ((iot_u32)call->arguments[1] != IOT_epoll_operation_EPOLL_CTL_DEL &&
      bpf_probe_read_user(&wanted, sizeof(wanted), (const void*)call->arguments[3]))
    iot_count(IOT_COUNTER_kernel_path_unread);
  struct iot_place place;
  struct iot_syscall_epoll_ctl* record = RESERVE_CALL(syscall_epoll_ctl, &place, call);
  if (!record)
    return;
  record->data = (iot_u64)wanted.data[1] << 32 | wanted.data[0];
  record->file = object.file;
  record->watched = watched;
  record->fd = object.fd;
  record->watched_fd = watched_fd;
  record->operation = (iot_u32)call->arguments[1];
  record->events = wanted.events;
  COMMIT_CALL(record, &place, call);
}

static __always_inline iot_u32 shape_of_option(iot_u32 option) {
  switch (option) {
#define SOCKET_OPTION(name, shape)                                                                 \
  case IOT_socket_option_##name:                                                                   \
    return IOT_socket_value_##shape;
#include "socket_options.def"
#undef SOCKET_OPTION
  default:
    return IOT_socket_value_int;
  }
}

/* Local id of a string in the program's memory that ends after so many bytes or before; 0: none. */
static __noinline iot_u32 iot_string_of_bytes(iot_u64 address, iot_u32 bytes) {
  struct iot_message_string* text =
      reserve_message(IOT_MESSAGE_STRING, sizeof(text->header) + IOT_NAME_BYTES);
  if (!text)
    return 0;
  if (bytes >= IOT_NAME_BYTES)
    bytes = IOT_NAME_BYTES - 1;
  return submit_string(text,
                       bpf_probe_read_user_str(text->string, bytes + 1, (const void*)address));
}

#define LINGER_OFF (-1)
struct program_linger {
  iot_s32 is_on;
  iot_u32 seconds;
};

/* The available bytes of a number with `room` bytes, a constant; the number is 0 before. */
static __always_inline void read_at_most(void* number, const iot_u32 room, iot_u64 address,
                                         iot_u32 bytes) {
  if (bytes > room)
    bytes = room;
  bpf_probe_read_user(number, bytes, (const void*)address);
}

/* Reads a value of `shape` at `address`, if it has enough bytes. */
static __always_inline iot_s64 number_of_option(iot_u32 shape, iot_u64 address, iot_u32 bytes,
                                                iot_u32 is_narrow) {
  struct program_linger linger = {};
  iot_s64 time_ns = 0;
  iot_u64 wide = 0;
  iot_s32 value = 0;
  switch (shape) {
  case IOT_socket_value_text:
    return 0;
  case IOT_socket_value_duration_ns:
    time_ns = bytes >= (is_narrow ? 8 : 16) ? iot_timeout_at(address, 1000, is_narrow) : 0;
    return time_ns == WITHOUT_END ? 0
                                  : time_ns; /* it is not there: whole microseconds are not -1 */
  case IOT_socket_value_linger_s:
    if (bytes < sizeof(linger) ||
        bpf_probe_read_user(&linger, sizeof(linger), (const void*)address))
      return 0;
    return linger.is_on ? (iot_s64)linger.seconds : LINGER_OFF;
  case IOT_socket_value_u64:
    read_at_most(&wide, sizeof(wide), address, bytes);
    return (iot_s64)wide;
  default:
    read_at_most(&value, sizeof(value), address, bytes);
    return value;
  }
}

/* setsockopt(fd, level, option, value, bytes), getsockopt(fd, level, option, value, &bytes) */
static __always_inline void emit_sockopt(struct returned* call) {
  const struct object object = object_of(call);
  if (!iot_file_of_call_wanted(object.file))
    return;
  const iot_u64 address = call->arguments[3];
  iot_u32 bytes = (iot_u32)call->arguments[4];
  const int is_get = call->number == IOT_syscall_getsockopt;
  if (is_get) {
    bytes = 0;
    bpf_probe_read_user(&bytes, sizeof(bytes), (const void*)call->arguments[4]);
  }
  const iot_u32 option = (iot_u32)call->arguments[1] << 16 | (iot_u16)call->arguments[2];
  const iot_u32 shape = shape_of_option(option);
  /* 32-bit programs use a narrow struct timeval for the older options. */
  const iot_u32 is_narrow = call->is_compat && option != IOT_socket_option_SO_RCVTIMEO_NEW &&
                            option != IOT_socket_option_SO_SNDTIMEO_NEW;
  const int has_value = !(is_get && call->result < 0);
  const iot_s64 value = has_value ? number_of_option(shape, address, bytes, is_narrow) : 0;
  const iot_u32 text = has_value && shape == IOT_socket_value_text && address && bytes
                           ? iot_string_of_bytes(address, bytes)
                           : 0;
  struct iot_place place;
  struct iot_syscall_sockopt* record = RESERVE_CALL(syscall_sockopt, &place, call);
  if (!record)
    return;
  record->value = value;
  record->file = object.file;
  record->fd = object.fd;
  record->option = option;
  record->bytes = bytes;
  record->shape = shape;
  record->text = text;
  COMMIT_CALL(record, &place, call);
}

#endif
