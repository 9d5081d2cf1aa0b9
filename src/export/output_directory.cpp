// SPDX-License-Identifier: BSD-3-Clause
#include "export/output_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::output {

Result<void> OutputDirectory::make() const {
  if (store::is_trace(path_) || store::is_trace(std::filesystem::absolute(path_).parent_path()))
    return fail("cannot export to " + path_.string(), "a trace is there, to which nothing is added",
                "choose another directory with -o");
  const auto make_directory = [&] {
    return ::mkdir(path_.c_str(), 0750) == 0 ? path_ : std::filesystem::path();
  };
  if (!made_.make(make_directory) && errno != EEXIST)
    return fail_errno("cannot create the directory " + path_.string());
  return {};
}

Result<OutputDirectory::File> OutputDirectory::create(std::string_view name) const {
  const std::filesystem::path path = path_ / name;
  File file;
  const auto open_file = [&] {
    Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
    file.reset(fd ? ::fdopen(fd.get(), "w") : nullptr);
    if (file)
      fd.release();
    return file ? path : std::filesystem::path();
  };
  if (!made_.make(open_file))
    return fail_errno("cannot create " + path.string());
  return file;
}

Result<void> OutputDirectory::make_folder(std::string_view name) const {
  std::filesystem::path path = path_;
  for (const std::filesystem::path& part : std::filesystem::path(name)) {
    path /= part;
    const auto make_directory = [&] {
      return ::mkdir(path.c_str(), 0750) == 0 ? path : std::filesystem::path();
    };
    if (!made_.make(make_directory) && errno != EEXIST)
      return fail_errno("cannot create the directory " + path.string());
  }
  return {};
}

} // namespace iotrail::output
