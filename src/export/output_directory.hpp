// SPDX-License-Identifier: BSD-3-Clause
//
// A directory that an export fills. Its files are new: none is replaced. Unless keep() is called,
// the files, and the directory if it is new, are removed again.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "store/writer/temporary_files.hpp"

namespace iotrail::output {

class OutputDirectory {
public:
  explicit OutputDirectory(std::filesystem::path path) : path_(std::move(path)) {}

  // Makes the directory unless it exists. Refuses one that is a trace.
  Result<void> make() const;
  // What `fill` makes of the new file `name`. An error names the file.
  template <class Fill>
  auto write(std::string_view name, const Fill& fill) const -> decltype(fill(stdout)) {
    const auto file = create(name);
    if (!file)
      return std::unexpected(file.error());
    auto written = fill(file->get());
    if (!written)
      written.error().what = "cannot write " + (path_ / name).string();
    return written;
  }

  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, CloseFile>;
  Result<File> create(std::string_view name) const;

  // A new directory in it, `name` perhaps of several levels, unless it exists.
  Result<void> make_folder(std::string_view name) const;

  const std::filesystem::path& path() const { return path_; }
  void keep() const { made_.keep(); }

private:
  std::filesystem::path path_;
  store::TemporaryFiles made_; // removed unless all files are complete
};

} // namespace iotrail::output
