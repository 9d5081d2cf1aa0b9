// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/dictionary.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/clock.hpp"
#include "capture/kernel/block_device.hpp"
#include "capture/kernel/mounts.hpp"

namespace iotrail::capture::kernel {
namespace {

// linux/magic.h
constexpr io_u32 kPipeMagic = 0x50495045;
constexpr io_u32 kSocketMagic = 0x534f434b;
constexpr io_u32 kAnonymousMagic = 0x09041934;
constexpr io_u32 kTmpfsMagic = 0x01021994;
constexpr std::string_view kMemfdPrefix = "memfd:";

constexpr std::size_t kExecutables = 1U << 16U; // beyond, /proc is asked

// Where a file system is mounted as a whole, "" for the root; nothing where it is not.
std::string mount_point(io_u32 device) {
  for (const Mount& mount : read_mounts())
    if (mount.device == device && mount.root == "/")
      return mount.point == "/" ? "" : mount.point;
  return {};
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

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Arguments with their ends, to one line.
std::string command_line(std::string text) {
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

std::string link_target(const std::string& path) {
  std::error_code error;
  return std::filesystem::read_symlink(path, error).string();
}

std::string comm_of(const io_text_process& text) {
  return {text.comm, ::strnlen(text.comm, sizeof(text.comm))};
}

} // namespace

std::string path_of(const io_text_file& text) {
  const std::string_view names(text.names,
                               std::min<std::size_t>(text.text.bytes, sizeof(text.names)));
  if (text.magic == kPipeMagic)
    return fmt::format("pipe:[{}]", text.inode);
  if (text.magic == kSocketMagic)
    return fmt::format("socket:[{}]", text.inode);
  if (text.magic == kAnonymousMagic)
    return fmt::format("anon_inode:{}", names.substr(0, names.find('\0')));
  if (text.magic == kTmpfsMagic && names.starts_with(kMemfdPrefix))
    return std::string(names.substr(0, names.find('\0')));
  if (text.walk_end == IO_WALK_ROOT)
    return join_names(names);
  if (names.empty())
    return {};
  if (text.walk_end == IO_WALK_FILE_SYSTEM)
    return mount_point(text.device) + join_names(names);
  return "..." + join_names(names);
}

Dictionary::Dictionary() : strings_(kStrings) {}

void Dictionary::take(const io_text& text, store::TraceWriter& writer) {
  switch (text.type) {
  case IO_TEXT_FILE:
    return take_file(reinterpret_cast<const io_text_file&>(text), writer);
  case IO_TEXT_STRING:
    return take_string(reinterpret_cast<const io_text_string&>(text), writer);
  case IO_TEXT_FORK:
    return take_fork(reinterpret_cast<const io_text_process&>(text), writer);
  case IO_TEXT_EXEC:
    return take_exec(reinterpret_cast<const io_text_process&>(text), writer);
  default:
    IOTRAIL_CHECK(!"a text of a type that the BPF programs do not send");
  }
}

void Dictionary::take_file(const io_text_file& text, store::TraceWriter& writer) {
  const std::string path = path_of(text);
  if (text.text.id >= files_.size())
    files_.resize(std::max<std::size_t>(text.text.id + 1, files_.size() * 2));
  files_[text.text.id] = writer.file_id(
      {.device = text.device, .inode = text.inode, .generation = text.generation}, text.mode, path);
  remember_executable(text, path);
}

void Dictionary::take_string(const io_text_string& text, store::TraceWriter& writer) {
  const std::string_view string(text.string, text.text.bytes - 1);
  strings_[text.text.id % kStrings] = {text.text.id, writer.string_id(string)};
}

void Dictionary::remember_executable(const io_text_file& text, const std::string& path) {
  if (S_ISREG(text.mode) && (text.mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0 &&
      executables_.size() < kExecutables)
    executables_.emplace(text.text.id, path);
}

std::string Dictionary::executable(io_u32 local, io_u32 pid) const {
  const auto found = executables_.find(local & ~IO_FILE_UNWANTED);
  return found != executables_.end() ? found->second
                                     : link_target(fmt::format("/proc/{}/exe", pid));
}

void Dictionary::add_row(const io_text_process& text, const Program& program,
                         store::TraceWriter& writer) {
  writer.add(rows::processes{.since_ns = text.ts_ns,
                             .pid = text.pid,
                             .parent_pid = text.parent_pid,
                             .comm = comm_of(text),
                             .exe = program.exe,
                             .command = program.command});
}

void Dictionary::take_fork(const io_text_process& text, store::TraceWriter& writer) {
  const auto parent = programs_.find(text.parent_pid);
  const auto program =
      parent != programs_.end() ? parent->second : std::make_shared<const Program>();
  programs_[text.pid] = program;
  add_row(text, *program, writer);
}

void Dictionary::take_exec(const io_text_process& text, store::TraceWriter& writer) {
  const std::size_t bytes = std::min<std::size_t>(text.arguments_bytes, sizeof(text.arguments));
  const auto program = std::make_shared<const Program>(
      Program{.exe = executable(text.exe_file, text.pid),
              .command = command_line(std::string(text.arguments, bytes))});
  programs_[text.pid] = program;
  add_row(text, *program, writer);
}

void Dictionary::see_running(io_u32 pid) {
  const std::string base = fmt::format("/proc/{}", pid);
  std::string comm = read_file(base + "/comm");
  if (comm.empty())
    return;
  comm.pop_back(); // its newline
  // "pid (comm) state parent ...", where comm may hold anything
  const std::string stat = read_file(base + "/stat");
  const std::size_t after = stat.rfind(')');
  const io_u32 parent =
      after == stat.npos || after + 4 >= stat.size()
          ? 0
          : static_cast<io_u32>(std::strtoul(stat.c_str() + after + 4, nullptr, 10));
  const auto program = std::make_shared<const Program>(Program{
      .exe = link_target(base + "/exe"), .command = command_line(read_file(base + "/cmdline"))});
  programs_[pid] = program;
  running_.push_back({.since_ns = monotonic_ns(),
                      .pid = pid,
                      .parent_pid = parent,
                      .comm = comm,
                      .exe = program->exe,
                      .command = program->command});
}

void Dictionary::add_running(store::TraceWriter& writer) {
  for (const rows::processes& row : running_)
    writer.add(row);
  running_.clear();
}

io_u32 Dictionary::file(io_u32 local) const {
  const io_u32 index = local & ~IO_FILE_UNWANTED;
  return index < files_.size() ? files_[index] : 0;
}

io_u32 Dictionary::string(io_u32 local) const {
  const String& string = strings_[local % kStrings];
  return string.local == local ? string.id : 0;
}

void Dictionary::see_device(io_u32 device, store::TraceWriter& writer) {
  if (device == last_device_)
    return;
  last_device_ = device;
  if (devices_.insert(device).second)
    writer.add(describe_block_device(device));
}

} // namespace iotrail::capture::kernel
