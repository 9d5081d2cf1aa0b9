// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/trace_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/directory.hpp"
#include "base/shell_word.hpp"
#include "store/format/layout.hpp"
#include "store/format/manifest_bounds.hpp"

namespace iotrail::store {
namespace {

constexpr mode_t kDirectoryMode = 0750;
constexpr mode_t kFileMode = 0640;
constexpr const char* kNextName = "manifest.json.next";
constexpr off_t kReserveBytes = 128 << 10;
constexpr const char* kRemovedMeanwhile =
    "the trace's directory was removed meanwhile, and all that was in it";
constexpr const char* kOtherPlaces =
    "choose another place: -o DIRECTORY/NAME, or IOTRAIL_REPOSITORY=DIRECTORY for all traces";

bool is_removed(const Fd& directory) {
  struct stat found{};
  return fstat(directory.get(), &found) == 0 && found.st_nlink == 0;
}

Result<void> write_whole(const Fd& file, std::string_view text, const std::string& shown_as) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n =
        pwrite(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return fail_errno("cannot write " + shown_as);
    done += static_cast<std::size_t>(n);
  }
  if (ftruncate(file.get(), static_cast<off_t>(text.size())) != 0)
    return fail_errno("cannot write " + shown_as);
  return {};
}

bool is_regular(const Fd& file, struct stat& status) {
  return fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
}

// Opens the file that becomes the next manifest: the reserved one, or a new one in place of a file
// that is not regular or has another name. Nothing outside the trace is therefore written to.
Fd open_next(const Fd& directory) {
  constexpr int kFlags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Fd next(openat(directory.get(), kNextName, kFlags));
  struct stat status{};
  if (next && is_regular(next, status) && status.st_nlink == 1)
    return next;
  unlinkat(directory.get(), kNextName, 0);
  return Fd(openat(directory.get(), kNextName, kFlags | O_CREAT | O_EXCL, kFileMode));
}

void reserve_next(const Fd& directory) {
  const Fd next = open_next(directory);
  // If the file system cannot reserve space, the next manifest may fail on a full disk.
  if (next)
    (void)fallocate(next.get(), 0, 0, kReserveBytes);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

} // namespace

std::filesystem::path repository_path() {
  if (const std::string path = environment("IOTRAIL_REPOSITORY"); !path.empty())
    return path;
  if (const std::string state = environment("XDG_STATE_HOME"); state.starts_with('/'))
    return std::filesystem::path(state) / "iotrail";
  const std::string home = environment("HOME");
  return std::filesystem::path(home.empty() ? "/var/lib" : home + "/.local/state") / "iotrail";
}

Result<Fd> create_trace_directory(const std::filesystem::path& trace) {
  std::error_code refused;
  if (trace.parent_path() == repository_path())
    std::filesystem::create_directories(trace.parent_path(), refused);
  if (refused)
    return fail_errno("cannot make the directory of traces " + trace.parent_path().string(),
                      refused.value(), kOtherPlaces);
  if (mkdir(trace.c_str(), kDirectoryMode) != 0) {
    const int code = errno;
    if (code == EEXIST)
      return fail("cannot record into " + trace.string(), "it exists already",
                  "choose another name with -o, or remove it with: iotrail remove " +
                      shell_word(trace.native()));
    return fail_errno("cannot make the trace directory " + trace.string(), code, kOtherPlaces);
  }
  auto directory = open_trace_directory(trace);
  if (directory && flock(directory->get(), LOCK_EX) != 0)
    return fail_errno("cannot lock the trace " + trace.string());
  return directory;
}

Result<Fd> open_trace_directory(const std::filesystem::path& trace) {
  Fd directory(open(trace.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory)
    return directory;
  const int code = errno;
  if (code == ENOTDIR)
    return fail("cannot open the trace " + trace.string(), "it is a file, not a directory",
                "a trace is a directory NAME.iotrail; see: iotrail list");
  return fail_errno("cannot open the trace " + trace.string(), code,
                    code == EACCES ? "Read it as the user who owns it, or as root."
                                   : "see: iotrail list");
}

bool lock_for_recording(const Fd& directory) {
  return flock(directory.get(), LOCK_EX | LOCK_NB) == 0;
}

bool is_being_recorded(const Fd& directory) {
  if (flock(directory.get(), LOCK_SH | LOCK_NB) != 0)
    return true;
  flock(directory.get(), LOCK_UN);
  return false;
}

// What the name stands for is known before it is opened: opening a device may have any effect.
Result<Fd> open_regular(const Fd& directory, const char* name,
                        const std::filesystem::path& shown_as) {
  const Fd found(openat(directory.get(), name, O_PATH | O_CLOEXEC | O_NOFOLLOW));
  if (!found)
    return fail_errno("cannot open " + shown_as.string());
  struct stat status{};
  if (!is_regular(found, status))
    return fail("cannot open " + shown_as.string(),
                S_ISLNK(status.st_mode) ? "it is a symbolic link" : "it is not a regular file",
                "the files of a trace are regular files, in its own directory");
  Fd file(open(fmt::format("/proc/self/fd/{}", found.get()).c_str(),
               O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) // without /proc
    file = Fd(openat(directory.get(), name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (!file)
    return fail_errno("cannot open " + shown_as.string());
  if (!is_regular(file, status))
    return fail("cannot open " + shown_as.string(), "it was changed meanwhile");
  return file;
}

Result<std::string> read_file(const Fd& directory, const char* name,
                              const std::filesystem::path& shown_as) {
  const auto opened = open_regular(directory, name, shown_as);
  if (!opened)
    return std::unexpected(opened.error());
  const Fd& file = *opened;
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fail_errno("cannot read " + shown_as.string());
    if (n == 0)
      return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > kManifestBytesMax)
      return fail("cannot read " + shown_as.string(), "it is larger than any manifest");
  }
}

Result<void> replace_manifest(const Fd& directory, std::string_view text,
                              const std::filesystem::path& shown_as) {
  {
    const Fd next = open_next(directory);
    if (!next && is_removed(directory))
      return fail("cannot write " + shown_as.string(), kRemovedMeanwhile);
    if (!next)
      return fail_errno("cannot write " + shown_as.string());
    if (auto written = write_whole(next, text, shown_as.string()); !written)
      return written;
  }
  if (renameat(directory.get(), kNextName, directory.get(), kManifestName) != 0)
    return fail_errno("cannot replace " + shown_as.string());
  reserve_next(directory);
  return {};
}

void drop_manifest_reserve(const Fd& directory) {
  unlinkat(directory.get(), kNextName, 0);
}

namespace {

bool is_named(const struct stat& directory, const std::filesystem::path& name) {
  struct stat found{};
  return stat(name.c_str(), &found) == 0 && found.st_dev == directory.st_dev &&
         found.st_ino == directory.st_ino;
}

} // namespace

Result<void> check_place(const Fd& directory, const std::filesystem::path& trace) {
  struct stat held{};
  if (fstat(directory.get(), &held) != 0 || is_named(held, trace))
    return {};
  if (held.st_nlink == 0)
    return fail("the trace is not in " + trace.string(), kRemovedMeanwhile);
  std::error_code unknown;
  const auto now =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", directory.get()), unknown);
  const bool is_known = !unknown && is_named(held, now);
  std::error_code ignored;
  return fail("the trace is not in " + trace.string(),
              fmt::format("its directory was moved meanwhile{}{}",
                          is_known ? ", to " + now.string() : "",
                          std::filesystem::exists(trace, ignored)
                              ? "; what has this name now is something else"
                              : ""),
              is_known ? "read it with: iotrail report " + shell_word(now.native()) : "");
}

namespace {

bool is_trace_file(std::string_view name) {
  return name == kManifestName || name == kNextName || segment_number(name).has_value();
}

Result<std::vector<std::string>> names_in(const Fd& directory, const std::filesystem::path& trace) {
  Fd listed(openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const OpenDirectory stream(listed ? fdopendir(listed.get()) : nullptr);
  if (!stream)
    return fail_errno("cannot read the trace " + trace.string());
  listed.release();
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
  std::ranges::sort(names);
  return names;
}

int removal_place(const std::string& name) {
  return name == segment_name(SegmentKind::dictionary, 0) ? 2 : name == kManifestName ? 1 : 0;
}

bool is_regular_file(const Fd& directory, const std::string& name) {
  struct stat status{};
  return fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(status.st_mode);
}

} // namespace

Result<std::vector<std::uint32_t>> list_segments(const Fd& directory,
                                                 const std::filesystem::path& trace) {
  auto names = names_in(directory, trace);
  if (!names)
    return std::unexpected(names.error());
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : *names)
    if (const auto number = segment_number(name))
      numbers.push_back(*number);
  std::ranges::sort(numbers);
  return numbers;
}

Result<void> remove_trace_directory(const Fd& directory, const std::filesystem::path& trace) {
  auto names = names_in(directory, trace);
  if (!names)
    return std::unexpected(names.error());
  // The dictionary goes last, so that an interrupted removal leaves a directory that is still a
  // trace.
  std::ranges::stable_sort(*names, {}, removal_place);
  std::string foreign;
  for (const std::string& name : *names) {
    if (!is_trace_file(name) || !is_regular_file(directory, name))
      foreign += (foreign.empty() ? "" : ", ") + name;
    else if (unlinkat(directory.get(), name.c_str(), 0) != 0 && errno != ENOENT)
      return fail_errno("cannot remove " + (trace / name).string());
  }
  if (!foreign.empty())
    return fail("the trace " + trace.string() + " is removed, its directory is not",
                "it holds what is not of a trace: " + foreign);
  if (rmdir(trace.c_str()) != 0)
    return fail_errno("cannot remove the directory " + trace.string());
  return {};
}

} // namespace iotrail::store
