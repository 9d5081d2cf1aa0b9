// SPDX-License-Identifier: BSD-3-Clause
#include "store/reader/segment_bytes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/bytes.hpp"
#include "store/format/trace_directory.hpp"

namespace iotrail::store {
namespace {

constexpr std::uint64_t kSparseBytes = 64ULL << 20U;
constexpr std::uint64_t kSparseRatio = 64;

// How much of a file there is to look at. One that is nearly all hole was never written by a recorder, and takes hours to search
// for blocks: what lies behind its first hole does not count.
std::uint64_t readable_bytes(const Fd& file, const struct stat& status) {
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const auto allocated = static_cast<std::uint64_t>(status.st_blocks) * kSectorBytes;
  if (size < kSparseBytes || allocated >= size / kSparseRatio)
    return size;
  const off_t hole = lseek(file.get(), 0, SEEK_HOLE);
  return hole < 0 ? size : static_cast<std::uint64_t>(hole);
}

} // namespace

Result<SegmentBytes> SegmentBytes::open(const Fd& directory, const std::string& name,
                                        const std::filesystem::path& shown_as) {
  auto file = open_regular(directory, name.c_str(), shown_as);
  if (!file)
    return std::unexpected(file.error());
  struct stat status{};
  if (fstat(file->get(), &status) != 0)
    return fail_errno("cannot open " + shown_as.string());
  SegmentBytes bytes;
  bytes.size_ = readable_bytes(*file, status);
  bytes.bytes_left_out_ = static_cast<std::uint64_t>(status.st_size) - bytes.size_;
  bytes.file_ = std::move(*file);
  return bytes;
}

std::size_t SegmentBytes::read(std::uint64_t offset, std::span<std::byte> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n = pread(file_.get(), into.data() + done, into.size() - done,
                            static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

} // namespace iotrail::store
