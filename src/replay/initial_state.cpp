// SPDX-License-Identifier: BSD-3-Clause
#include "replay/initial_state.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <unordered_map>

#include "base/fd.hpp"
#include "replay/made_up_data.hpp"
#include "text/units.hpp"

namespace iotrail::replay {
namespace {

constexpr std::uint64_t kSumMost = INT64_MAX; // of sums: two of them do not overflow

// What a path stands for before the first action, as far as the first call with it says.
enum class First : std::uint8_t { file, directory, absent, unknown };

struct KnownFile {
  std::uint32_t path = 0; // at first
  Ranges written;
  Ranges needed; // read before they are written
};

class StateFinder {
public:
  explicit StateFinder(const Plan& plan) : plan_(plan) {}

  InitialState find() {
    for (const Action& action : plan_.actions) {
      note_paths(action);
      if (action.file != 0 && action.error == 0 && !action.is_directory)
        note_bytes(action);
    }
    InitialState state;
    add_directories(state);
    add_files(state);
    return state;
  }

private:
  void note_paths(const Action& action) {
    const bool is_there = action.error != -ENOENT;
    const First existing = action.is_directory ? First::directory : First::file;
    switch (action.kind) {
    case Kind::open:
      if ((action.flags & O_TMPFILE & ~O_DIRECTORY) != 0)
        return note(action.path, First::directory);
      if (action.error == 0 && (action.flags & O_CREAT) != 0)
        return note(action.path, (action.flags & O_EXCL) != 0 ? First::absent : First::unknown);
      break;
    case Kind::make_directory:
      return note(action.path, action.error == -EEXIST ? First::directory : First::absent);
    case Kind::rename:
    case Kind::link:
      note(action.path, is_there ? First::file : First::absent);
      return note(action.to_path, action.error == -EEXIST ? First::file : First::absent);
    default:
      break;
    }
    note(action.path, is_there ? existing : First::absent);
  }

  // A look-up does not say that it found a directory, but a later open does.
  void note(std::uint32_t path, First first) {
    const auto [known, is_new] = first_.try_emplace(path, first);
    if (!is_new && known->second == First::file && first == First::directory)
      known->second = first;
  }

  void note_bytes(const Action& action) {
    KnownFile& file = files_.try_emplace(action.file, KnownFile{action.path, {}, {}}).first->second;
    const std::uint64_t end = action.position + action.bytes;
    if (action.kind == Kind::read)
      file.written.for_each_gap(action.position, end, [&](std::uint64_t from, std::uint64_t to) {
        file.needed.add(from, to);
      });
    else if (action.kind == Kind::write || action.kind == Kind::allocate)
      file.written.add(action.position, end);
    else if (action.kind == Kind::open && (action.flags & O_TRUNC) != 0)
      file.written.add(0, UINT64_MAX); // nothing from before is read
  }

  // All directories above the paths, but for those that are absent at first, and what is below these.
  void add_directories(InitialState& state) {
    for (const auto& [path, first] : first_)
      if (first == First::absent)
        absent_.insert(plan_.paths[path]);
    for (const std::string& path : plan_.paths)
      for (std::size_t slash = path.find('/'); slash != std::string::npos;
           slash = path.find('/', slash + 1))
        if (!add_directory(path.substr(0, slash)))
          break;
    for (const auto& [path, first] : first_)
      if (first == First::directory)
        add_directory(plan_.paths[path]);
    state.directories.assign(directories_.begin(), directories_.end());
  }
  bool add_directory(const std::string& path) {
    if (absent_.contains(path))
      return false;
    if (!path.empty())
      directories_.insert(path);
    return true;
  }
  void add_files(InitialState& state) {
    for (const auto& [path, first] : first_)
      if (first == First::file)
        add_file(state, plan_.paths[path], nullptr);
    for (const auto& [key, file] : files_) {
      const First first = first_.at(file.path);
      if (first == First::file || (first == First::unknown && !file.needed.empty()))
        add_file(state, plan_.paths[file.path], &file);
      for (auto range = file.written.begin_of_ranges(); range != file.written.end_of_ranges();
           ++range)
        if (range->second != UINT64_MAX)
          state.written_bytes =
              std::min(kSumMost, state.written_bytes + (range->second - range->first));
    }
    for (const auto& [path, data] : state.files)
      state.data_bytes = std::min(kSumMost, state.data_bytes + data.bytes());
  }
  void add_file(InitialState& state, const std::string& path, const KnownFile* file) {
    if (path.empty() || directories_.contains(path))
      return;
    Ranges& data = state.files[path];
    if (file != nullptr)
      for (auto range = file->needed.begin_of_ranges(); range != file->needed.end_of_ranges();
           ++range)
        data.add(range->first, range->second);
  }

  const Plan& plan_;
  std::unordered_map<std::uint32_t, First> first_; // by path
  std::unordered_map<std::uint32_t, KnownFile> files_;
  std::set<std::string> absent_;
  std::set<std::string> directories_;
};

Result<void> prepare_file(const std::string& path, const Ranges& data, const Place& place,
                          const MadeUpData& made_up) {
  const auto failed = [&](int code) {
    return fail_errno(fmt::format("cannot prepare {}/{}", place.path().native(), path), -code);
  };
  const int opened = place.open_file(path, O_WRONLY | O_CREAT | O_EXCL);
  if (opened < 0)
    return failed(opened);
  const Fd file(opened);
  for (auto range = data.begin_of_ranges(); range != data.end_of_ranges(); ++range)
    for (std::uint64_t at = range->first; at < range->second;) {
      const std::int64_t moved = made_up.write(file.get(), at, range->second - at);
      if (moved <= 0)
        return failed(moved < 0 ? static_cast<int>(moved) : -ENOSPC);
      at += static_cast<std::uint64_t>(moved);
    }
  if (::fsync(file.get()) != 0)
    return failed(-errno);
  return {};
}

} // namespace

InitialState initial_state(const Plan& plan) {
  return StateFinder(plan).find();
}

Result<void> prepare(const InitialState& state, const Place& place) {
  const auto free = place.free_bytes();
  if (!free)
    return std::unexpected(free.error());
  if (state.data_bytes > *free || state.written_bytes > *free - state.data_bytes)
    return fail(fmt::format("cannot replay into {}", place.path().native()),
                fmt::format("the files take up to {}, and {} are free",
                            output::human_bytes(state.data_bytes + state.written_bytes),
                            output::human_bytes(*free)));
  for (const std::string& path : state.directories)
    if (const int made = place.make_directory(path); made < 0)
      return fail_errno(fmt::format("cannot make {}/{}", place.path().native(), path), -made);
  const MadeUpData made_up;
  for (const auto& [path, data] : state.files)
    if (auto made = prepare_file(path, data, place, made_up); !made)
      return made;
  return {};
}

} // namespace iotrail::replay
