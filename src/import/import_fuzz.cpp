// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes as a file to import: a trace that reads back whole, or an error, and never a crash.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>

#include "base/fd.hpp"
#include "import/import.hpp"
#include "store/reader/trace_reader.hpp"

using namespace iotrail;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::filesystem::path kFolder = [] {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "iotrail-import-fuzz-XXXXXX").string();
    return std::filesystem::path(::mkdtemp(pattern.data()));
  }();
  if (size == 0)
    return 0;
  const auto formats = import::import_formats();
  const Fd file(::memfd_create("import", MFD_CLOEXEC));
  if (::write(file.get(), data + 1, size - 1) != static_cast<ssize_t>(size - 1))
    return 0;
  import::ImportRequest request;
  request.files = {fmt::format("/proc/self/fd/{}", file.get())};
  request.format = data[0] == 0 ? nullptr : formats[data[0] % formats.size()];
  request.trace = kFolder / "t.iotrail";
  std::filesystem::remove_all(request.trace);
  const auto outcome = import::import_trace(request, formats);
  IOTRAIL_CHECK(outcome.has_value() == std::filesystem::exists(request.trace));
  if (!outcome)
    return 0;
  const auto reader = store::TraceReader::open(request.trace);
  IOTRAIL_CHECK(reader.has_value() && !(*reader)->damage().any());
  return 0;
}
