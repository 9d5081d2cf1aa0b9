// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "cli/console.hpp"
#include "store/reader/repository.hpp"
#include "store/writer/temporary_files.hpp"

namespace iotrail::cli {

inline constexpr mode_t kFileMode = 0640; // as a trace has: it shows what other users do

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Whether the new file `path` can be made, before the work for it; "": nothing to make.
inline Result<void> check_new_file(const std::string& path) {
  if (path.empty())
    return {};
  std::error_code ignored;
  std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (parent.empty())
    parent = ".";
  if (store::is_trace(parent))
    return fail(fmt::format("cannot write {}", path),
                "a trace is in that directory, to which nothing is added", "Choose another place.");
  if (std::filesystem::symlink_status(path, ignored).type() !=
      std::filesystem::file_type::not_found)
    return fail_errno(fmt::format("cannot write {}", path), EEXIST,
                      "Remove it, or name another file.");
  if (::access(parent.c_str(), W_OK | X_OK) != 0)
    return fail_errno(fmt::format("cannot write {}", path));
  return {};
}

// What `write` makes of the new file `path`, or of `out` where that is empty. Never replaces a file, and leaves none behind that
// is not whole.
template <class Write>
auto write_output(const Stream& out, const std::string& path, const Write& write)
    -> decltype(write(out.file)) {
  if (path.empty())
    return write(out.file);
  if (const auto checked = check_new_file(path); !checked)
    return std::unexpected(checked.error());
  const store::TemporaryFiles made;
  std::unique_ptr<std::FILE, FileCloser> file;
  if (!made.make([&] {
        Fd made_now(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
        file.reset(made_now ? ::fdopen(made_now.get(), "w") : nullptr);
        if (file)
          made_now.release();
        return file ? std::filesystem::path(path) : std::filesystem::path();
      }))
    return fail_errno(fmt::format("cannot write {}", path));
  auto written = write(file.get());
  if (written)
    made.keep();
  else if (std::ferror(file.get()) != 0)
    written.error().what = fmt::format("cannot write {}", path);
  return written;
}

} // namespace iotrail::cli
