// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrc/machine.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "analysis/engine/duckdb_library.hpp"

namespace iotrail::compat::iotrc {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30U;
constexpr std::size_t kIdDigits = 16;

// A fact of /proc/meminfo.
std::uint64_t memory_fact(const std::string& name) {
  std::ifstream facts("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string unit;
  while (facts >> key >> kib && std::getline(facts, unit))
    if (key == name + ":")
      return kib << 10U;
  return 0;
}

std::uint64_t fastest_link_mbps() {
  std::uint64_t fastest = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/sys/class/net", error), end; !error && it != end;
       it.increment(error)) {
    std::ifstream file(it->path() / "speed");
    std::int64_t mbps = 0; // -1: unknown
    if (file >> mbps && mbps > 0)
      fastest = std::max(fastest, static_cast<std::uint64_t>(mbps));
  }
  return fastest;
}

} // namespace

Resources resources_of_machine() {
  return {.cores = std::thread::hardware_concurrency(),
          .memory_bytes = memory_fact("MemTotal"),
          .available_bytes = memory_fact("MemAvailable"),
          .link_mbps = fastest_link_mbps()};
}

StreamChoice choose_streams(const Resources& resources, StreamChoice asked) {
  const bool is_large = resources.cores >= 8 && resources.memory_bytes >= 16 * kGiB &&
                        resources.available_bytes >= 2 * kGiB;
  return {.cache = asked.cache || is_large,
          .network = asked.network || (is_large && resources.link_mbps >= 10)};
}

Result<std::string> machine_id() {
  std::ifstream file("/etc/machine-id");
  std::string id;
  if (!(file >> id))
    return fail("cannot identify this machine", "/etc/machine-id cannot be read",
                "`systemd-machine-id-setup` makes the file.");
  auto digits = analysis::sha256_digits(id);
  if (!digits)
    return digits;
  digits->resize(kIdDigits);
  std::ranges::transform(*digits, digits->begin(), [](char c) {
    return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return digits;
}

} // namespace iotrail::compat::iotrc
