// SPDX-License-Identifier: BSD-3-Clause
#include "text/units.hpp"

#include <string.h>

#include <algorithm>
#include <ctime>
#include <iterator>

#include <fmt/format.h>

namespace iotrail::output {

namespace {

// Three significant digits: 1.23, 12.3, 123.
std::string three_digits(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::tm local_time(std::int64_t seconds) {
  const std::time_t when = seconds;
  std::tm time{};
  localtime_r(&when, &time);
  return time;
}

bool is_tiny(double share) {
  return share > 0 && share < 0.0005;
}

bool is_nearly_all(double share) {
  return share < 1 && share >= 0.9995;
}

// A share above 0 never prints as 0.0 %, and one below 1 never as 100.0 %.
std::string share_text(double share, std::string_view below, std::string_view above) {
  if (is_tiny(share))
    return fmt::format("{} 0.1 %", below);
  return is_nearly_all(share) ? fmt::format("{} 99.9 %", above)
                              : fmt::format("{:.1f} %", 100 * share);
}

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

} // namespace

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1024)
    return fmt::format("{} B", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.5 && unit + 1 < std::size(kUnits); ++unit)
    value /= 1024;
  return fmt::format("{} {}", three_digits(value), kUnits[unit]);
}

std::string human_duration(std::uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < 1000)
    return fmt::format("{} ns", ns);
  if (value < 999.5e3)
    return three_digits(value / 1e3) + " us";
  if (value < 999.5e6)
    return three_digits(value / 1e6) + " ms";
  if (value < 99.95e9)
    return three_digits(value / 1e9) + " s";
  const std::uint64_t seconds = ns / kNsPerSecond + (ns % kNsPerSecond >= kNsPerSecond / 2);
  if (seconds < 3600)
    return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
}

std::string human_count(std::uint64_t count) {
  const std::string digits = fmt::format("{}", count);
  std::string grouped;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0)
      grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string human_count_of(std::uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", human_count(count), thing, count == 1 ? "" : "s");
}

std::string human_share(double share) {
  return share_text(share, "less than", "more than");
}

std::string short_share(double share) {
  return share_text(share, "<", ">");
}

std::string human_share_of(std::uint64_t part, std::uint64_t whole) {
  return human_share(static_cast<double>(part) /
                     static_cast<double>(std::max<std::uint64_t>(1, whole)));
}

std::string human_date(std::int64_t real_ns) {
  return fmt::format("{}.{:06}", short_date(real_ns), real_ns % kNsPerSecond / 1000);
}

std::string short_date(std::int64_t real_ns) {
  const std::tm time = local_time(real_ns / kNsPerSecond);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", time.tm_year + 1900, time.tm_mon + 1,
                     time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec);
}

std::string clock_time(std::int64_t real_ns) {
  const std::tm time = local_time(real_ns / kNsPerSecond);
  return fmt::format("{:02}:{:02}:{:02}.{:09}", time.tm_hour, time.tm_min, time.tm_sec,
                     real_ns % kNsPerSecond);
}

std::string human_status(int status) {
  constexpr int kOfSignals = 128;
  const char* signal = status > kOfSignals ? ::sigabbrev_np(status - kOfSignals) : nullptr;
  return signal ? fmt::format("{} (SIG{})", status, signal) : fmt::format("{}", status);
}

} // namespace iotrail::output
