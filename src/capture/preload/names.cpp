// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/names.hpp"

#include <algorithm>

namespace iotrail::capture::preload {

namespace {

// A call in a signal handler refers to its path before the call that it interrupted; more cannot be nested.
constexpr std::size_t kNestedMost = 64;

std::string_view next_part(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find('\0'));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

} // namespace

io_u32 PendingPaths::take(io_u32 reference) {
  const auto found = std::ranges::find(paths_, reference, &Path::reference);
  if (found == paths_.end())
    return 0;
  const io_u32 id = found->id;
  const auto at = static_cast<std::size_t>(found - paths_.begin());
  paths_.erase(found);
  if (at > kNestedMost)
    paths_.erase(paths_.begin(), paths_.begin() + static_cast<std::ptrdiff_t>(at - kNestedMost));
  return id;
}

void Names::accept(const TextHeader& header, std::string_view text, io_u32 reference,
                   PendingPaths& paths) {
  switch (static_cast<TextKind>(header.kind)) {
  case TextKind::path:
    paths.add(reference, writer_.string_id(text));
    break;
  case TextKind::file:
    add_file(header, text);
    break;
  case TextKind::process:
    add_process(header, text);
    break;
  }
}

void Names::add_file(const TextHeader& header, std::string_view path) {
  if (header.number == 0 || header.number >= kFileLimit)
    return;
  if (files_.size() <= header.number)
    files_.resize(header.number + 1U);
  files_[header.number] =
      writer_.file_id({header.device, header.inode, header.generation}, header.mode, path);
}

void Names::add_process(const TextHeader& header, std::string_view text) {
  rows::processes row;
  row.since_ns = clock_.to_ns(header.inode);
  row.pid = header.number;
  row.parent_pid = header.device;
  row.comm = next_part(text);
  row.exe = next_part(text);
  row.command = text;
  while (!row.command.empty() && row.command.back() == '\0')
    row.command.pop_back();
  std::ranges::replace(row.command, '\0', ' ');
  writer_.add(row);
}

io_u32 Names::file(io_u32 number) {
  if (number == 0)
    return 0;
  const io_u32 id = number < files_.size() ? files_[number] : 0;
  unresolved_ += id == 0;
  return id;
}

io_u32 Names::path(io_u32 reference, PendingPaths& paths) {
  if (reference == 0)
    return 0;
  const io_u32 id = paths.take(reference);
  unresolved_ += id == 0;
  return id;
}

} // namespace iotrail::capture::preload
