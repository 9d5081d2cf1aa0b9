// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/call_arguments.hpp"

#include <charconv>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "capture/kernel/unfinished_record.hpp"

namespace iotrail::capture::kernel {
namespace {

// The next word of `text`, which it is taken from.
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

template <class Record> Record& as(RecordSlot& record) {
  return reinterpret_cast<Record&>(record);
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

std::optional<Arguments> read_arguments(const iot_task& task) {
  if (task.call & IOT_CALL_COMPAT)
    return {};
  std::ifstream file(fmt::format("/proc/{}/syscall", task.owner.tid));
  std::string text;
  std::getline(file, text); // of a thread that is gone there is none
  return parse_arguments(text, IOT_CALL_NUMBER(task.call));
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
