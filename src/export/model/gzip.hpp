// SPDX-License-Identifier: BSD-3-Clause
//
// Compresses what is put in as a gzip member, into a sink.
#pragma once

#include <zlib.h>

#include <array>
#include <string_view>

#include "base/result.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

class GzipSink {
public:
  explicit GzipSink(Sink& sink) : sink_(sink) {
    constexpr int kGzip = 15 + 16; // the largest window, and the header of gzip
    const int state =
        ::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY);
    is_ready_ = state == Z_OK;
  }
  GzipSink(const GzipSink&) = delete;
  GzipSink& operator=(const GzipSink&) = delete;
  ~GzipSink() {
    if (is_ready_)
      ::deflateEnd(&stream_);
  }

  void put(std::string_view bytes) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    if (is_ready_)
      deflate_all(Z_NO_FLUSH);
  }

  Result<void> finish() {
    if (!is_ready_)
      return fail("cannot compress the output", "not enough memory");
    stream_.avail_in = 0;
    deflate_all(Z_FINISH);
    return {};
  }

private:
  void deflate_all(int flush) {
    std::array<char, 16384> buffer;
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream_.avail_out = static_cast<uInt>(buffer.size());
      ::deflate(&stream_, flush);
      sink_.put(std::string_view(buffer.data(), buffer.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

  Sink& sink_;
  z_stream stream_{};
  bool is_ready_ = false;
};

} // namespace iotrail::output
