// SPDX-License-Identifier: BSD-3-Clause
#include "replay/device_plan.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>

#include <fmt/ranges.h>

#include "analysis/engine/sql_text.hpp"
#include "base/bytes.hpp"
#include "export/trace_rows.hpp"
#include "text/printable.hpp"
#include "value_text.hpp"

namespace iotrail::replay {
namespace {

constexpr std::string_view kActionNames[kDeviceActions] = {"read", "write", "flush", "discard",
                                                           "write_zeroes"};

constexpr std::string_view kDevicesSql =
    "SELECT coalesce(min(d.name), 'device ' || q.device) AS name FROM requests AS q LEFT JOIN "
    "devices AS d ON q.device = d.device GROUP BY q.device ORDER BY name";
constexpr std::string_view kDeviceRequestsSql = R"(
SELECT q.flags, q.sector, q.bytes, q.ts_ns, plus(q.ts_ns, q.duration_ns) AS end_ns, q.error
FROM requests AS q WHERE coalesce((SELECT min(d.name) FROM devices AS d WHERE d.device = q.device),
'device ' || q.device) = {} ORDER BY q.ts_ns, q.sector)";

std::uint64_t durable_flag() {
  for (const schema::Value& value : schema::kValues)
    if (value.table == "block_hint" && value.name == "fua")
      return value.number;
  return 0;
}

std::optional<DeviceAction> action_of(std::uint64_t flags) {
  const std::string name = schema::choice_text("block", flags);
  const auto found = std::ranges::find(kActionNames, name);
  if (found == std::end(kActionNames))
    return {};
  return static_cast<DeviceAction>(found - std::begin(kActionNames));
}

Result<std::vector<std::string>> names_of_devices(analysis::Engine& engine) {
  std::string nothing;
  const output::Sink none(nothing);
  std::vector<std::string> names;
  auto done = output::for_each_row(engine, kDevicesSql, none, [&](const output::TraceRow& row) {
    names.emplace_back(row.text(0));
  });
  if (!done)
    return std::unexpected(done.error());
  return names;
}

Result<std::string> choose_device(analysis::Engine& engine, const std::string& device) {
  const auto names = names_of_devices(engine);
  if (!names)
    return std::unexpected(names.error());
  std::vector<std::string> shown;
  for (const std::string& name : *names)
    shown.push_back(output::printable(name));
  if (names->empty())
    return fail("nothing to replay", "the trace has no requests of devices",
                "Layer block records them; it needs root.");
  if (device.empty() && names->size() > 1)
    return fail_usage("the trace has requests of several devices",
                      fmt::format("{}", fmt::join(shown, ", ")), "--from names one of them.");
  if (device.empty())
    return names->front();
  if (std::ranges::find(*names, device) == names->end())
    return fail_usage(fmt::format("--from {}", output::printable(device)),
                      fmt::format("the trace has requests of {}", fmt::join(shown, ", ")));
  return device;
}

class DevicePlanner {
public:
  explicit DevicePlanner(DevicePlan& plan) : plan_(plan) {}

  void add(const output::TraceRow& row) {
    const std::uint64_t flags = row.number(0);
    const auto action = action_of(flags);
    if (!action || row.signed_number(5) < 0) {
      ++plan_.left_out[action ? "failed requests"
                              : fmt::format("requests of kind {}", flags & 0xFFU)];
      return;
    }
    const bool is_flush = *action == DeviceAction::flush;
    const std::uint64_t sector = is_flush ? 0 : row.number(1);
    const std::uint64_t bytes = is_flush ? 0 : std::min<std::uint64_t>(row.number(2), UINT32_MAX);
    if (sector > kSectorMost) {
      ++plan_.left_out["requests without a place"];
      return;
    }
    static const std::uint64_t kDurable = durable_flag();
    const std::uint64_t begin_ns = row.number(3);
    if (plan_.requests.empty())
      first_ns_ = begin_ns;
    plan_.requests.push_back({.begin_ns = begin_ns - first_ns_,
                              .position = sector * kSectorBytes,
                              .bytes = static_cast<std::uint32_t>(bytes),
                              .action = *action,
                              .is_durable = (flags & kDurable) != 0});
    plan_.end_bytes = std::max(plan_.end_bytes, sector * kSectorBytes + bytes);
    plan_.unit_bytes = std::gcd(std::gcd(plan_.unit_bytes, sector * kSectorBytes), bytes);
    plan_.changes_data |= !is_flush && *action != DeviceAction::read;
    plan_.duration_ns = std::max(plan_.duration_ns, row.number(4) - first_ns_);
    while (!ends_.empty() && ends_.top() <= begin_ns)
      ends_.pop();
    ends_.push(row.number(4));
    plan_.most_in_flight = std::max<std::uint64_t>(plan_.most_in_flight, ends_.size());
  }

private:
  static constexpr std::uint64_t kSectorMost = UINT64_MAX / kSectorBytes / 4;

  DevicePlan& plan_;
  std::uint64_t first_ns_ = 0;
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> ends_;
};

} // namespace

std::string_view action_name(DeviceAction action) {
  return kActionNames[static_cast<std::size_t>(action)];
}

Result<DevicePlan> read_device_plan(analysis::Engine& engine, const std::string& device) {
  const auto chosen = choose_device(engine, device);
  if (!chosen)
    return std::unexpected(chosen.error());
  DevicePlan plan{.device = *chosen};
  DevicePlanner planner(plan);
  std::string nothing;
  const output::Sink none(nothing);
  auto done =
      output::for_each_row(engine, fmt::format(kDeviceRequestsSql, analysis::sql_literal(*chosen)),
                           none, [&](const output::TraceRow& row) { planner.add(row); });
  if (!done)
    return std::unexpected(done.error());
  if (plan.requests.empty())
    return fail("nothing to replay",
                fmt::format("no request of {} can be made again", output::printable(*chosen)));
  return plan;
}

} // namespace iotrail::replay
