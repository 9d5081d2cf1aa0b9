// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/call_table.hpp"

#include <dlfcn.h>

#include <array>
#include <string>

#include "capture/preload/shared/arena.hpp"
#include "schema.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr auto kKinds = [] {
  std::array<iot_u16, kCallLimit> kinds{};
#define APP_CALL(number, name, event, event_class, target) kinds[number] = IOT_KIND_##event;
#include "libc_calls.def"
  return kinds;
}();

bool is_missing(const HookRow& row) {
  return dlsym(RTLD_DEFAULT, std::string(row.name).c_str()) == nullptr;
}

} // namespace

iot_u16 kind_of_call(iot_u16 call) {
  return call < kCallLimit ? kKinds[call] : 0;
}

iot_u16 number_of_call(std::string_view name) {
  const std::string_view table = schema::value_table(schema::Meaning::value_app_call);
  for (const schema::Value& value : schema::kValues)
    if (value.table == table && value.name == name)
      return static_cast<iot_u16>(value.number);
  return 0;
}

const std::vector<HookRow>& hook_rows() {
  static const std::vector<HookRow> rows = {
  // clang-format off
#define APP_CALL(number, name, event, event_class, target) {#name, IOT_KIND_##event},
#define PLAIN(type, name, parameters) {#name, 0},
#include "libc_calls.def"
      // clang-format on
  };
  return rows;
}

std::vector<store::HookReport> hook_reports() {
  std::vector<store::HookReport> reports;
  for (const schema::Event& event : schema::kEvents) {
    if (event.layer != schema::Layer::app)
      continue;
    store::HookReport report;
    report.event = event.name;
    report.source = "preload";
    std::string missing;
    for (const HookRow& row : hook_rows()) {
      if (row.kind != event.id)
        continue;
      std::string& names = is_missing(row) ? missing : report.hook;
      names += names.empty() ? "" : " ";
      names += row.name;
    }
    if (!missing.empty())
      report.reason = "the C library has no " + missing;
    reports.push_back(std::move(report));
  }
  return reports;
}

} // namespace iotrail::capture::preload
