// SPDX-License-Identifier: BSD-3-Clause
#include "capture/fuse/io_trace_text.hpp"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/clock.hpp"

namespace iotrail::capture::fuse {
namespace {

constexpr std::size_t kWaitingMost = 64U << 10U;

// A name may have a line break; then a line would look like two.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text)
    c == '\n' ? line.append("\\n") : line.append(1, c);
  return line;
}

// As Python prints a float: the shortest digits, and ".0" after a whole number.
std::string python_float(std::int64_t time_ns) {
  std::string text = fmt::format("{}", static_cast<double>(time_ns) / 1e9);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

std::string times_text(const Request& request, std::uint64_t now_ns) {
  const auto one = [&](std::uint32_t is_set, std::uint32_t is_now, std::int64_t given_ns) {
    const bool is_given = (request.changes & is_set) != 0 && (request.changes & is_now) == 0;
    return python_float(is_given ? given_ns : static_cast<std::int64_t>(now_ns));
  };
  return fmt::format("({}, {})", one(FATTR_ATIME, FATTR_ATIME_NOW, request.accessed_ns),
                     one(FATTR_MTIME, FATTR_MTIME_NOW, request.modified_ns));
}

struct Kind {
  std::string_view name; // empty: no line
  std::string text;
};

// One line for the first of what is set; a request that sets more makes more lines.
std::string setattr_lines(const Request& request, std::string_view path, std::uint64_t now_ns,
                          const std::string& time) {
  std::string lines;
  const auto add = [&](std::string_view kind, const std::string& text) {
    lines += fmt::format("{}: {:>8}: path={}; {}\n", time, kind, path, text);
  };
  const auto is_set = [&](std::uint32_t bits) { return (request.changes & bits) != 0; };
  if (is_set(FATTR_MODE))
    add("CHMOD", fmt::format("mode={}", request.mode));
  if (is_set(FATTR_UID | FATTR_GID))
    add("CHOWN", fmt::format("uid={}; gid={}",
                             is_set(FATTR_UID) ? static_cast<std::int64_t>(request.new_uid) : -1,
                             is_set(FATTR_GID) ? static_cast<std::int64_t>(request.new_gid) : -1));
  if (is_set(FATTR_SIZE))
    add("TRUNC", fmt::format("length={}", request.bytes));
  if (is_set(FATTR_ATIME | FATTR_MTIME | FATTR_ATIME_NOW | FATTR_MTIME_NOW))
    add("UTIMES", "times:" + times_text(request, now_ns));
  return lines;
}

Kind name_kind(const Request& request, std::string_view path, std::string_view to_path) {
  switch (request.opcode) {
  case FUSE_MKNOD:
    return {"MKNOD", fmt::format("path={}; mode={}; dev={}", path, request.mode,
                                 ::makedev(request.device >> 20U, request.device & 0xfffffU))};
  case FUSE_MKDIR:
    return {"MKDIR", fmt::format("path={}; mode={}", path, request.mode)};
  case FUSE_UNLINK:
    return {"UNLINK", fmt::format("path={}", path)};
  case FUSE_RMDIR:
    return {"RMDIR", fmt::format("path={}", path)};
  case FUSE_SYMLINK:
    return {"SYMLINK", fmt::format("name={}; target={}", path, to_path)};
  case FUSE_LINK: // its `target` is the new name
    return {"LINK", fmt::format("target={}; name={}", to_path, path)};
  case FUSE_RENAME:
  case FUSE_RENAME2:
    return {"RENAME", fmt::format("old={}; new={}", path, to_path)};
  case FUSE_CREATE:
  case FUSE_TMPFILE:
    return {"CREATE", fmt::format("path={}; mode={}; fi=None", path, request.mode)};
  default:
    return {};
  }
}

Kind kind_of_request(const Request& request, std::string_view path, std::string_view to_path) {
  switch (request.opcode) {
  case FUSE_LOOKUP: // the original's library asks for attributes to look a name up
  case FUSE_GETATTR:
    return {"GETATTR", fmt::format("path={}", path)};
  case FUSE_ACCESS:
    return {"ACCESS", fmt::format("path={}; mode={}", path, request.argument)};
  case FUSE_OPEN:
    return {"OPEN", fmt::format("path={}; flags={}", path, request.flags)};
  case FUSE_READ:
    return {"READ",
            fmt::format("path={}; length={}; offset={}", path, request.bytes, request.offset)};
  case FUSE_WRITE:
    return {"WRITE",
            fmt::format("path={}; offset={}; length_buf={}", path, request.offset, request.bytes)};
  case FUSE_FLUSH:
    return {"FLUSH", fmt::format("path={}", path)};
  case FUSE_FSYNC:
    return {"FSYNC", fmt::format("path={}", path)};
  case FUSE_RELEASE:
    return {"RELEASE", fmt::format("path={}", path)};
  case FUSE_READDIR:
  case FUSE_READDIRPLUS: // the original's library reads a directory once
    return request.offset == 0 ? Kind{"READDIR", fmt::format("path={}", path)} : Kind{};
  case FUSE_READLINK:
    return {"READLINK", fmt::format("path={}", path)};
  case FUSE_STATFS:
    return {"STATFS", fmt::format("path={}", path)};
  default:
    return name_kind(request, path, to_path);
  }
}

} // namespace

std::string io_trace_line(const Request& request, std::string_view path, std::string_view to_path,
                          std::uint64_t real_time_ns, bool is_padded) {
  const auto seconds = static_cast<std::time_t>(real_time_ns / 1'000'000'000U);
  const std::uint64_t microseconds = real_time_ns / 1000U % 1'000'000U;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  const std::string time = is_padded ? fmt::format("{:%Y%m%d-%H%M%S}.{:06}", local, microseconds)
                                     : fmt::format("{:%Y%m%d-%H%M%S}.{}", local, microseconds);
  if (request.opcode == FUSE_SETATTR)
    return setattr_lines(request, path, real_time_ns, time);
  const Kind kind = kind_of_request(request, path, to_path);
  if (kind.name.empty())
    return {};
  return fmt::format("{}: {:>8}: {}\n", time, kind.name, kind.text);
}

Result<std::unique_ptr<IoTraceText>> IoTraceText::create(const std::filesystem::path& file,
                                                         bool flushes, bool is_padded) {
  Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  if (!fd)
    return fail_errno(fmt::format("cannot write lines to {}", file.native()));
  return std::unique_ptr<IoTraceText>(new IoTraceText(std::move(fd), file, flushes, is_padded));
}

void IoTraceText::write(const Request& request, std::string_view path, std::string_view to_path) {
  const std::lock_guard lock(
      mutex_); // also around the clock: lines are in the order of their times
  waiting_ += io_trace_line(request, one_line(path), one_line(to_path), realtime_ns(), is_padded_);
  if (flushes_ || waiting_.size() > kWaitingMost)
    write_out();
}

void IoTraceText::flush() {
  const std::lock_guard lock(mutex_);
  write_out();
}

void IoTraceText::write_out() {
  std::size_t done = 0;
  while (done < waiting_.size() && error_ == 0) {
    const ssize_t bytes = ::write(file_.get(), waiting_.data() + done, waiting_.size() - done);
    if (bytes >= 0)
      done += static_cast<std::size_t>(bytes);
    else if (errno != EINTR)
      error_ = errno;
  }
  waiting_.clear();
}

std::string IoTraceText::failure() const {
  const std::lock_guard lock(mutex_);
  return error_ == 0 ? std::string() : fmt::format("{}: {}", name_.native(), errno_text(error_));
}

} // namespace iotrail::capture::fuse
