// SPDX-License-Identifier: BSD-3-Clause
#include "export/iotrc/manifest.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "export/iotrc/part_writer.hpp"
#include "export/trace_rows.hpp"
#include "store/format/manifest.hpp"

namespace iotrail::output::iotrc {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerSecond = 1e9;

Result<void> put_json(const OutputDirectory& directory, const std::string& name,
                      const Json& value) {
  return directory.write(name, [&](std::FILE* file) {
    Sink sink(file);
    sink.put(value.dump(2, ' ', false, Json::error_handler_t::replace));
    sink.put('\n');
    return sink.finish();
  });
}

// "2026-05-01T12:34:56.123456"
std::string iso_text(const store::Manifest& manifest, std::uint64_t at_ns) {
  const auto real = static_cast<__int128>(at_ns) + manifest.monotonic_to_real_ns;
  std::string text =
      date_text(real < 0 ? 0 : static_cast<std::uint64_t>(std::min<__int128>(real, INT64_MAX)));
  text[10] = 'T';
  return text;
}

Json streams_json(std::span<const Stream> streams) {
  Json all = Json::object();
  for (const Stream& stream : streams) {
    Json columns = Json::array();
    for (const Column& column : stream.columns)
      columns.push_back({{"name", column.name},
                         {"type", column.type},
                         {"unit", column.unit},
                         {"description", column.description}});
    all[std::string(stream.name)] = {{"subdir", stream.name},
                                     {"filename_prefix", stream.name},
                                     {"description", stream.description},
                                     {"wall_clock", stream.wall_clock},
                                     {"columns", std::move(columns)}};
  }
  return all;
}

Json session_json(const store::Manifest& manifest) {
  Json session{{"started_at", iso_text(manifest, manifest.begin_ns)},
               {"stopped_at", nullptr},
               {"duration_seconds", nullptr}};
  if (manifest.end_ns > manifest.begin_ns) {
    session["stopped_at"] = iso_text(manifest, manifest.end_ns);
    session["duration_seconds"] =
        static_cast<double>(manifest.end_ns - manifest.begin_ns) / kNsPerSecond;
  }
  return session;
}

Json lost_json(const store::Manifest& manifest) {
  Json lost = Json::object();
  for (const store::SourceTally& source : manifest.sources)
    lost[source.name] = source.lost;
  return lost;
}

Json probes_json(const store::Manifest& manifest) {
  Json probes = Json::array();
  for (const auto& hook : manifest.hooks)
    if (!hook.hook.empty())
      probes.push_back(hook.event);
  return probes;
}

std::uint64_t count_of(const store::Manifest& manifest, const std::string& event) {
  const auto found = manifest.counts.find(event);
  return found == manifest.counts.end() ? 0 : found->second;
}

Json diagnostics_json(const store::Manifest& manifest, const Written& written) {
  const std::uint64_t issued = count_of(manifest, "block_issue");
  const std::uint64_t completed = count_of(manifest, "block_complete");
  return {{"attached_probes", probes_json(manifest)},
          {"lost_events", lost_json(manifest)},
          {"rows_written", written.rows},
          {"write_dropped", Json::object()},
          {"block",
           {{"issued", issued},
            {"completed", completed},
            {"missed", issued > completed ? issued - completed : 0},
            {"stale", 0}}}};
}

// The rows of a query, as objects with the names of the columns.
Result<Json> rows_json(const TraceInput& input, std::string_view sql) {
  auto rows = input.engine.query(sql);
  if (!rows)
    return std::unexpected(rows.error());
  Json all = Json::array();
  while (true) {
    const auto more = rows->next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      return all;
    Json object = Json::object();
    for (std::size_t i = 0; i < rows->columns().size(); ++i)
      std::visit(
          [&](const auto& value) {
            Json& member = object[std::string(rows->columns()[i].name)];
            if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
              member = value;
          },
          rows->row()[i]);
    all.push_back(std::move(object));
  }
}

constexpr std::string_view kProcessorSql =
    "SELECT cpu_model AS brand, cpus AS cores_logical, NULL AS cores_physical, NULL AS "
    "frequency_mhz, NULL AS frequency_min_mhz, NULL AS frequency_max_mhz FROM snapshot_machines "
    "ORDER BY snapshot LIMIT 1";
constexpr std::string_view kMemorySql =
    "SELECT total_bytes, available_bytes, minus(total_bytes, available_bytes) AS used_bytes, "
    "round(CAST(minus(total_bytes, available_bytes) AS DOUBLE) * 100 / greatest(total_bytes, 1), "
    "1) AS percent_used, round(total_bytes / 1073741824.0, 2) AS total_gb, "
    "round(available_bytes / 1073741824.0, 2) AS available_gb, swap_total_bytes, "
    "minus(swap_total_bytes, swap_free_bytes) AS swap_used_bytes, swap_free_bytes FROM "
    "snapshot_memory ORDER BY snapshot LIMIT 1";
constexpr std::string_view kDiskSql =
    "SELECT concat_ws('  ', name, nullif(model, ''), format('{:.1f}G', bytes / 1e9)) AS text FROM "
    "snapshot_disks WHERE snapshot = (SELECT min(snapshot) FROM snapshot_disks) ORDER BY device";
constexpr std::string_view kPartitionSql =
    "SELECT source AS device, path AS mountpoint, type AS fstype, options AS opts, NULL AS "
    "total_bytes, NULL AS used_bytes, NULL AS free_bytes, NULL AS percent_used FROM "
    "snapshot_mounts WHERE snapshot = (SELECT min(snapshot) FROM snapshot_mounts) AND "
    "starts_with(source, '/') ORDER BY mount";

// The first row of a query. Without a snapshot there is none, and no file.
Result<void> write_row(const TraceInput& input, const OutputDirectory& directory,
                       const std::string& name, std::string_view sql) {
  auto rows = rows_json(input, sql);
  if (!rows)
    return std::unexpected(rows.error());
  return rows->empty() ? Result<void>() : put_json(directory, name, rows->front());
}

Result<void> write_disks(const TraceInput& input, const OutputDirectory& directory,
                         const std::string& folder) {
  auto disks = rows_json(input, kDiskSql);
  if (!disks)
    return std::unexpected(disks.error());
  auto partitions = rows_json(input, kPartitionSql);
  if (!partitions)
    return std::unexpected(partitions.error());
  if (disks->empty() && partitions->empty())
    return {};
  Json names = Json::array();
  for (const Json& disk : *disks)
    names.push_back(disk["text"]);
  return put_json(directory, folder + "/disk_info.json",
                  {{"storage_devices", std::move(names)},
                   {"partitions", std::move(*partitions)},
                   {"gpus", Json::array()}});
}

Result<void> write_interfaces(const TraceInput& input, const OutputDirectory& directory,
                              const std::string& folder) {
  auto rows = rows_json(input, "SELECT name, address, state, speed_bits // 1000000 AS speed_mbps, "
                               "packet_max_bytes AS mtu FROM snapshot_interfaces WHERE snapshot = "
                               "(SELECT min(snapshot) FROM snapshot_interfaces) ORDER BY name");
  if (!rows)
    return std::unexpected(rows.error());
  if (rows->empty())
    return {};
  Json interfaces = Json::object();
  for (const Json& row : *rows)
    interfaces[row["name"].is_string() ? row["name"].get<std::string>() : std::string()] = {
        {"addresses", Json::array({{{"family", "AF_PACKET"},
                                    {"address", row["address"]},
                                    {"netmask", nullptr},
                                    {"broadcast", nullptr}}})},
        {"is_up", row["state"] == "up"},
        {"speed_mbps", row["speed_mbps"]},
        {"mtu", row["mtu"]}};
  return put_json(
      directory, folder + "/network_info.json",
      {{"interfaces", std::move(interfaces)}, {"hostname", input.engine.trace().manifest().host}});
}

Result<void> write_os(const TraceInput& input, const OutputDirectory& directory,
                      const std::string& folder) {
  const store::Manifest& manifest = input.engine.trace().manifest();
  auto rows =
      rows_json(input, "SELECT os, kernel_build FROM snapshot_machines ORDER BY snapshot LIMIT 1");
  if (!rows)
    return std::unexpected(rows.error());
  Json os{{"system", "Linux"},           {"release", manifest.kernel}, {"version", nullptr},
          {"machine", manifest.machine}, {"hostname", manifest.host},  {"country", nullptr}};
  if (!rows->empty()) {
    os["version"] = rows->front()["kernel_build"];
    os["distribution"] = {
        {"name", rows->front()["os"]}, {"version", nullptr}, {"codename", nullptr}};
  }
  return put_json(directory, folder + "/os_info.json", os);
}

} // namespace

Result<void> write_manifest(const TraceInput& input, const Options& options,
                            const OutputDirectory& directory, const std::string& machine,
                            std::span<const Stream> streams, const Written& written) {
  const store::Manifest& manifest = input.engine.trace().manifest();
  Json value;
  if (options.era == Era::current)
    value["schema_version"] = 1;
  value["streams"] = streams_json(streams);
  value["tracer"] = {{"version", "iotrail"}};
  value["machine_id"] = machine;
  value["host"] = {{"platform", fmt::format("Linux-{}-{}", manifest.kernel, manifest.machine)},
                   {"kernel", manifest.kernel},
                   {"python", nullptr}};
  value["clock"] = {{"wall_clock", "CLOCK_REALTIME"},
                    {"mono_clock", "CLOCK_MONOTONIC"},
                    {"mono_to_real_offset_ns", manifest.monotonic_to_real_ns},
                    {"note", "mono_ns is CLOCK_MONOTONIC in nanoseconds. Add "
                             "mono_to_real_offset_ns for nanoseconds since 1970."}};
  value["session"] = session_json(manifest);
  value["diagnostics"] = diagnostics_json(manifest, written);
  return put_json(directory, (written.session / "manifest.json").string(), value);
}

Result<void> write_system_spec(const TraceInput& input, const OutputDirectory& directory,
                               const std::string& session) {
  const std::string folder = session + "/system_spec";
  if (auto made = directory.make_folder(folder); !made)
    return made;
  if (auto done = write_row(input, directory, folder + "/cpu_info.json", kProcessorSql); !done)
    return done;
  if (auto done = write_row(input, directory, folder + "/memory_info.json", kMemorySql); !done)
    return done;
  if (auto done = write_disks(input, directory, folder); !done)
    return done;
  if (auto done = write_interfaces(input, directory, folder); !done)
    return done;
  return write_os(input, directory, folder);
}

} // namespace iotrail::output::iotrc
