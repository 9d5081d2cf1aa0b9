// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/unfinished/call_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "capture/kernel/unfinished/unfinished_record.hpp"

namespace iotrail::capture::kernel {
namespace {

// Removes the next word from `text` and returns it.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<iot_u64> number_of(std::string_view word, int base) {
  if (base == 16) {
    if (!word.starts_with("0x"))
      return {};
    word.remove_prefix(2);
  }
  iot_u64 number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  if (error != std::errc() || end != word.data() + word.size())
    return {};
  return number;
}

// Empty: the thread is gone.
std::string read_call(iot_u32 tid) {
  std::ifstream file(fmt::format("/proc/{}/syscall", tid));
  std::string text;
  std::getline(file, text);
  return text;
}

// A vector's bytes are in memory.
bool has_one_buffer(iot_u32 number) {
  return number == IOT_syscall_read || number == IOT_syscall_write ||
         number == IOT_syscall_pread64 || number == IOT_syscall_pwrite64;
}

void set_transfer(iot_syscall_read& transfer, iot_u32 number, const Arguments& arguments) {
  if (!has_one_buffer(number))
    return;
  transfer.bytes_requested = arguments[2];
  if (number == IOT_syscall_pread64 || number == IOT_syscall_pwrite64)
    transfer.offset = static_cast<iot_s64>(arguments[3]);
}

void set_message(iot_syscall_send& message, iot_u32 number, const Arguments& arguments) {
  const bool is_one_buffer = number == IOT_syscall_sendto || number == IOT_syscall_recvfrom;
  const bool is_one_message = number == IOT_syscall_sendmsg || number == IOT_syscall_recvmsg;
  if (is_one_buffer)
    message.bytes_requested = arguments[2];
  message.flags = static_cast<iot_u32>(arguments[is_one_message ? 2 : 3]);
}

// Flags and mode of openat2 are in memory.
void set_open(iot_syscall_open& open, iot_u32 number, const Arguments& arguments) {
  const auto flags = [&](std::size_t place) { return static_cast<iot_u32>(arguments[place]); };
  if (number == IOT_syscall_openat) {
    open.flags = flags(2);
    open.mode = flags(3);
  } else if (number == IOT_syscall_open) {
    open.flags = flags(1);
    open.mode = flags(2);
  } else if (number == IOT_syscall_open_by_handle_at) {
    open.flags = flags(2);
  } else if (number == IOT_syscall_creat) {
    open.flags = IOT_open_O_CREAT | IOT_open_O_WRONLY | IOT_open_O_TRUNC;
    open.mode = flags(1);
  }
}

// The index of the descriptor arguments of a call between files; -1: it is no such call.
struct CopyPlaces {
  iot_u32 number;
  int in_fd, out_fd, bytes;
};
constexpr CopyPlaces kCopyPlaces[] = {
    {IOT_syscall_sendfile, 1, 0, 3},   {IOT_syscall_copy_file_range, 0, 2, 4},
    {IOT_syscall_splice, 0, 2, 4},     {IOT_syscall_tee, 0, 1, 2},
    {IOT_syscall_vmsplice, -1, 0, -1},
};

void set_copy(iot_syscall_copy& copy, iot_u32 number, const Arguments& arguments) {
  const auto* places = std::ranges::find(kCopyPlaces, number, &CopyPlaces::number);
  if (places == std::end(kCopyPlaces))
    return;
  const auto argument = [&](int place) { return arguments[static_cast<std::size_t>(place)]; };
  if (places->in_fd >= 0)
    copy.in_fd = static_cast<iot_s32>(argument(places->in_fd));
  copy.out_fd = static_cast<iot_s32>(argument(places->out_fd));
  copy.in_position = copy.out_position = IOT_OFFSET_NONE;
  if (places->bytes >= 0)
    copy.bytes_requested = argument(places->bytes);
}

iot_s64 timeout_ns_of(iot_u64 milliseconds) {
  constexpr iot_s64 kNsInMs = 1'000'000;
  const auto timeout = static_cast<iot_s32>(milliseconds);
  return timeout < 0 ? -1 : timeout * kNsInMs;
}

// For calls with a timeout in memory: the timeout at their entry.
void set_poll(iot_syscall_poll& poll, const iot_task& task, const Arguments& arguments) {
  const iot_u32 number = IOT_CALL_NUMBER(task.call);
  const bool is_select = number == IOT_syscall_select || number == IOT_syscall_pselect6;
  const bool is_poll = number == IOT_syscall_poll || number == IOT_syscall_ppoll;
  poll.watched = static_cast<iot_u32>(arguments[is_select ? 0 : is_poll ? 1 : 2]);
  if (number == IOT_syscall_poll)
    poll.timeout_ns = timeout_ns_of(arguments[2]);
  else if (number == IOT_syscall_epoll_wait || number == IOT_syscall_epoll_pwait)
    poll.timeout_ns = timeout_ns_of(arguments[3]);
  else if (number != IOT_syscall_epoll_pwait2)
    poll.timeout_ns = task.timeout_ns;
}

} // namespace

std::optional<Arguments> parse_arguments(std::string_view text, iot_u32 number) {
  if (number_of(take_word(text), 10) != number)
    return {};
  Arguments arguments{};
  for (iot_u64& argument : arguments) {
    const auto value = number_of(take_word(text), 16);
    if (!value)
      return {};
    argument = *value;
  }
  return arguments;
}

std::optional<Arguments> read_arguments(iot_u32 tid, iot_u32 number) {
  return parse_arguments(read_call(tid), number);
}

std::optional<iot_u32> read_call_number(iot_u32 tid) {
  const std::string text = read_call(tid);
  std::string_view rest = text;
  const auto number = number_of(take_word(rest), 10);
  return number && *number < IOT_SYSCALL_LIMIT ? std::optional(static_cast<iot_u32>(*number))
                                               : std::nullopt;
}

void set_what_was_asked(RecordSlot& record, const iot_task& task, const schema::Event& event,
                        const Arguments& arguments) {
  const iot_u32 number = IOT_CALL_NUMBER(task.call);
  if (const iot_u32 place = IOT_CALL_FD(task.call); place != 0 && place <= arguments.size())
    for (const schema::Field& field : event.fields)
      if (field.name == "fd")
        store(record, field.offset, static_cast<iot_s32>(arguments[place - 1]));
  switch (event.id) {
  case IOT_KIND_syscall_read:
  case IOT_KIND_syscall_write: // of one shape
    return set_transfer(as<iot_syscall_read>(record), number, arguments);
  case IOT_KIND_syscall_send:
  case IOT_KIND_syscall_receive: // of one shape
    return set_message(as<iot_syscall_send>(record), number, arguments);
  case IOT_KIND_syscall_open:
    return set_open(as<iot_syscall_open>(record), number, arguments);
  case IOT_KIND_syscall_copy:
    return set_copy(as<iot_syscall_copy>(record), number, arguments);
  case IOT_KIND_syscall_poll:
    return set_poll(as<iot_syscall_poll>(record), task, arguments);
  case IOT_KIND_syscall_fcntl:
    as<iot_syscall_fcntl>(record).command = static_cast<iot_u32>(arguments[1]);
    as<iot_syscall_fcntl>(record).argument = arguments[2];
    return;
  case IOT_KIND_syscall_flock:
    as<iot_syscall_flock>(record).flags = static_cast<iot_u32>(arguments[1]);
    return;
  case IOT_KIND_syscall_ioctl:
    as<iot_syscall_ioctl>(record).request = static_cast<iot_u32>(arguments[1]);
    as<iot_syscall_ioctl>(record).argument = arguments[2];
    return;
  default:
    return;
  }
}

} // namespace iotrail::capture::kernel
