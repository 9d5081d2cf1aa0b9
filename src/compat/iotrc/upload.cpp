// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrc/upload.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "base/fd.hpp"

namespace iotrail::compat::iotrc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPartSuffix = ".part";

std::unexpected<Error> failed(const fs::path& file, const std::error_code& error) {
  return fail_errno(fmt::format("cannot upload {}", file.native()), error.value());
}

Result<void> copy_one(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::path part = to;
  part += kPartSuffix;
  fs::create_directories(to.parent_path(), error);
  if (!error)
    fs::copy_file(from, part, fs::copy_options::overwrite_existing, error);
  if (error)
    return failed(to, error);
  const Fd file(::open(part.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0)
    return fail_errno(fmt::format("cannot upload {}", to.native()));
  fs::rename(part, to, error);
  return error ? failed(to, error) : Result<void>();
}

bool is_there(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const auto size = fs::file_size(to, error);
  return !error && size == fs::file_size(from, error) && !error;
}

} // namespace

Result<std::uint64_t> upload_tree(const fs::path& directory, const fs::path& session,
                                  const fs::path& to) {
  std::vector<fs::path> files; // relative
  std::error_code error;
  for (fs::recursive_directory_iterator it(directory / session, error), end; !error && it != end;
       it.increment(error))
    if (it->is_regular_file())
      files.push_back(it->path().lexically_relative(directory));
  if (error)
    return failed(directory / session, error);
  std::ranges::sort(files);
  std::uint64_t copied = 0;
  for (const fs::path& file : files) {
    if (is_there(directory / file, to / file))
      continue;
    if (auto done = copy_one(directory / file, to / file); !done)
      return std::unexpected(done.error());
    ++copied;
  }
  return copied;
}

} // namespace iotrail::compat::iotrc
