// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/manifest.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <set>

#include "schema.hpp"
#include "store/format/manifest_bounds.hpp"
#include "store/format/manifest_schema.hpp"
#include "store/format/manifest_text.hpp"
#include "store/format/trace_directory.hpp"

namespace iotrail::store {
namespace {

// Exceptions of the JSON library do not name the member that is wrong; this one does.
struct WrongMember {
  std::string name; // "hooks.event"
};

constexpr std::array<std::string_view, 5> kStates = {"INITIALIZING", "RUNNING", "COMPLETE",
                                                     "INCOMPLETE", "ERROR"};
constexpr std::array<std::string_view, 3> kCoverages = {"none", "followed", "all"};

// One list of members serves both directions, by `f(name, member)`.
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
  f("summed_up", tally.summed_up);
  f("left_out", tally.left_out);
}

template <class Self>
concept IsDiskReport = std::same_as<std::remove_const_t<Self>, DiskReport>;
template <IsDiskReport Self, class F> void visit_members(Self& disk, F&& f) {
  f("name", disk.name);
  f("device", disk.device);
  f("recorded", disk.recorded);
  f("begin_ns", disk.begin_ns);
  f("end_ns", disk.end_ns);
  f("read_bytes", disk.sums.read_bytes);
  f("written_bytes", disk.sums.written_bytes);
  f("discarded_bytes", disk.sums.discarded_bytes);
  f("flushes", disk.sums.flushes);
  f("in_flight", disk.in_flight);
  f("request_max_bytes", disk.request_max_bytes);
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
  f("command_user_ns", m.command_user_ns);
  f("command_system_ns", m.command_system_ns);
  f("host", m.host);
  f("kernel", m.kernel);
  f("machine", m.machine);
  f("cpu_count", m.cpu_count);
  f("recorder_pid", m.recorder_pid);
  f("begin_ns", m.begin_ns);
  f("end_ns", m.end_ns);
  f("monotonic_to_real_ns", m.monotonic_to_real_ns);
  f("layers", m.layers);
  f("request", m.request);
  f("filters", m.filters);
  f("sample_of", m.sample_of);
  f("not_followed", m.not_followed);
  f("still_running", m.still_running);
  f("limits", m.limits);
  f("bare_file_systems", m.unsupported_file_systems);
  f("hooks", m.hooks);
  f("sources", m.sources);
  f("disks", m.disks);
  f("counts", m.counts);
  f("counters", m.counters);
  f("tags", m.tags);
  f("events_bytes", m.events_bytes);
  f("recorder_cpu_ns", m.recorder_cpu_ns);
  f("recorder_memory_bytes", m.recorder_memory_bytes);
  f("ring_memory_bytes", m.ring_memory_bytes);
}

bool has_too_many(const Manifest& m) {
  return std::max({m.hooks.size(), m.sources.size(), m.disks.size(), m.counts.size(),
                   m.counters.size(), m.tags.size()}) > Manifest::kNamesMax;
}

} // namespace

std::vector<std::string> Manifest::layers_refused() const {
  std::set<std::string_view> served;
  std::set<std::string_view> known; // layers of all hooks
  for (const HookReport& hook : hooks)
    if (const schema::Event* event = schema::find_event(hook.event)) {
      const std::string_view layer = schema::layer_name(static_cast<std::uint32_t>(event->layer));
      known.insert(layer);
      if (!hook.hook.empty())
        served.insert(layer);
    }
  std::vector<std::string> refused;
  std::ranges::copy_if(layers, std::back_inserter(refused), [&](const std::string& layer) {
    return known.contains(layer) && !served.contains(layer);
  });
  return refused;
}

std::vector<HookReport> refused(std::vector<HookReport> hooks, const Error& error) {
  for (HookReport& hook : hooks) {
    hook.hook.clear();
    hook.tier.clear();
    hook.reason = error.why;
    hook.remedy = error.hint;
  }
  return hooks;
}

// The library finds these functions by their names.
static void to_json(Json& json, const State& state) {
  json = state_name(state);
}
static void from_json(const Json& json, State& state) {
  const auto name = json.get<std::string>();
  const auto* found = std::ranges::find(kStates, name);
  // A later version may have other states. Only one thing is certain then: the trace is not
  // complete.
  state = found == kStates.end() ? State::INCOMPLETE : static_cast<State>(found - kStates.begin());
}
static void to_json(Json& json, const DiskCoverage& coverage) {
  json = coverage_name(coverage);
}
// Nothing is known of a coverage that only a later version has.
static void from_json(const Json& json, DiskCoverage& coverage) {
  const auto name = json.get<std::string>();
  const auto* found = std::ranges::find(kCoverages, name);
  coverage = found == kCoverages.end() ? DiskCoverage::none
                                       : static_cast<DiskCoverage>(found - kCoverages.begin());
}
static void to_json(Json& json, const JsonText& text) {
  json = Json::parse(text.json, nullptr, false);
  if (json.is_discarded())
    json = nullptr;
}
static void from_json(const Json& json, JsonText& text) {
  text.json = json.is_null() ? "" : json.dump();
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
    try {
      if (json.contains(name))
        json.at(name).get_to(member);
    } catch (const Json::exception&) {
      throw WrongMember{name};
    } catch (const WrongMember& inner) {
      throw WrongMember{fmt::format("{}.{}", name, inner.name)};
    }
  });
}

int TableInfo::column(std::string_view column_name) const {
  const auto found = std::ranges::find(columns, column_name, &ColumnInfo::name);
  return found == columns.end() ? -1 : static_cast<int>(found - columns.begin());
}

const ColumnInfo* TableInfo::column(schema::Role role) const {
  const auto found = std::ranges::find(columns, role, &ColumnInfo::role);
  return found == columns.end() ? nullptr : &*found;
}

const ColumnInfo* TableInfo::column(schema::Meaning meaning) const {
  const auto found = std::ranges::find(columns, meaning, &ColumnInfo::meaning);
  return found == columns.end() ? nullptr : &*found;
}

int TableInfo::index(const ColumnKey& key) const {
  if (const auto* column_name = std::get_if<std::string_view>(&key))
    return column(*column_name);
  const auto* role = std::get_if<schema::Role>(&key);
  const ColumnInfo* found =
      role != nullptr ? column(*role) : column(std::get<schema::Meaning>(key));
  return found == nullptr ? -1 : static_cast<int>(found - columns.data());
}

bool TableInfo::is_dictionary() const {
  return layer == schema::layer_name(IOT_LAYER_dictionary);
}

// Modulo 2^64: a manifest may hold any numbers.
std::int64_t Manifest::begin_real_ns() const {
  return static_cast<std::int64_t>(begin_ns + static_cast<std::uint64_t>(monotonic_to_real_ns));
}

bool Manifest::is_counted() const {
  return state == State::COMPLETE || state == State::ERROR;
}

std::uint64_t Manifest::events() const {
  std::uint64_t sum = 0;
  for (const auto& [name, rows] : counts)
    sum += rows;
  return sum;
}

std::uint64_t Manifest::summed_up() const {
  std::uint64_t sum = 0;
  for (const SourceTally& source : sources)
    sum += source.summed_up;
  return sum;
}

std::uint64_t Manifest::counted(schema::Severity severity) const {
  std::uint64_t sum = 0;
  for (const schema::Counter& counter : schema::kCounters)
    if (const auto found = counters.find(std::string(counter.name));
        found != counters.end() && counter.severity == severity)
      sum += found->second;
  return sum;
}

std::uint64_t Manifest::lost() const {
  return counted(schema::Severity::loss);
}

std::uint64_t Manifest::left_out() const {
  std::uint64_t left_out = 0;
  for (const SourceTally& source : sources)
    left_out += source.left_out;
  return left_out;
}

std::uint64_t Manifest::gaps() const {
  return counted(schema::Severity::gap);
}

std::string_view state_name(State state) {
  return kStates[static_cast<std::size_t>(state)];
}

std::string_view coverage_name(DiskCoverage coverage) {
  return kCoverages[static_cast<std::size_t>(coverage)];
}

std::string to_json(const Manifest& manifest) {
  Manifest bounded = manifest;
  bound_lists(bounded);
  Json json;
  to_json(json, bounded);
  json["schema"] = schema_json();
  return sealed_text(std::move(json));
}

Result<StoredManifest> manifest_from_json(std::string_view text) {
  auto json = parse_manifest(text);
  if (!json)
    return std::unexpected(json.error());
  StoredManifest stored;
  try {
    from_json(*json, stored.manifest);
    auto tables = tables_from_json(json->at("schema"));
    if (!tables)
      return std::unexpected(tables.error());
    stored.tables = std::move(*tables);
  } catch (const WrongMember& wrong) {
    return damaged_manifest(fmt::format("its member '{}' is of another type", wrong.name));
  } catch (const Json::exception&) {
    return damaged_manifest("its schema has a member of another type, or lacks one");
  }
  if (has_too_many(stored.manifest))
    return damaged_manifest(
        "it has more hooks, sources, disks, counters or tags than any recording");
  if (stored.manifest.end_ns != 0 && stored.manifest.end_ns < stored.manifest.begin_ns)
    return damaged_manifest("it ends before it begins");
  return stored;
}

std::vector<TableInfo> builtin_schema() {
  auto stored = manifest_from_json(to_json(Manifest{}));
  IOTRAIL_CHECK(stored.has_value());
  return std::move(stored->tables);
}

Result<std::string> with_tag(std::string_view text, const std::string& name,
                             const std::string& value) {
  auto json = parse_manifest(text);
  if (!json)
    return std::unexpected(json.error());
  Json& tags = (*json)["tags"];
  if (!tags.is_object())
    tags = Json::object();
  if (value.empty())
    tags.erase(name);
  else
    tags[name] = value;
  if (tags.size() > Manifest::kNamesMax)
    return fail(fmt::format("cannot add the tag {}", name),
                fmt::format("a trace has at most {} tags", Manifest::kNamesMax),
                "NAME= removes the tag NAME.");
  std::string sealed = sealed_text(std::move(*json));
  if (sealed.size() > kManifestBytesMax)
    return fail(fmt::format("cannot add the tag {}", name), "the tags of the trace are too long");
  return sealed;
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
  // Asked before reading: if the recorder ends in between, the manifest that is read has the end.
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
