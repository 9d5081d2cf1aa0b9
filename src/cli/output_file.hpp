// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "cli/console.hpp"
#include "store/writer/leftovers.hpp"

namespace iotrail::cli {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// What `write` makes of the new file `path`, or of `out` where that is empty. Never replaces a file, and leaves none behind that
// is not whole.
template <class Write>
auto write_output(const Stream& out, const std::string& path, const Write& write)
    -> decltype(write(out.file)) {
  if (path.empty())
    return write(out.file);
  const store::Leftovers made;
  std::unique_ptr<std::FILE, FileCloser> file;
  if (!made.make([&] {
        file.reset(std::fopen(path.c_str(), "wxe"));
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
