// SPDX-License-Identifier: BSD-3-Clause
#include "import/strace_arguments.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string>

#include "import/numbers.hpp"

namespace iotrail::import {
namespace {

using schema::Meaning;

struct Argument {
  std::string_view call;
  std::uint8_t index;
  std::string_view field;
};

// Descriptors and paths are in schema/syscalls.def; these are the other arguments.
constexpr Argument kArguments[] = {
    {"open", 1, "flags"},
    {"open", 2, "mode"},
    {"openat", 2, "flags"},
    {"openat", 3, "mode"},
    {"openat2", 2, "flags"},
    {"creat", 1, "mode"},
    {"read", 2, "bytes_requested"},
    {"write", 2, "bytes_requested"},
    {"pread64", 2, "bytes_requested"},
    {"pread64", 3, "offset"},
    {"pwrite64", 2, "bytes_requested"},
    {"pwrite64", 3, "offset"},
    {"readv", 1, "bytes_requested"},
    {"writev", 1, "bytes_requested"},
    {"preadv", 1, "bytes_requested"},
    {"preadv", 3, "offset"},
    {"pwritev", 1, "bytes_requested"},
    {"pwritev", 3, "offset"},
    {"preadv2", 1, "bytes_requested"},
    {"preadv2", 3, "offset"},
    {"preadv2", 4, "flags"},
    {"pwritev2", 1, "bytes_requested"},
    {"pwritev2", 3, "offset"},
    {"pwritev2", 4, "flags"},
    {"lseek", 1, "offset"},
    {"lseek", 2, "whence"},
    {"sync_file_range", 1, "offset"},
    {"sync_file_range", 2, "bytes"},
    {"sync_file_range", 3, "flags"},
    {"truncate", 1, "bytes"},
    {"ftruncate", 1, "bytes"},
    {"fallocate", 1, "mode"},
    {"fallocate", 2, "offset"},
    {"fallocate", 3, "bytes"},
    {"unlinkat", 2, "flags"},
    {"rename", 1, "new_path"},
    {"renameat", 2, "new_fd"},
    {"renameat", 3, "new_path"},
    {"renameat2", 2, "new_fd"},
    {"renameat2", 3, "new_path"},
    {"renameat2", 4, "flags"},
    {"mkdir", 1, "mode"},
    {"mkdirat", 2, "mode"},
    {"mknod", 1, "mode"},
    {"mknodat", 2, "mode"},
    {"newfstatat", 3, "flags"},
    {"statx", 2, "flags"},
    {"mmap", 1, "bytes"},
    {"mmap", 2, "prot"},
    {"mmap", 3, "flags"},
    {"mmap", 4, "fd"},
    {"mmap", 5, "offset"},
    {"munmap", 0, "address"},
    {"munmap", 1, "bytes"},
    {"msync", 0, "address"},
    {"msync", 1, "bytes"},
    {"msync", 2, "flags"},
    {"mremap", 0, "address"},
    {"mremap", 1, "bytes"},
    {"mremap", 2, "new_bytes"},
    {"mremap", 3, "flags"},
    {"madvise", 0, "address"},
    {"madvise", 1, "bytes"},
    {"madvise", 2, "advice"},
    {"fadvise64", 1, "offset"},
    {"fadvise64", 2, "bytes"},
    {"fadvise64", 3, "advice"},
    {"readahead", 1, "offset"},
    {"readahead", 2, "bytes"},
    {"sendfile", 0, "out_fd"},
    {"sendfile", 1, "in_fd"},
    {"sendfile", 2, "in_position"},
    {"sendfile", 3, "bytes_requested"},
    {"copy_file_range", 0, "in_fd"},
    {"copy_file_range", 1, "in_position"},
    {"copy_file_range", 2, "out_fd"},
    {"copy_file_range", 3, "out_position"},
    {"copy_file_range", 4, "bytes_requested"},
    {"splice", 0, "in_fd"},
    {"splice", 1, "in_position"},
    {"splice", 2, "out_fd"},
    {"splice", 3, "out_position"},
    {"splice", 4, "bytes_requested"},
    {"splice", 5, "flags"},
    {"tee", 0, "in_fd"},
    {"tee", 1, "out_fd"},
    {"tee", 2, "bytes_requested"},
    {"tee", 3, "flags"},
    {"link", 0, "target"},
    {"linkat", 0, "target_fd"},
    {"linkat", 1, "target"},
    {"linkat", 4, "flags"},
    {"symlink", 0, "target"},
    {"symlinkat", 0, "target"},
    {"access", 1, "mode"},
    {"faccessat", 2, "mode"},
    {"faccessat2", 2, "mode"},
    {"faccessat2", 3, "flags"},
    {"readlink", 2, "bytes_requested"},
    {"readlinkat", 3, "bytes_requested"},
    {"chmod", 1, "mode"},
    {"fchmod", 1, "mode"},
    {"fchmodat", 2, "mode"},
    {"chown", 1, "uid"},
    {"chown", 2, "gid"},
    {"fchown", 1, "uid"},
    {"fchown", 2, "gid"},
    {"lchown", 1, "uid"},
    {"lchown", 2, "gid"},
    {"fchownat", 2, "uid"},
    {"fchownat", 3, "gid"},
    {"fchownat", 4, "flags"},
    {"utimensat", 3, "flags"},
    {"getxattr", 1, "name"},
    {"getxattr", 3, "bytes_requested"},
    {"lgetxattr", 1, "name"},
    {"lgetxattr", 3, "bytes_requested"},
    {"fgetxattr", 1, "name"},
    {"fgetxattr", 3, "bytes_requested"},
    {"setxattr", 1, "name"},
    {"setxattr", 3, "bytes_requested"},
    {"lsetxattr", 1, "name"},
    {"lsetxattr", 3, "bytes_requested"},
    {"fsetxattr", 1, "name"},
    {"fsetxattr", 3, "bytes_requested"},
    {"removexattr", 1, "name"},
    {"lremovexattr", 1, "name"},
    {"fremovexattr", 1, "name"},
    {"fcntl", 1, "command"},
    {"fcntl", 2, "argument"},
    {"flock", 1, "operation"},
    {"getdents", 2, "bytes_requested"},
    {"getdents64", 2, "bytes_requested"},
    {"dup3", 2, "flags"},
    {"socket", 0, "family"},
    {"socket", 1, "type"},
    {"socketpair", 0, "family"},
    {"socketpair", 1, "type"},
    {"bind", 1, "address"},
    {"connect", 1, "address"},
    {"accept", 1, "address"},
    {"accept4", 1, "address"},
    {"listen", 1, "argument"},
    {"sendto", 2, "bytes_requested"},
    {"sendto", 3, "flags"},
    {"sendto", 4, "address"},
    {"recvfrom", 2, "bytes_requested"},
    {"recvfrom", 3, "flags"},
    {"recvfrom", 4, "address"},
    {"sendmsg", 1, "bytes_requested"},
    {"sendmsg", 2, "flags"},
    {"recvmsg", 1, "bytes_requested"},
    {"recvmsg", 2, "flags"},
    {"epoll_ctl", 1, "operation"},
    {"epoll_ctl", 2, "watched_fd"},
    {"pipe", 0, "read_fd"},
    {"pipe2", 0, "read_fd"},
    {"pipe2", 1, "flags"},
    {"memfd_create", 0, "name"},
    {"io_uring_setup", 0, "entries"},
    {"io_uring_enter", 1, "to_submit"},
    {"io_uring_enter", 2, "min_complete"},
    {"mount", 0, "source"},
    {"mount", 2, "type"},
    {"mount", 3, "flags"},
    {"umount2", 1, "unmount_flags"},
};

// The number that a table of values has for a name; strace writes some with a prefix.
std::optional<std::uint64_t> number_of_name(std::string_view table, std::string_view name) {
  for (const std::string_view prefix : {"", "POSIX_FADV_", "MADV_"})
    if (name.starts_with(prefix))
      for (const schema::Value& value : schema::kValues)
        if (value.table == table && value.name == name.substr(prefix.size()))
          return value.number;
  return std::nullopt;
}

// "O_RDWR|O_CREAT|0x10": unknown names count nothing.
std::uint64_t symbols(std::string_view table, std::string_view text) {
  std::uint64_t number = 0;
  for (const std::string_view part : split(text, '|'))
    number |= to_c_number(trimmed(part)).value_or(number_of_name(table, trimmed(part)).value_or(0));
  return number;
}

// All numbers behind `key`, added up: of "[{iov_base=..., iov_len=4}, {..., iov_len=6}]" it is 10.
std::uint64_t sum_behind(std::string_view text, std::string_view key) {
  std::uint64_t sum = 0;
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at)) {
    at += key.size();
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    sum += to_number(text.substr(at, end - at)).value_or(0);
  }
  return sum;
}

// The text between `before` and `after`; empty: not there.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos)
    return {};
  text.remove_prefix(begin + before.size());
  return text.substr(0, text.find(after));
}

// Of {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("192.0.2.1")} it is "192.0.2.1:80".
std::string socket_address(std::string_view text) {
  const std::string_view port = between(text, "htons(", ")");
  if (text.find("AF_UNIX") != std::string_view::npos)
    return strace_text(text);
  if (text.find("AF_INET6") != std::string_view::npos)
    return fmt::format("[{}]:{}", between(text, "inet_pton(AF_INET6, \"", "\""), port);
  if (text.find("AF_INET") != std::string_view::npos)
    return fmt::format("{}:{}", between(text, "inet_addr(\"", "\""), port);
  return {};
}

// Of {flags=O_RDONLY, mode=0} it is "O_RDONLY".
std::string_view of_structure(std::string_view text, std::string_view field) {
  if (!text.starts_with('{'))
    return text;
  const std::string_view value = between(text, fmt::format("{}=", field), ",");
  return value.substr(0, value.find('}'));
}

// "[7]" is where a pointer leads; NULL leads nowhere.
std::optional<std::uint64_t> plain_number(std::string_view text) {
  if (text.starts_with('['))
    text = text.substr(1, text.find_first_of(" ]") - 1);
  return to_c_number(text);
}

void set_descriptor(const schema::Field& field, std::string_view text, EventRow& row,
                    TraceBuilder& trace) {
  const auto number =
      strace_number(text.substr(std::min(text.find_first_not_of('['), text.size())));
  if (!number)
    return;
  row.put(field, static_cast<std::uint64_t>(number->number));
  const std::string_view file = field.name == "in_fd"        ? "in_file"
                                : field.name == "out_fd"     ? "out_file"
                                : field.name == "watched_fd" ? "watched"
                                                             : "file";
  const bool is_directory = row.get(schema::Role::path) != 0 || row.kind() == IOT_KIND_syscall_open;
  if (number->name.empty() || (file == "file" && is_directory))
    return;
  row.set(file, strace_file(number->name, trace));
}

void set_argument(const schema::Field& field, std::string_view text, EventRow& row,
                  TraceBuilder& trace) {
  const std::string_view table = schema::kMeanings[static_cast<std::size_t>(field.meaning)].table;
  if (field.meaning == Meaning::fd)
    return set_descriptor(field, text, row, trace);
  if (field.name == "address" && field.meaning == Meaning::path)
    return row.put(field, trace.text(socket_address(text)));
  if (field.meaning == Meaning::path)
    return row.put(field, trace.text(strace_text(text)));
  if (!table.empty())
    return row.put(field, symbols(table, of_structure(text, field.name)));
  if (field.name == "bytes_requested" && text.find("iov_len=") != std::string_view::npos)
    return row.put(field, sum_behind(text, "iov_len="));
  if (field.name == "mode" || field.meaning == Meaning::mode)
    text = text.substr(text.rfind('|') + 1); // S_IFREG|0644
  if (const auto number = plain_number(text))
    row.put(field, *number);
}

struct NamedKind {
  std::string_view begin;  // of the name
  std::string_view behind; // it, in angle brackets
  std::uint32_t mode;
};
constexpr NamedKind kNamedKinds[] = {
    {"pipe:[", "", S_IFIFO},  {"socket:[", "", S_IFSOCK}, {"TCP", "", S_IFSOCK},
    {"UDP", "", S_IFSOCK},    {"UNIX", "", S_IFSOCK},     {"NETLINK", "", S_IFSOCK},
    {"/", "<char ", S_IFCHR}, {"/", "<block ", S_IFBLK},
};

} // namespace

std::uint32_t strace_file(std::string_view name, TraceBuilder& trace) {
  const auto* kind = std::ranges::find_if(kNamedKinds, [&](const NamedKind& each) {
    return name.starts_with(each.begin) && name.find(each.behind) != std::string_view::npos;
  });
  return trace.file(strace_name(name), kind == std::end(kNamedKinds) ? 0 : kind->mode);
}

void set_arguments(const StraceCall& call, const schema::Syscall& syscall, EventRow& row,
                   TraceBuilder& trace) {
  const auto argument = [&](int index) {
    return index >= 0 && static_cast<std::size_t>(index) < call.arguments.size()
               ? call.arguments[static_cast<std::size_t>(index)]
               : std::string_view();
  };
  if (const schema::Field* path = row.field(schema::Role::path))
    row.put(*path, trace.text(strace_text(argument(syscall.path_argument))));
  if (const schema::Field* fd = row.field("fd"))
    set_descriptor(*fd, argument(syscall.fd_argument), row, trace);
  for (const Argument& each : kArguments)
    if (each.call == call.name && !argument(each.index).empty())
      if (const schema::Field* field = row.field(each.field))
        set_argument(*field, argument(each.index), row, trace);
}

} // namespace iotrail::import
