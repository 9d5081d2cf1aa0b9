// SPDX-License-Identifier: BSD-3-Clause
#include "cli/summary_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace iotrail::cli {
namespace {

// What is opened need not be a file, or is one that the user's shell has opened.
bool may_exist(const std::string& path) {
  struct stat status{};
  return path.starts_with("/dev/") || (::stat(path.c_str(), &status) == 0 &&
                                       !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

} // namespace

void declare_summary(CLI::App& app, SummaryOptions& options) {
  app.add_option("--summary", options.path,
                 "Write the summary to this new file, not to standard error")
      ->type_name("FILE");
  app.add_flag("--json", options.json,
               "The summary as one JSON object; with --summary FILE nothing else is beside it");
}

Result<SummaryOutput> SummaryOutput::open(const Stream& err, const SummaryOptions& options) {
  SummaryOutput output(err);
  if (options.path.empty())
    return output;
  const bool is_new = !may_exist(options.path);
  Fd fd(::open(options.path.c_str(), O_WRONLY | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0),
               kFileMode));
  output.file_.reset(fd ? ::fdopen(fd.get(), "w") : nullptr);
  if (!output.file_)
    return fail_errno(fmt::format("cannot write {}", options.path), errno,
                      "Nothing was recorded, and no command was run.");
  fd.release();
  output.stream_ = {output.file_.get()};
  output.path_ = options.path;
  output.is_new_ = is_new;
  return output;
}

SummaryOutput::SummaryOutput(SummaryOutput&& other) noexcept
    : stream_(other.stream_), file_(std::move(other.file_)), path_(std::move(other.path_)),
      is_new_(std::exchange(other.is_new_, false)) {}

SummaryOutput::~SummaryOutput() {
  if (is_new_)
    ::unlink(path_.c_str());
}

Result<void> SummaryOutput::finish(const output::Document& document, DocumentFormat format) {
  Result<void> printed = print_document(stream_, document, format);
  if (printed)
    is_new_ = false;
  else if (is_file())
    printed.error().what = fmt::format("cannot write {}", path_);
  return printed;
}

} // namespace iotrail::cli
