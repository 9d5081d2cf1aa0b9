// SPDX-License-Identifier: BSD-3-Clause
#include "store/manifest.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <concepts>
#include <optional>

#include <nlohmann/json.hpp>

#include "schema.hpp"
#include "store/trace_directory.hpp"

namespace iotrail::store {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> kStates = {"INITIALIZING", "RUNNING", "COMPLETE",
                                                     "INCOMPLETE", "ERROR"};

// One list of members serves both directions: `f(name, member)`.
template <class Self>
concept IsHookReport = std::same_as<std::remove_const_t<Self>, HookReport>;
template <IsHookReport Self, class F> void visit_members(Self& hook, F&& f) {
  f("event", hook.event);
  f("source", hook.source);
  f("tier", hook.tier);
  f("hook", hook.hook);
  f("reason", hook.reason);
  f("remedy", hook.remedy);
}

template <class Self>
concept IsSourceTally = std::same_as<std::remove_const_t<Self>, SourceTally>;
template <IsSourceTally Self, class F> void visit_members(Self& tally, F&& f) {
  f("name", tally.name);
  f("produced", tally.produced);
  f("written", tally.written);
  f("lost", tally.lost);
}

template <class Self>
concept IsManifest = std::same_as<std::remove_const_t<Self>, Manifest>;
template <IsManifest Self, class F> void visit_members(Self& m, F&& f) {
  f("format_version", m.format_version);
  f("iotrail_version", m.iotrail_version);
  f("trace_id", m.trace_id);
  f("state", m.state);
  f("stop_reason", m.stop_reason);
  f("command", m.command);
  f("command_status", m.command_status);
  f("host", m.host);
  f("kernel", m.kernel);
  f("machine", m.machine);
  f("cpu_count", m.cpu_count);
  f("recorder_pid", m.recorder_pid);
  f("begin_ns", m.begin_ns);
  f("end_ns", m.end_ns);
  f("monotonic_to_real_ns", m.monotonic_to_real_ns);
  f("layers", m.layers);
  f("filters", m.filters);
  f("limits", m.limits);
  f("hooks", m.hooks);
  f("sources", m.sources);
  f("counts", m.counts);
  f("counters", m.counters);
  f("tags", m.tags);
  f("events_bytes", m.events_bytes);
  f("recorder_cpu_ns", m.recorder_cpu_ns);
  f("recorder_memory_bytes", m.recorder_memory_bytes);
  f("ring_memory_bytes", m.ring_memory_bytes);
}

} // namespace

std::vector<HookReport> refused(std::vector<HookReport> hooks, const Error& error) {
  for (HookReport& hook : hooks) {
    hook.hook.clear();
    hook.tier.clear();
    hook.reason = error.why;
    hook.remedy = error.hint;
  }
  return hooks;
}

// Found by the library by their names.
static void to_json(Json& json, const State& state) {
  json = state_name(state);
}
static void from_json(const Json& json, State& state) {
  const auto name = json.get<std::string>();
  const auto* found = std::ranges::find(kStates, name);
  // A later version may know states that this one does not: then nothing is certain but that it is not complete.
  state = found == kStates.end() ? State::INCOMPLETE : static_cast<State>(found - kStates.begin());
}
template <class Row>
  requires requires(Row& row) { visit_members(row, [](const char*, auto&) {}); }
static void to_json(Json& json, const Row& row) {
  visit_members(row, [&](const char* name, const auto& member) { json[name] = member; });
}
template <class Row>
  requires requires(Row& row) { visit_members(row, [](const char*, auto&) {}); }
static void from_json(const Json& json, Row& row) {
  visit_members(row, [&](const char* name, auto& member) {
    if (json.contains(name))
      json.at(name).get_to(member);
  });
}

namespace {

// One line a column ("ts_ns u64 time_ns"): the schema is read by people too.
Json schema_json() {
  Json tables = Json::array();
  for (const schema::Event& event : schema::kEvents) {
    Json columns = Json::array();
    for (const schema::Field& field : event.fields)
      columns.push_back(fmt::format("{} {} {}", field.name, schema::info(field.type).name,
                                    schema::meaning_name(field.meaning)));
    tables.push_back({{"kind", event.id},
                      {"name", event.name},
                      {"layer", schema::layer_name(static_cast<std::uint32_t>(event.layer))},
                      {"columns", std::move(columns)}});
  }
  return tables;
}

// Names of files and arguments need not be UTF-8; a manifest must be.
std::string to_text(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<ColumnInfo> column_from_text(const std::string& text) {
  const std::size_t first = text.find(' ');
  const std::size_t second = text.find(' ', first + 1);
  if (first == std::string::npos || second == std::string::npos)
    return std::nullopt;
  const std::string_view type = std::string_view(text).substr(first + 1, second - first - 1);
  for (std::size_t i = 0; i < std::size(schema::kTypes); ++i)
    if (schema::kTypes[i].name == type)
      return ColumnInfo{text.substr(0, first), static_cast<schema::Type>(i),
                        text.substr(second + 1)};
  return std::nullopt;
}

std::optional<TableInfo> table_from_json(const Json& json) {
  TableInfo table{json.at("kind").get<io_u16>(), json.at("name"), json.at("layer"), {}};
  for (const Json& text : json.at("columns")) {
    auto column = column_from_text(text.get<std::string>());
    if (!column)
      return std::nullopt;
    table.columns.push_back(std::move(*column));
  }
  return table;
}

std::unexpected<Error> future_version(int version) {
  return std::unexpected(
      Error{fmt::format("its format version is {}", version),
            fmt::format("this iotrail reads versions up to {}", Manifest::kFormatVersion),
            "read it with the version of iotrail that recorded it, or a newer one", ENOTSUP});
}

Result<Json> parse(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("format_version") ||
      !json["format_version"].is_number_integer())
    return fail("the manifest is damaged", "it is not JSON with a format_version",
                "the events may still be whole: iotrail report reads them without it");
  const auto version = json["format_version"].get<std::int64_t>();
  if (version < 1)
    return fail("the manifest is damaged", fmt::format("format version {}", version));
  if (version > Manifest::kFormatVersion)
    return future_version(static_cast<int>(std::min<std::int64_t>(version, 1 << 30)));
  return json;
}

} // namespace

int TableInfo::column(std::string_view column_name) const {
  const auto found = std::ranges::find(columns, column_name, &ColumnInfo::name);
  return found == columns.end() ? -1 : static_cast<int>(found - columns.begin());
}

std::uint64_t Manifest::events() const {
  std::uint64_t sum = 0;
  for (const auto& [name, rows] : counts)
    sum += rows;
  return sum;
}

std::uint64_t Manifest::lost() const {
  std::uint64_t sum = 0;
  for (const schema::Counter& counter : schema::kCounters)
    if (const auto found = counters.find(std::string(counter.name));
        found != counters.end() && counter.severity == schema::Severity::loss)
      sum += found->second;
  return sum;
}

std::string_view state_name(State state) {
  return kStates[static_cast<std::size_t>(state)];
}

std::string to_json(const Manifest& manifest) {
  Json json;
  to_json(json, manifest);
  json["schema"] = schema_json();
  return to_text(json);
}

Result<StoredManifest> manifest_from_json(std::string_view text) {
  auto json = parse(text);
  if (!json)
    return std::unexpected(json.error());
  StoredManifest stored;
  try {
    from_json(*json, stored.manifest);
    for (const Json& row : json->at("schema")) {
      auto table = table_from_json(row);
      if (!table)
        return fail("the manifest is damaged", "its schema has a column of an unknown type");
      stored.tables.push_back(std::move(*table));
    }
  } catch (const Json::exception& problem) {
    return fail("the manifest is damaged", problem.what());
  }
  return stored;
}

std::vector<TableInfo> builtin_schema() {
  auto stored = manifest_from_json(to_json(Manifest{}));
  IOTRAIL_CHECK(stored.has_value());
  return std::move(stored->tables);
}

Result<std::string> with_tag(std::string_view text, const std::string& name,
                             const std::string& value) {
  auto json = parse(text);
  if (!json)
    return std::unexpected(json.error());
  Json& tags = (*json)["tags"];
  if (!tags.is_object())
    tags = Json::object();
  if (value.empty())
    tags.erase(name);
  else
    tags[name] = value;
  return to_text(*json);
}

Result<void> write_manifest(const std::filesystem::path& trace, const Manifest& manifest) {
  auto directory = open_trace_directory(trace);
  if (!directory)
    return std::unexpected(directory.error());
  auto written = replace_manifest(*directory, to_json(manifest), trace / kManifestName);
  drop_manifest_reserve(*directory);
  return written;
}

Result<StoredManifest> read_stored_manifest(const std::filesystem::path& trace) {
  auto directory = open_trace_directory(trace);
  if (!directory)
    return std::unexpected(directory.error());
  // Asked before reading: a recorder that ends in between leaves an end that is then read.
  const bool is_held = is_being_recorded(*directory);
  auto text = read_file(*directory, kManifestName, trace / kManifestName);
  if (!text)
    return std::unexpected(text.error());
  auto stored = manifest_from_json(*text);
  if (!stored) {
    Error error = stored.error();
    error.what = fmt::format("cannot read the trace {}: {}", trace.string(), error.what);
    return std::unexpected(error);
  }
  State& state = stored->manifest.state;
  if ((state == State::RUNNING || state == State::INITIALIZING) && !is_held)
    state = State::INCOMPLETE;
  return stored;
}

Result<Manifest> read_manifest(const std::filesystem::path& trace) {
  auto stored = read_stored_manifest(trace);
  if (!stored)
    return std::unexpected(stored.error());
  return std::move(stored->manifest);
}

} // namespace iotrail::store
