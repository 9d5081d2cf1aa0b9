// SPDX-License-Identifier: BSD-3-Clause
//
// Lines of IOTraceCollector's trace files (docs/compat/io_trace.md):
//   20181019-131104.961024:    WRITE: path=/hello/world.txt; offset=0; length_buf=13
// One a request, in the order in which the requests come. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "capture/fuse/request_reader.hpp"

namespace iotrail::capture::fuse {

// The line of a request that was made at this time, with its newline; empty: the format has none for it.
std::string io_trace_line(const Request& request, std::string_view path, std::string_view to_path,
                          std::uint64_t real_time_ns, bool is_padded);

class IoTraceText {
public:
  // `flushes`: each line is in the file before write() returns. The file must not exist.
  static Result<std::unique_ptr<IoTraceText>> create(const std::filesystem::path& file,
                                                     bool flushes, bool is_padded);
  ~IoTraceText() { flush(); }

  void write(const Request& request, std::string_view path, std::string_view to_path);
  // Writes what waits. Call it now and then.
  void flush();
  // Why lines are missing; empty: none are.
  std::string failure() const;

private:
  IoTraceText(Fd file, std::filesystem::path name, bool flushes, bool is_padded)
      : file_(std::move(file)), name_(std::move(name)), flushes_(flushes), is_padded_(is_padded) {}
  void write_out();

  Fd file_;
  std::filesystem::path name_;
  bool flushes_;
  bool is_padded_;
  mutable std::mutex mutex_;
  std::string waiting_;
  int error_ = 0;
};

} // namespace iotrail::capture::fuse
