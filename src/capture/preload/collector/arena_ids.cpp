// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/arena_ids.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "capture/tasks/tasks.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr std::size_t kNotFollowedMost = 1000;

// A call in a signal handler uses its path before the interrupted call does; this is the maximum
// nesting.
constexpr std::size_t kNestedMost = 64;
constexpr std::size_t kPendingMost = 1U << 18U; // twice the records of the default ring, twice

std::string_view next_part(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find('\0'));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

} // namespace

void PendingPaths::add(iot_u32 reference, iot_u32 id) {
  if (paths_.size() == kPendingMost)
    paths_.pop_front();
  paths_.push_back({reference, id});
}

std::optional<iot_u32> PendingPaths::take(iot_u32 reference) {
  if (paths_.empty())
    return {};
  const iot_u32 first = paths_.front().reference;
  const auto found = std::ranges::lower_bound(
      paths_, reference - first, {}, [&](const Path& path) { return path.reference - first; });
  if (found == paths_.end() || found->reference != reference)
    return {};
  const std::optional<iot_u32> id = std::exchange(found->id, {}); // removed with earlier ones
  const auto at = static_cast<std::size_t>(found - paths_.begin());
  const std::size_t passed = at > kNestedMost ? at - kNestedMost : 0;
  paths_.erase(paths_.begin(), paths_.begin() + static_cast<std::ptrdiff_t>(passed));
  return id;
}

std::string_view preload_blocker_text(PreloadBlocker preload_blocker) {
  switch (preload_blocker) {
  case PreloadBlocker::none:
    break;
  case PreloadBlocker::is_static:
    return "it is statically linked";
  case PreloadBlocker::other_class:
    return "it is a 32-bit program";
  case PreloadBlocker::other_linker:
    return "it is of another C library";
  case PreloadBlocker::other_runtime:
    return "it needs AddressSanitizer's runtime, which will be the first library of all";
  case PreloadBlocker::changes_identity:
    return "it is set-user-ID or set-group-ID, or its file has capabilities";
  case PreloadBlocker::unreachable:
    return "the preload library cannot be reached, as after chroot";
  case PreloadBlocker::other_recording:
    return "a recording inside this one has it";
  }
  return "not known";
}

void ArenaIds::accept(const TextHeader& header, std::string_view text, iot_u32 reference,
                      Pending& pending) {
  switch (static_cast<TextKind>(header.kind)) {
  case TextKind::path:
    pending.paths.add(reference, writer_.string_id(text));
    break;
  case TextKind::file:
    add_file(header, text);
    break;
  case TextKind::process:
    pending.process = process_of(header, text);
    break;
  case TextKind::preload_blocker:
    ++pending.blockers;
    if (not_followed_.size() < kNotFollowedMost)
      not_followed_.push_back(fmt::format("{} {}: {}", header.number, text,
                                          preload_blocker_text(PreloadBlocker{header.mode})));
    break;
  }
}

void ArenaIds::add_file(const TextHeader& header, std::string_view path) {
  if (header.number == 0 || header.number >= kFileLimit)
    return;
  std::unique_ptr<FilePiece>& piece = files_[header.number / kPieceFiles];
  if (piece == nullptr)
    piece = std::make_unique<FilePiece>();
  const bool is_pseudo = leaves_out_pseudo_ && pseudo_devices_.contains(header.device);
  (*piece)[header.number % kPieceFiles] =
      writer_.file_id({devices_.of(header.device, path), header.inode, header.generation},
                      header.mode, path) |
      (is_pseudo ? kPseudo : 0);
}

rows::processes ArenaIds::process_of(const TextHeader& header, std::string_view text) const {
  rows::processes row;
  row.since_ns = header.inode != 0 ? clock_.to_ns(header.inode) : monotonic_ns();
  row.pid = header.number;
  row.parent_pid = header.device;
  row.comm = next_part(text);
  row.exe = next_part(text);
  row.command = command_line(std::string(text));
  return row;
}

iot_u32 ArenaIds::known_file(iot_u32 number) const {
  const FilePiece* const piece = number < kFileLimit ? files_[number / kPieceFiles].get() : nullptr;
  return piece != nullptr ? (*piece)[number % kPieceFiles] : 0;
}

iot_u32 ArenaIds::file(iot_u32 number) {
  if (number == 0)
    return 0;
  const iot_u32 id = known_file(number) & ~kPseudo;
  unresolved_ += id == 0;
  return id;
}

iot_u32 ArenaIds::path(iot_u32 reference, PendingPaths& paths) {
  if (reference == 0)
    return 0;
  const std::optional<iot_u32> id = paths.take(reference);
  unresolved_ += !id;
  return id.value_or(0);
}

} // namespace iotrail::capture::preload
