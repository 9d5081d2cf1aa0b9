// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/segment_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "store/format/manifest.hpp"

namespace iotrail::store {

constexpr const char* kLeaveIt = "while a trace is recorded, its directory is the recorder's alone";

Result<SegmentFile> SegmentFile::create(const Fd& directory, const std::filesystem::path& trace,
                                        SegmentKind kind, std::uint32_t number,
                                        const TraceId& trace_id) {
  const std::string name = segment_name(kind, number);
  SegmentFile segment;
  segment.shown_as_ = (trace / name).string();
  segment.file_ = Fd(openat(directory.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                            static_cast<mode_t>(0640)));
  if (!segment.file_)
    return fail_errno("cannot make " + segment.shown_as_);
  SegmentHeader header;
  header.format_version = Manifest::kFormatVersion;
  header.kind = kind;
  header.trace_id = trace_id;
  header.number = number;
  seal(header);
  if (auto written = segment.write(std::as_bytes(std::span(&header, 1))); !written)
    return std::unexpected(written.error());
  return segment;
}

Result<void> SegmentFile::append(ByteSpan block, std::uint32_t rows) {
  if (auto untouched = check_untouched(); !untouched)
    return untouched;
  auto written = write(block);
  if (written) {
    ++blocks_;
    rows_ += rows;
  }
  return written;
}

Result<void> SegmentFile::write(ByteSpan bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = pwrite(file_.get(), bytes.data() + done, bytes.size() - done,
                             static_cast<off_t>(bytes_ + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      const int code = n < 0 ? errno : ENOSPC;
      // If even this fails, readers skip the rest by its wrong checksum.
      (void)ftruncate(file_.get(), static_cast<off_t>(bytes_));
      return fail_errno("cannot write " + shown_as_, code);
    }
    done += static_cast<std::size_t>(n);
  }
  bytes_ += bytes.size();
  return {};
}

Result<void> SegmentFile::sync() {
  if (fdatasync(file_.get()) != 0)
    return fail_errno("cannot bring to the disk " + shown_as_);
  return check_untouched();
}

// Writes to a file without a name succeed, but their data is gone when the file is closed.
Result<void> SegmentFile::check_untouched() const {
  struct stat found{};
  if (fstat(file_.get(), &found) != 0)
    return fail_errno("cannot look at " + shown_as_);
  if (found.st_nlink == 0)
    return fail("the trace is not whole", shown_as_ + " was removed meanwhile", kLeaveIt);
  if (static_cast<std::uint64_t>(found.st_size) != bytes_)
    return fail("the trace is not whole",
                fmt::format("somebody else has changed {}: of {} bytes that were written it has {}",
                            shown_as_, bytes_, found.st_size),
                kLeaveIt);
  return {};
}

} // namespace iotrail::store
