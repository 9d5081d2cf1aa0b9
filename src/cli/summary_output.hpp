// SPDX-License-Identifier: BSD-3-Clause
//
// Where `record`, `stat` and `snapshot` put their summary, and how. Standard output is the
// command's. Standard error is too, but people read both there; a program that parses the summary
// needs a file of its own.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/result.hpp"
#include "cli/console.hpp"
#include "cli/output_file.hpp"
#include "cli/print_document.hpp"
#include "report/document.hpp"

namespace iotrail::cli {

struct SummaryOptions {
  std::string path; // empty: standard error
  bool json = false;
};
void declare_summary(CLI::App& app, SummaryOptions& options);

// The opened output. Removes a new file that was not finished.
class SummaryOutput {
public:
  // Opens the file before the recording begins: what is wrong with its name shows at once. Replaces
  // no file; an existing pipe, or /dev/fd/3, is written to.
  static Result<SummaryOutput> open(const Stream& err, const SummaryOptions& options);
  SummaryOutput(SummaryOutput&& other) noexcept;
  SummaryOutput& operator=(SummaryOutput&&) = delete;
  ~SummaryOutput();

  const Stream& stream() const { return stream_; }
  bool is_file() const { return file_ != nullptr; }
  // Prints the last part.
  Result<void> finish(const output::Document& document, DocumentFormat format);

private:
  explicit SummaryOutput(const Stream& err) : stream_(err) {}

  Stream stream_;
  std::unique_ptr<std::FILE, FileCloser> file_;
  std::string path_;
  bool is_new_ = false; // and not finished
};

} // namespace iotrail::cli
