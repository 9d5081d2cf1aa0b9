// SPDX-License-Identifier: BSD-3-Clause
#include "import/input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <zlib.h>
#include <zstd.h>

#include "base/fd.hpp"

namespace iotrail::import {
namespace {

constexpr std::size_t kReadBytes = 64U << 10U;
constexpr std::size_t kWindowLogMax = 27; // of zstd: 128 MiB, as its own program accepts

struct InflateEnd {
  void operator()(z_stream* stream) const {
    ::inflateEnd(stream);
    delete stream;
  }
};
struct ZstdEnd {
  void operator()(ZSTD_DStream* stream) const { ::ZSTD_freeDStream(stream); }
};

} // namespace

struct Input::Impl {
  enum class Coding : std::uint8_t { plain, gzip, zstd };

  std::string path;
  Fd file;
  Coding coding = Coding::plain;
  std::unique_ptr<z_stream, InflateEnd> inflate{};
  std::unique_ptr<ZSTD_DStream, ZstdEnd> zstd{};
  std::vector<char> packed{}; // as read from the file, not yet decoded
  std::size_t packed_begin = 0;
  bool is_file_read = false;
  bool is_frame_whole = true; // no compressed frame is open

  std::string content{}; // decoded, from `begin` on not yet consumed
  std::size_t begin = 0;
  bool has_ended = false;
  std::uint64_t consumed = 0;
  std::uint64_t line = 0;
  bool was_cut = false;
  std::string cut_line{};
  std::optional<Error> failure{};

  std::string_view rest() const { return std::string_view(content).substr(begin); }
  void fail_with(std::string why) {
    failure = Error{fmt::format("cannot read {}", path), std::move(why), "", 0};
    has_ended = true;
  }
  void consume(std::size_t bytes) {
    begin += bytes;
    consumed += bytes;
  }
  void read_packed();
  void find_coding();
  std::size_t decode(std::span<char> to);
  std::size_t decode_gzip(std::span<char> to);
  std::size_t decode_zstd(std::span<char> to);
  bool fill(); // false: the end
};

// Reads more of the file behind what is not yet decoded.
void Input::Impl::read_packed() {
  packed.erase(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(packed_begin));
  packed_begin = 0;
  const std::size_t before = packed.size();
  packed.resize(before + kReadBytes);
  ssize_t got = 0;
  do
    got = ::read(file.get(), packed.data() + before, kReadBytes);
  while (got < 0 && errno == EINTR);
  packed.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0)
    failure = fail_errno(fmt::format("cannot read {}", path)).error();
  is_file_read = got <= 0;
}

void Input::Impl::find_coding() {
  while (packed.size() < 4 && !is_file_read)
    read_packed();
  const std::string_view magic(packed.data(), packed.size());
  if (magic.starts_with("\x1f\x8b")) {
    coding = Coding::gzip;
    inflate.reset(new z_stream{});
    constexpr int kGzip = 16 + MAX_WBITS;
    if (::inflateInit2(inflate.get(), kGzip) != Z_OK)
      fail_with("no memory to decompress it");
  } else if (magic.starts_with("\x28\xb5\x2f\xfd")) {
    coding = Coding::zstd;
    zstd.reset(::ZSTD_createDStream());
    if (!zstd)
      fail_with("no memory to decompress it");
    else
      ::ZSTD_DCtx_setParameter(zstd.get(), ZSTD_d_windowLogMax, kWindowLogMax);
  }
}

std::size_t Input::Impl::decode_gzip(std::span<char> to) {
  z_stream& stream = *inflate;
  stream.next_in = reinterpret_cast<Bytef*>(packed.data() + packed_begin);
  stream.avail_in = static_cast<uInt>(packed.size() - packed_begin);
  stream.next_out = reinterpret_cast<Bytef*>(to.data());
  stream.avail_out = static_cast<uInt>(to.size());
  const int done = ::inflate(&stream, Z_NO_FLUSH);
  packed_begin = packed.size() - stream.avail_in;
  is_frame_whole = done == Z_STREAM_END;
  if (done == Z_STREAM_END) // another member may follow
    ::inflateReset(&stream);
  else if (done != Z_OK && done != Z_BUF_ERROR)
    fail_with("its compressed data is damaged");
  return to.size() - stream.avail_out;
}

std::size_t Input::Impl::decode_zstd(std::span<char> to) {
  ZSTD_inBuffer in{packed.data(), packed.size(), packed_begin};
  ZSTD_outBuffer out{to.data(), to.size(), 0};
  const std::size_t left = ::ZSTD_decompressStream(zstd.get(), &out, &in);
  packed_begin = in.pos;
  is_frame_whole = left == 0;
  if (::ZSTD_isError(left) != 0U)
    fail_with(fmt::format("its compressed data is damaged ({})", ::ZSTD_getErrorName(left)));
  return out.pos;
}

std::size_t Input::Impl::decode(std::span<char> to) {
  if (packed_begin == packed.size() && is_frame_whole)
    return 0;
  if (coding == Coding::gzip)
    return decode_gzip(to);
  if (coding == Coding::zstd)
    return decode_zstd(to);
  const std::size_t bytes = std::min(to.size(), packed.size() - packed_begin);
  std::memcpy(to.data(), packed.data() + packed_begin, bytes);
  packed_begin += bytes;
  return bytes;
}

bool Input::Impl::fill() {
  if (begin > 0) {
    content.erase(0, begin);
    begin = 0;
  }
  while (!has_ended && !failure) {
    if (packed_begin == packed.size() && !is_file_read)
      read_packed();
    const std::size_t before = content.size();
    content.resize(before + kReadBytes);
    const std::size_t got = decode(std::span(content).subspan(before));
    content.resize(before + got);
    if (got > 0)
      return true;
    if (packed_begin == packed.size() && is_file_read) {
      if (!is_frame_whole && !failure)
        fail_with("its compressed data ends too early");
      has_ended = true;
    }
  }
  return false;
}

Input::Input(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;

Result<Input> Input::open(const std::string& path) {
  Fd file(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                      : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0)
    return fail_errno(fmt::format("cannot read {}", path));
  if (S_ISDIR(status.st_mode))
    return fail_errno(fmt::format("cannot read {}", path), EISDIR);
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->file = std::move(file);
  impl->find_coding();
  while (!impl->failure && impl->content.size() < kHeadBytes && impl->fill()) {
  }
  if (impl->failure)
    return std::unexpected(*impl->failure);
  return Input(std::move(impl));
}

const std::string& Input::path() const {
  return impl_->path;
}

std::string_view Input::head() const {
  return impl_->rest().substr(0, kHeadBytes);
}

std::string_view Input::peek(std::size_t size) {
  while (impl_->rest().size() < size && impl_->fill()) {
  }
  return impl_->rest().substr(0, size);
}

void Input::skip(std::size_t bytes) {
  impl_->consume(std::min(bytes, impl_->rest().size()));
}

std::optional<std::string_view> Input::next_line() {
  Impl& in = *impl_;
  in.was_cut = false;
  std::size_t searched = 0;
  std::size_t end = std::string_view::npos;
  for (;;) {
    end = in.rest().find('\n', searched);
    if (end != std::string_view::npos)
      break;
    searched = in.rest().size();
    if (searched > kLineBytesMax && !in.was_cut) {
      in.was_cut = true;
      in.cut_line = in.rest().substr(0, kLineBytesMax);
    }
    if (in.was_cut) {
      in.consume(searched);
      searched = 0;
    }
    if (!in.fill())
      break;
  }
  const bool is_last = end == std::string_view::npos;
  if (is_last && in.rest().empty() && !in.was_cut)
    return std::nullopt;
  ++in.line;
  std::string_view line = in.rest().substr(0, end);
  in.consume(line.size() + (is_last ? 0 : 1));
  if (in.was_cut)
    return in.cut_line;
  if (line.size() > kLineBytesMax) {
    in.was_cut = true;
    line = line.substr(0, kLineBytesMax);
  }
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

bool Input::was_cut() const {
  return impl_->was_cut;
}

std::uint64_t Input::line() const {
  return impl_->line;
}

std::string Input::place() const {
  return impl_->line > 0 ? fmt::format("{}:{}", impl_->path, impl_->line)
                         : fmt::format("{} at byte {}", impl_->path, impl_->consumed);
}

const Error* Input::failure() const {
  return impl_->failure ? &*impl_->failure : nullptr;
}

Result<void> check_inputs(std::span<const Input> inputs) {
  for (const Input& input : inputs)
    if (input.failure() != nullptr)
      return std::unexpected(*input.failure());
  return {};
}

Result<void> for_each_line(std::span<Input> inputs, LineTime time_of,
                           const std::function<void(Input&, std::string_view)>& each) {
  struct Cursor {
    Input* input;
    std::optional<std::string_view> line;
    std::uint64_t time_ns = 0;
  };
  const auto advance = [&](Cursor& cursor) {
    cursor.line = cursor.input->next_line();
    if (cursor.line)
      cursor.time_ns = time_of(*cursor.line).value_or(cursor.time_ns);
  };
  std::vector<Cursor> cursors;
  for (Input& input : inputs) {
    cursors.push_back({&input, std::nullopt});
    advance(cursors.back());
  }
  const auto is_later = [](const Cursor& a, const Cursor& b) {
    return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.input > b.input;
  };
  std::erase_if(cursors, [](const Cursor& cursor) { return !cursor.line; });
  std::ranges::make_heap(cursors, is_later);
  while (!cursors.empty()) {
    std::ranges::pop_heap(cursors, is_later);
    Cursor& first = cursors.back();
    each(*first.input, *first.line);
    advance(first);
    if (first.line)
      std::ranges::push_heap(cursors, is_later);
    else
      cursors.pop_back();
  }
  return check_inputs(inputs);
}

} // namespace iotrail::import
