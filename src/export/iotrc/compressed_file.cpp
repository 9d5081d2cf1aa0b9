// SPDX-License-Identifier: BSD-3-Clause
#include "export/iotrc/compressed_file.hpp"

#include <array>

namespace iotrail::output::iotrc {

static constexpr int kZstdLevel = 3; // as the original has it

std::string_view suffix_of(Compression compression) {
  switch (compression) {
  case Compression::zstd:
    return ".zst";
  case Compression::gzip:
    return ".gz";
  case Compression::none:
    break;
  }
  return "";
}

Result<std::unique_ptr<CompressedFile>> CompressedFile::create(const OutputDirectory& directory,
                                                               const std::string& name,
                                                               Compression compression) {
  auto file = directory.create(name);
  if (!file)
    return std::unexpected(file.error());
  return std::unique_ptr<CompressedFile>(
      new CompressedFile((directory.path() / name).string(), std::move(*file), compression));
}

CompressedFile::CompressedFile(std::string path, OutputDirectory::File file,
                               Compression compression)
    : path_(std::move(path)), file_(std::move(file)), sink_(file_.get()) {
  if (compression == Compression::gzip)
    gzip_ = std::make_unique<GzipSink>(sink_);
  if (compression != Compression::zstd)
    return;
  zstd_ = ::ZSTD_createCCtx();
  has_failed_ =
      zstd_ == nullptr ||
      ::ZSTD_isError(::ZSTD_CCtx_setParameter(zstd_, ZSTD_c_compressionLevel, kZstdLevel)) != 0 ||
      ::ZSTD_isError(::ZSTD_CCtx_setParameter(zstd_, ZSTD_c_checksumFlag, 1)) != 0;
}

CompressedFile::~CompressedFile() {
  ::ZSTD_freeCCtx(zstd_);
}

void CompressedFile::compress(std::string_view bytes, ZSTD_EndDirective directive) {
  std::array<char, 16384> buffer;
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  while (!has_failed_) {
    ZSTD_outBuffer output{buffer.data(), buffer.size(), 0};
    const std::size_t left = ::ZSTD_compressStream2(zstd_, &output, &input, directive);
    has_failed_ = ::ZSTD_isError(left) != 0;
    sink_.put(std::string_view(buffer.data(), output.pos));
    const bool is_done = directive == ZSTD_e_end ? left == 0 : input.pos == input.size;
    if (is_done)
      return;
  }
}

void CompressedFile::put(std::string_view bytes) {
  if (zstd_ != nullptr)
    compress(bytes, ZSTD_e_continue);
  else if (gzip_)
    gzip_->put(bytes);
  else
    sink_.put(bytes);
}

Result<void> CompressedFile::finish() {
  Result<void> done;
  if (zstd_ != nullptr)
    compress({}, ZSTD_e_end);
  if (gzip_)
    done = gzip_->finish();
  if (has_failed_)
    done = fail("cannot compress the output", "not enough memory");
  if (done)
    done = sink_.finish();
  if (!done)
    done.error().what = "cannot write " + path_;
  return done;
}

} // namespace iotrail::output::iotrc
