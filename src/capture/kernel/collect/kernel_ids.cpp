// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/collect/kernel_ids.hpp"

#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/fd.hpp"
#include "capture/kernel/collect/socket_address.hpp"
#include "capture/selection/block_device.hpp"
#include "capture/selection/mounts.hpp"
#include "capture/tasks/namespaces.hpp"

namespace iotrail::capture::kernel {
namespace {

// linux/magic.h
constexpr iot_u32 kPipeMagic = 0x50495045;
constexpr iot_u32 kSocketMagic = 0x534f434b;
constexpr iot_u32 kAnonymousMagic = 0x09041934;
constexpr iot_u32 kBtrfsMagic = 0x9123683e;
constexpr iot_u32 kF2fsMagic = 0xf2f52010;

// Their pages hold metadata.
constexpr std::uint64_t kBtrfsMetadataInode = 1;
constexpr std::uint64_t kF2fsLastMetadataInode = 2; // from 1

constexpr std::size_t kExecutables = 1U << 16U; // beyond, /proc is asked

// The mount point of a whole file system, "" for the root; nothing if it is not mounted.
std::string mount_point(iot_u32 device) {
  for (const Mount& mount : read_mounts())
    if (mount.device == device && mount.root == "/")
      return mount.point == "/" ? "" : mount.point;
  return {};
}

bool holds_metadata(const iot_message_file& message) {
  return (message.magic == kBtrfsMagic && message.inode == kBtrfsMetadataInode) ||
         (message.magic == kF2fsMagic && message.inode <= kF2fsLastMetadataInode);
}

// The file systems set no mode in these inodes: the value is from an earlier use of the memory.
iot_u32 mode_of(const iot_message_file& message) {
  return holds_metadata(message) ? 0 : message.mode;
}

// False for a file that is only a descriptor, or memory without a name.
bool is_on_file_system(const iot_message_file& message) {
  return S_ISREG(message.mode) && message.walk_end != IOT_WALK_ALONE &&
         message.magic != kAnonymousMagic;
}

// Deleted, but still open: its path was the last.
bool is_deleted(const iot_message_file& message) {
  return message.links == 0 && message.walk_end != IOT_WALK_ALONE &&
         (S_ISREG(message.mode) || S_ISDIR(message.mode));
}

// Most anonymous files share one inode, so its name does not show their kind.
ino_t shared_anonymous_inode() {
  static const ino_t inode = [] {
    const Fd any(::epoll_create1(EPOLL_CLOEXEC));
    struct stat status{};
    return any && ::fstat(any.get(), &status) == 0 ? status.st_ino : 0;
  }();
  return inode;
}

// The names come last one first, each with its end.
std::string join_names(std::string_view names) {
  std::vector<std::string_view> parts;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find('\0'), names.size());
    parts.push_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  std::string path;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    path.append("/").append(*part);
  return path.empty() ? "/" : path;
}

// Frames of every wait: the kernel's entry into a call, and its way to the tracing.
bool tells_nothing(std::string_view function) {
  return function == "entry_SYSCALL_64_after_hwframe" || function == "do_syscall_64" ||
         function == "x64_sys_call" || function == "ret_from_fork" ||
         function == "ret_from_fork_asm" || function == "schedule" || function == "__schedule" ||
         function.starts_with("__traceiter_") || function.starts_with("bpf_") ||
         function.starts_with("__bpf_");
}

// Outermost first, as before.
std::string without_common_frames(std::string_view stack) {
  std::string left;
  while (!stack.empty()) {
    const std::size_t end = std::min(stack.find(';'), stack.size());
    if (const std::string_view name = stack.substr(0, end); !tells_nothing(name))
      left.append(left.empty() ? "" : ";").append(name);
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  return left;
}

std::string comm_of(const iot_message_process& message) {
  return {message.comm, ::strnlen(message.comm, sizeof(message.comm))};
}

} // namespace

std::string path_of(const iot_message_file& message) {
  const std::string_view names(message.names,
                               std::min<std::size_t>(message.header.bytes, sizeof(message.names)));
  if (message.magic == kPipeMagic)
    return fmt::format("pipe:[{}]", message.inode);
  if (message.magic == kSocketMagic)
    return fmt::format("socket:[{}]", message.inode);
  const std::string_view own_name = names.substr(0, names.find('\0'));
  if (message.magic == kAnonymousMagic)
    return fmt::format("anon_inode:{}", message.inode == shared_anonymous_inode() ? "" : own_name);
  if (message.walk_end == IOT_WALK_ALONE && own_name.size() + 1 >= names.size())
    return std::string(own_name); // "memfd:..."; "/" for a file opened by a handle
  if (message.walk_end == IOT_WALK_ROOT)
    return join_names(names);
  if (names.empty())
    return {};
  if (message.walk_end == IOT_WALK_FILE_SYSTEM)
    return mount_point(message.device) + join_names(names);
  return "..." + join_names(names);
}

KernelIds::KernelIds() : strings_(kStrings) {}

void KernelIds::take(const iot_message& message, store::TraceWriter& writer) {
  switch (message.type) {
  case IOT_MESSAGE_FILE:
    return take_file(reinterpret_cast<const iot_message_file&>(message), writer);
  case IOT_MESSAGE_STRING:
    return take_string(reinterpret_cast<const iot_message_string&>(message), writer);
  case IOT_MESSAGE_ADDRESS:
    return take_address(reinterpret_cast<const iot_message_address&>(message), writer);
  case IOT_MESSAGE_FORK:
    return tasks_->note_fork(process_of(reinterpret_cast<const iot_message_process&>(message)));
  case IOT_MESSAGE_EXEC:
    return tasks_->note_exec(process_of(reinterpret_cast<const iot_message_process&>(message)));
  case IOT_MESSAGE_ADOPTED:
    return tasks_->note_adopted(process_of(reinterpret_cast<const iot_message_process&>(message)));
  case IOT_MESSAGE_STACK:
    return take_stack(reinterpret_cast<const iot_message_stack&>(message), writer);
  case IOT_MESSAGE_TASK:
    return take_task(reinterpret_cast<const iot_message_task&>(message));
  default:
    IOTRAIL_CHECK(false && "a text of a type that the BPF programs do not send");
  }
}

std::string stack_of(const iot_message_stack& message) {
  std::string_view names(message.functions,
                         ::strnlen(message.functions, sizeof(message.functions)));
  const bool is_cut = names.size() + 1 >= sizeof(message.functions);
  std::vector<std::string_view> functions; // innermost first
  for (iot_u32 depth = 0; depth < message.depth && !names.empty(); ++depth) {
    const std::size_t end = std::min(names.find(';'), names.size());
    if (const std::string_view name = names.substr(0, end); !tells_nothing(name))
      functions.push_back(name);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  if (is_cut && !functions.empty())
    functions.pop_back();
  std::string stack;
  for (auto function = functions.rbegin(); function != functions.rend(); ++function)
    stack.append(stack.empty() ? "" : ";").append(*function);
  return stack;
}

void KernelIds::take_stack(const iot_message_stack& message, store::TraceWriter& writer) {
  set_stack(message.header.id, writer.string_id(stack_of(message)));
}

void KernelIds::set_stack(iot_u32 local, iot_u32 id) {
  if (local >= stacks_.size())
    stacks_.resize(std::max<std::size_t>(local + 1, stacks_.size() * 2));
  stacks_[local] = id;
}

void KernelIds::take(const LateNames& names, store::TraceWriter& writer) {
  for (const LateNames::Text& string : names.strings)
    set_string(string.local, writer.string_id(string.text));
  for (const LateNames::Text& stack : names.stacks)
    set_stack(stack.local, writer.string_id(without_common_frames(stack.text)));
  for (const auto& [local, file] : names.files)
    files_.set(local, writer.file_id(file.key, file.mode, file.path,
                                     {.is_deleted = file.is_deleted, .file_system = {}}));
}

void KernelIds::take_file(const iot_message_file& message, store::TraceWriter& writer) {
  const std::string path = path_of(message);
  if ((message.header.id & IOT_FILE_UNWANTED) != 0)
    return remember_executable(message, path);
  if (is_on_file_system(message))
    bare_file_systems_.see(message.magic, message.device);
  const std::string file_system = file_system_type(message.magic);
  files_.set(
      message.header.id,
      writer.file_id(
          {.device = message.device, .inode = message.inode, .generation = message.generation},
          mode_of(message), path, {.is_deleted = is_deleted(message), .file_system = file_system}));
  remember_executable(message, path);
}

void KernelIds::take_string(const iot_message_string& message, store::TraceWriter& writer) {
  const std::string_view string(message.string, message.header.bytes - 1);
  set_string(message.header.id, writer.string_id(string));
}

void KernelIds::take_address(const iot_message_address& message, store::TraceWriter& writer) {
  const std::size_t bytes = std::min<std::size_t>(message.header.bytes, sizeof(message.address));
  set_string(message.header.id, writer.string_id(socket_address_text(
                                    std::as_bytes(std::span(message.address, bytes)))));
}

void KernelIds::remember_executable(const iot_message_file& message, const std::string& path) {
  if (S_ISREG(message.mode) && (message.mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0 &&
      executables_.size() < kExecutables)
    executables_.emplace(message.header.id & ~IOT_FILE_MARKS, path);
}

std::string KernelIds::executable(iot_u32 local, iot_u32 pid) const {
  const auto found = executables_.find(local & ~IOT_FILE_MARKS);
  if (found != executables_.end())
    return found->second;
  std::error_code gone;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), gone).string();
}

void KernelIds::take_task(const iot_message_task& message) {
  tasks_->add_task(message.pid_namespace, message.inner_tid,
                   {message.pid, message.tid, message.start_ns});
}

rows::processes KernelIds::process_of(const iot_message_process& message) {
  rows::processes row;
  row.since_ns = message.ts_ns;
  row.pid = message.pid;
  row.parent_pid = message.parent_pid;
  row.comm = comm_of(message);
  row.cgroup = cgroups_.path_of(message.cgroup);
  put_namespaces(message.namespaces, row);
  if (message.header.type == IOT_MESSAGE_FORK) {
    row.start_ns = message.ts_ns;
    return row;
  }
  row.start_ns = message.start_ns;
  const std::size_t bytes =
      std::min<std::size_t>(message.arguments_bytes, sizeof(message.arguments));
  row.exe = executable(message.exe_file, message.pid);
  row.command = command_line(std::string(message.arguments, bytes));
  if (bytes == sizeof(message.arguments) && message.arguments[bytes - 1] != '\0')
    row.command += "...";
  return row;
}

void KernelIds::see_other_device(iot_u32 device, store::TraceWriter& writer) {
  last_device_ = device;
  if (devices_.insert(device).second)
    writer.add(describe_block_device(device));
}

} // namespace iotrail::capture::kernel
