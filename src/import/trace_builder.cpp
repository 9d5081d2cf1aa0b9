// SPDX-License-Identifier: BSD-3-Clause
#include "import/trace_builder.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <xxhash.h>

#include "dictionary_rows.hpp"

namespace iotrail::import {
namespace {

constexpr std::size_t kDevicesMost = 65536;
constexpr std::string_view kImportSource = schema::value_name("source", IOT_source_import);
constexpr std::size_t kCommandWordsMost = 1000;

} // namespace

bool TraceBuilder::add(const EventRow& row) {
  const std::uint64_t at_ns = row.event().ts_ns;
  const std::uint64_t duration_ns = row.get(schema::Role::duration);
  if (at_ns > kTimeMost_ns || duration_ns > kTimeMost_ns)
    return false;
  writer_.append(row.event());
  if (writer_.is_stalled())
    writer_.wait_while_stalled();
  ++events_;
  first_ns_ = std::min(first_ns_, at_ns);
  end_ns_ = std::max(end_ns_, at_ns + duration_ns);
  kinds_.insert(row.kind());
  return true;
}

std::uint32_t TraceBuilder::file(std::string_view path, std::uint32_t mode) {
  if (path.empty())
    return 0;
  const std::uint64_t number = XXH3_64bits(path.data(), path.size()) >> 1U;
  return writer_.file_id({.device = 0, .inode = number}, mode, path);
}

std::uint32_t TraceBuilder::file(const store::FileKey& key, std::uint32_t mode,
                                 std::string_view path) {
  return writer_.file_id(key, mode, path);
}

void TraceBuilder::name_process(std::uint32_t pid, std::uint64_t since_ns,
                                const ProcessNames& names) {
  const std::string all = fmt::format("{}\n{}\n{}", names.comm, names.exe, names.command);
  if (const std::string* known = processes_.find(pid); known != nullptr && *known == all)
    return;
  const bool is_first = processes_.find(pid) == nullptr;
  processes_.insert(pid, all);
  rows::processes row;
  row.since_ns = is_first && names.exe.empty() ? 0 : since_ns;
  row.pid = pid;
  row.parent_pid = names.parent_pid;
  row.comm = names.comm;
  row.exe = names.exe;
  row.command = names.command;
  row.rank = names.rank;
  writer_.add(row);
}

void TraceBuilder::name_device(std::uint32_t device, std::string_view name, std::string_view model,
                               std::uint64_t bytes) {
  if (devices_.size() >= kDevicesMost || !devices_.insert(device).second)
    return;
  rows::devices row;
  row.device = device;
  row.parent_device = device;
  row.bytes = bytes;
  row.name = name;
  row.model = model;
  writer_.add(row);
}

void TraceBuilder::set_command(std::vector<std::string> command) {
  if (!command_.empty())
    return;
  if (command.size() > kCommandWordsMost)
    command.resize(kCommandWordsMost);
  command_ = std::move(command);
}

void TraceBuilder::malformed(const Input& input, std::string_view why) {
  if (++malformed_ <= kNamedMost)
    named_.push_back(fmt::format("{}: {}", input.place(), why));
}

void TraceBuilder::lost(const Input& input, std::uint64_t records, std::string_view what) {
  if (malformed_ < kNamedMost)
    named_.push_back(fmt::format("{}: {} {}", input.path(), records, what));
  malformed_ += records;
}

void TraceBuilder::describe(store::Manifest& manifest, std::string_view hook) const {
  manifest.begin_ns = events_ > 0 ? first_ns_ : 0;
  manifest.end_ns = std::max<std::uint64_t>(end_ns_, 1);
  manifest.monotonic_to_real_ns = to_real_ns_;
  manifest.command = command_;
  manifest.layers.clear();
  for (const iot_u16 kind : kinds_) {
    const std::string layer(schema::layer_name(IOT_LAYER_OF(kind)));
    if (std::ranges::find(manifest.layers, layer) == manifest.layers.end())
      manifest.layers.push_back(layer);
    store::HookReport report;
    report.event = schema::find_event(kind)->name;
    report.source = kImportSource;
    report.hook = hook;
    manifest.hooks.push_back(std::move(report));
  }
  manifest.sources = {{.name = std::string(kImportSource),
                       .produced = events_ + malformed_,
                       .written = events_,
                       .lost = malformed_}};
  if (malformed_ > 0)
    manifest.counters["import_malformed"] = malformed_;
}

// Nothing says when they happened.
void TraceBuilder::add_losses() {
  if (malformed_ == 0)
    return;
  rows::losses row;
  row.from_ns = events_ > 0 ? first_ns_ : 0;
  row.to_ns = std::max<std::uint64_t>(end_ns_, 1);
  row.source = IOT_source_import;
  row.counter = IOT_COUNTER_import_malformed;
  row.events = malformed_;
  writer_.add(row);
}

} // namespace iotrail::import
