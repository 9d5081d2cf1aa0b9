// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>

#include <fmt/format.h>

#include "capture/snapshot/proc_text.hpp"
#include "capture/snapshot/system.hpp"

namespace iotrail::capture::snapshot {
namespace {

namespace fs = std::filesystem;
using Interface = iot_snapshot_network;

constexpr std::uint64_t kMegabit = 1'000'000;

void read_statistics(const std::string& interface, Interface& row) {
  struct Counter {
    const char* name;
    iot_u64 Interface::* field;
  };
  static constexpr Counter kCounters[] = {
      {"rx_bytes", &Interface::received_bytes},  {"rx_packets", &Interface::received_packets},
      {"rx_errors", &Interface::receive_errors}, {"rx_dropped", &Interface::receive_drops},
      {"tx_bytes", &Interface::sent_bytes},      {"tx_packets", &Interface::sent_packets},
      {"tx_errors", &Interface::send_errors},    {"tx_dropped", &Interface::send_drops},
  };
  for (const Counter& counter : kCounters)
    row.*counter.field = read_number(fmt::format("{}/statistics/{}", interface, counter.name));
}

void add_interface(SnapshotRun& run, const fs::path& directory) {
  const std::string interface = directory.string();
  Interface row{};
  read_statistics(interface, row);
  row.speed_bits = read_number(interface + "/speed") * kMegabit;
  row.packet_max_bytes = static_cast<iot_u32>(read_number(interface + "/mtu"));
  row.queue_packets = static_cast<iot_u32>(read_number(interface + "/tx_queue_len"));
  const std::string driver = read_link(AT_FDCWD, (interface + "/device/driver").c_str());
  ++run.found;
  run.add(row, {{&Interface::name, directory.filename().native()},
                {&Interface::state, read_line(interface + "/operstate")},
                {&Interface::address, read_line(interface + "/address")},
                {&Interface::driver, fs::path(driver).filename().native()}});
}

} // namespace

void take_network(SnapshotRun& run, const SystemFiles& files) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(files.sys + "/class/net", error))
    if (entry.is_directory(error)) // not the file bonding_masters
      add_interface(run, entry.path());
}

} // namespace iotrail::capture::snapshot
