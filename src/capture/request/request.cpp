// SPDX-License-Identifier: BSD-3-Clause
#include "capture/request/request.hpp"

#include <algorithm>
#include <concepts>
#include <limits>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace iotrail::capture {
namespace {

using RequestJson = nlohmann::ordered_json;

// Ends reading; does not leave this file.
struct WrongValue {
  std::string key; // "filter.layers"
  std::string why;
};

// In JSON the name of the kind.
template <class Number> struct KindOfSnapshot {
  Number& number;
};

template <class Self, class T>
concept IsConstOr = std::same_as<std::remove_const_t<Self>, T>;

// One list of members serves both directions: `f(name, member)`.
template <IsConstOr<Selector> Self, class F> void visit_request(Self& s, F&& f) {
  f("tids", s.threads);
  f("comms", s.names);
  f("uids", s.users);
  f("cgroups", s.cgroups);
  f("containers", s.containers);
  f("devices", s.devices);
  f("mounts", s.mounts);
  f("files", s.files);
  f("directories", s.folders);
  f("operations", s.operations);
}
template <IsConstOr<Thresholds> Self, class F> void visit_request(Self& s, F&& f) {
  f("latency_ns", s.latency_ns);
  f("bytes", s.bytes);
}
template <IsConstOr<Filter> Self, class F> void visit_request(Self& s, F&& f) {
  f("layers", s.layers);
  f("events", s.events);
  f("pids", s.pids);
  f("vms", s.machines);
  f("system", s.whole_system);
  f("include", s.wanted);
  f("exclude", s.excluded);
  f("exclude_pids", s.excluded_pids);
  f("exclude_pseudo", s.excludes_pseudo);
  f("sample_of", s.sample_of);
  f("at_least", s.thresholds);
}
template <IsConstOr<Limits> Self, class F> void visit_request(Self& s, F&& f) {
  f("time_ns", s.time_ns);
  f("size_bytes", s.size_bytes);
  f("until_sources_end", s.until_sources_end);
}
template <IsConstOr<SnapshotWanted> Self, class F> void visit_request(Self& s, F&& f) {
  f("kind", KindOfSnapshot{s.kind});
  f("root", s.root);
  f("period_ns", s.period_ns);
}
template <IsConstOr<SnapshotOptions> Self, class F> void visit_request(Self& s, F&& f) {
  f("of", s.wanted);
  f("since", s.since);
}
template <IsConstOr<Aggregation> Self, class F> void visit_request(Self& s, F&& f) {
  f("interval_ns", s.interval_ns);
  f("rows", s.rows);
}
template <IsConstOr<MountOptions> Self, class F> void visit_request(Self& s, F&& f) {
  f("backend", s.backend);
  f("point", s.point);
  f("caches", s.caches);
  f("text", s.text);
  f("flushes_text", s.flushes_text);
  f("pads_text", s.pads_text);
}
template <IsConstOr<RecordingRequest> Self, class F> void visit_request(Self& s, F&& f) {
  f("command", s.command);
  f("filter", s.filter);
  f("drop_arguments", s.drop_arguments);
  f("follow", s.follow);
  f("limits", s.limits);
  f("ring_bytes", s.ring_bytes);
  f("snapshot", s.snapshot);
  f("aggregation", s.aggregation);
  f("mount", s.mount);
  f("trace", s.trace);
  f("tags", s.tags);
}

template <class T>
concept IsStruct = requires(T& value) { visit_request(value, [](const char*, auto&&) {}); };

RequestJson json_of(schema::Layer layer) {
  return schema::layer_name(static_cast<std::uint32_t>(layer));
}
RequestJson json_of(const std::filesystem::path& path) {
  return path.native();
}
template <class Number> RequestJson json_of(const KindOfSnapshot<Number>& kind) {
  return schema::value_name("snapshot_kind", kind.number);
}
template <class T> RequestJson json_of(const T& value);
template <IsStruct T> RequestJson json_of(const T& value);
template <class T> RequestJson json_of(const std::vector<T>& list) {
  RequestJson json = RequestJson::array();
  for (const T& value : list)
    json.push_back(json_of(value));
  return json;
}
template <IsStruct T> RequestJson json_of(const T& value) {
  RequestJson json = RequestJson::object();
  const T by_default{};
  std::vector<RequestJson> defaults;
  visit_request(by_default,
                [&](const char*, const auto& member) { defaults.push_back(json_of(member)); });
  std::size_t n = 0;
  visit_request(value, [&](const char* name, const auto& member) {
    if (RequestJson written = json_of(member); written != defaults[n++])
      json[name] = std::move(written);
  });
  return json;
}
template <class T> RequestJson json_of(const T& value) {
  return value;
}

void expect(bool is_right, const std::string& key, std::string_view type) {
  if (!is_right)
    throw WrongValue{key, fmt::format("it is not {}", type)};
}

void read(const RequestJson& json, const std::string& key, std::string& text) {
  expect(json.is_string(), key, "a string");
  text = json.get<std::string>();
}
void read(const RequestJson& json, const std::string& key, std::filesystem::path& path) {
  std::string text;
  read(json, key, text);
  path = text;
}
void read(const RequestJson& json, const std::string& key, bool& flag) {
  expect(json.is_boolean(), key, "true or false");
  flag = json.get<bool>();
}
// None of a request is negative.
template <std::integral Number>
void read(const RequestJson& json, const std::string& key, Number& number) {
  expect(json.is_number_unsigned(), key, "a number that is 0 or more");
  const auto value = json.get<std::uint64_t>();
  expect(value <= static_cast<std::uint64_t>(std::numeric_limits<Number>::max()), key,
         fmt::format("a number of at most {}", std::numeric_limits<Number>::max()));
  number = static_cast<Number>(value);
}
void read(const RequestJson& json, const std::string& key, schema::Layer& layer) {
  std::string name;
  read(json, key, name);
  const auto* row = std::ranges::find(schema::kLayers, name, &schema::LayerInfo::name);
  expect(row != std::end(schema::kLayers) && row->layer != schema::Layer::dictionary, key,
         "a layer");
  layer = row->layer;
}
template <class Number>
void read(const RequestJson& json, const std::string& key, KindOfSnapshot<Number> kind) {
  std::string name;
  read(json, key, name);
  for (const schema::Value& value : schema::kValues)
    if (value.table == "snapshot_kind" && value.name == name) {
      kind.number = static_cast<Number>(value.number);
      return;
    }
  expect(false, key, "a kind of snapshot");
}
void read(const RequestJson& json, const std::string& key,
          std::map<std::string, std::string>& texts) {
  expect(json.is_object(), key, "an object");
  for (const auto& [name, text] : json.items())
    read(text, fmt::format("{}.{}", key, name), texts[name]);
}
template <IsStruct T> void read(const RequestJson& json, const std::string& key, T& value);
template <class T>
void read(const RequestJson& json, const std::string& key, std::vector<T>& list) {
  expect(json.is_array(), key, "a list");
  for (const RequestJson& element : json)
    read(element, key, list.emplace_back());
}
template <IsStruct T> void read(const RequestJson& json, const std::string& key, T& value) {
  expect(json.is_object(), key.empty() ? "the request" : key, "an object");
  const std::string prefix = key.empty() ? "" : key + ".";
  for (const auto& [name, member_json] : json.items()) {
    bool is_known = false;
    visit_request(value, [&](const char* member_name, auto&& member) {
      if (name != member_name)
        return;
      is_known = true;
      read(member_json, prefix + name, member);
    });
    if (!is_known)
      throw WrongValue{prefix + name, "there is no such key"};
  }
}

Result<void> check_events_of(const Filter& filter) {
  for (const std::string& name : filter.events) {
    const schema::Event* event = schema::find_event(name);
    if (event == nullptr || event->is_dictionary())
      return fail_usage("filter.events", fmt::format("there is no event '{}'", name));
  }
  return {};
}

} // namespace

std::string to_json(const RecordingRequest& request) {
  return json_of(request).dump(-1, ' ', false, RequestJson::error_handler_t::replace);
}

std::string kept_json(RecordingRequest request) {
  if (request.drop_arguments && !request.command.empty())
    request.command.resize(1);
  return to_json(request);
}

Result<RecordingRequest> request_from_json(std::string_view text) {
  const RequestJson json = RequestJson::parse(text, nullptr, false);
  if (json.is_discarded())
    return fail_usage("the request is not JSON");
  RecordingRequest request;
  try {
    read(json, "", request);
  } catch (const WrongValue& wrong) {
    return fail_usage(wrong.key, wrong.why);
  }
  if (Result<void> checked = check_events_of(request.filter); !checked)
    return std::unexpected(checked.error());
  return request;
}

} // namespace iotrail::capture
