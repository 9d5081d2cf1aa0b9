// SPDX-License-Identifier: BSD-3-Clause
#include "store/trace_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>

#include "store/catalogue.hpp"

namespace iotrail::store {
namespace {

constexpr mode_t kDirectoryMode = 0750;
constexpr mode_t kFileMode = 0640;
constexpr const char* kNextName = "manifest.json.next";
constexpr off_t kReserveBytes = 128 << 10;
constexpr std::size_t kFileBytesMax = 64U << 20U;

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

void reserve_next(const Fd& directory) {
  const Fd next(openat(directory.get(), kNextName, O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode));
  // Where the file system cannot reserve, the next manifest takes its chance.
  if (next)
    (void)fallocate(next.get(), 0, 0, kReserveBytes);
}

} // namespace

Result<Fd> create_trace_directory(const std::filesystem::path& trace) {
  std::error_code ignored;
  if (trace.parent_path() == repository_path())
    std::filesystem::create_directories(trace.parent_path(), ignored); // mkdir below tells
  if (mkdir(trace.c_str(), kDirectoryMode) != 0) {
    const int code = errno;
    if (code == EEXIST)
      return fail("cannot record into " + trace.string(), "it exists already",
                  "choose another name with -o, or remove it with: iotrail remove " +
                      trace.string());
    return fail_errno("cannot make the trace directory " + trace.string(), code,
                      "choose another place with -o DIRECTORY/NAME");
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
  return fail_errno("cannot open the trace " + trace.string(), code, "see: iotrail list");
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

Result<std::string> read_file(const Fd& directory, const char* name,
                              const std::filesystem::path& shown_as) {
  const Fd file(openat(directory.get(), name, O_RDONLY | O_CLOEXEC));
  if (!file)
    return fail_errno("cannot read " + shown_as.string());
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
    if (text.size() > kFileBytesMax)
      return fail("cannot read " + shown_as.string(), "it is larger than any manifest");
  }
}

Result<void> replace_manifest(const Fd& directory, std::string_view text,
                              const std::filesystem::path& shown_as) {
  {
    const Fd next(openat(directory.get(), kNextName, O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode));
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

} // namespace iotrail::store
