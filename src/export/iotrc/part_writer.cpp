// SPDX-License-Identifier: BSD-3-Clause
#include "export/iotrc/part_writer.hpp"

#include <ctime>

#include <fmt/format.h>

namespace iotrail::output::iotrc {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kLastSecond = 253'402'300'799; // of the year 9999

std::tm calendar(std::uint64_t real_ns) {
  const auto seconds = static_cast<std::time_t>(std::min(real_ns / kSecond, kLastSecond));
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return parts;
}

} // namespace

std::string date_text(std::uint64_t real_ns) {
  const std::tm t = calendar(real_ns);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:06}", t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, real_ns % kSecond / 1000);
}

std::string date_name(std::uint64_t real_ns) {
  const std::tm t = calendar(real_ns);
  return fmt::format("{:04}{:02}{:02}_{:02}{:02}{:02}_{:03}", t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, real_ns % kSecond / 1'000'000);
}

bool PartWriter::is_full(std::string_view line, std::uint64_t at_ns) const {
  const PartLimits& limits = options_.limits;
  return part_rows_ >= limits.rows || part_bytes_ + line.size() > limits.size_bytes ||
         (at_ns > part_begin_ns_ && at_ns - part_begin_ns_ > limits.age_ns);
}

Result<void> PartWriter::begin(std::uint64_t at_ns, std::uint64_t real_ns) {
  if (auto made = directory_.make_folder(folder_); !made)
    return made;
  auto file =
      CompressedFile::create(directory_,
                             fmt::format("{}/{}_{}_{:04}.csv{}", folder_, name_, date_name(real_ns),
                                         ++number_, suffix_of(options_.compression)),
                             options_.compression);
  if (!file)
    return std::unexpected(file.error());
  file_ = std::move(*file);
  file_->put(header_);
  part_begin_ns_ = at_ns;
  part_rows_ = 0;
  part_bytes_ = header_.size();
  return {};
}

Result<void> PartWriter::put(std::string_view line, std::uint64_t at_ns, std::uint64_t real_ns) {
  if (file_ && is_full(line, at_ns))
    if (auto done = finish(); !done)
      return done;
  if (!file_)
    if (auto begun = begin(at_ns, real_ns); !begun)
      return begun;
  file_->put(line);
  part_bytes_ += line.size();
  ++part_rows_;
  ++rows_;
  return file_->is_broken() ? finish() : Result<void>();
}

Result<void> PartWriter::finish() {
  if (!file_)
    return {};
  auto done = file_->finish();
  file_.reset();
  return done;
}

} // namespace iotrail::output::iotrc
