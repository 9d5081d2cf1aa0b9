// SPDX-License-Identifier: BSD-3-Clause
#include "store/reader/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/format/trace_directory.hpp"

namespace iotrail::store {
namespace {

constexpr std::uint64_t kSparseBytes = 64ULL << 20U;
constexpr std::uint64_t kSparseRatio = 64;
constexpr std::uint64_t kAllocationBytes = 512; // as st_blocks counts

// How much of a file there is to look at. One that is nearly all hole was never written by a recorder, and takes hours to search
// for blocks: what lies behind its first hole does not count.
std::uint64_t readable_bytes(int file, const struct stat& status) {
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const auto allocated = static_cast<std::uint64_t>(status.st_blocks) * kAllocationBytes;
  if (size < kSparseBytes || allocated >= size / kSparseRatio)
    return size;
  const off_t hole = lseek(file, 0, SEEK_HOLE);
  return hole < 0 ? size : static_cast<std::uint64_t>(hole);
}

} // namespace

MappedFile::~MappedFile() {
  if (!bytes_.empty())
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<MappedFile> MappedFile::open(const Fd& directory, const std::string& name,
                                    const std::filesystem::path& shown_as) {
  const auto file = open_regular(directory, name.c_str(), shown_as);
  if (!file)
    return std::unexpected(file.error());
  struct stat status{};
  if (fstat(file->get(), &status) != 0)
    return fail_errno("cannot open " + shown_as.string());
  MappedFile mapped;
  const auto size = static_cast<std::size_t>(readable_bytes(file->get(), status));
  mapped.bytes_left_out_ = static_cast<std::uint64_t>(status.st_size) - size;
  if (size == 0)
    return mapped;
  void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->get(), 0);
  if (at == MAP_FAILED)
    return fail_errno("cannot map " + shown_as.string());
  mapped.bytes_ = ByteSpan(static_cast<const std::byte*>(at), size);
  return mapped;
}

} // namespace iotrail::store
