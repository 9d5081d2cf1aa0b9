// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "import/import_format.hpp"
#include "import/json_objects.hpp"
#include "import/numbers.hpp"

namespace iotrail::import {
namespace {

using ChromeJson = nlohmann::json;

constexpr std::size_t kChromeTasksMost = 1U << 16U;
constexpr std::size_t kChromeDepthMost = 256; // of spans of a thread
constexpr std::size_t kChromeFilesMost = 1U << 20U;
constexpr int kChromeNestingMost = 16; // of JSON

bool is_chrome(std::string_view head, std::string_view) {
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && (head[begin] == '[' || head[begin] == '{') &&
         head.find("\"ph\"") != std::string_view::npos &&
         (head.find("\"ts\"") != std::string_view::npos ||
          head.find("\"traceEvents\"") != std::string_view::npos);
}

struct ChromeLibraryCall {
  std::string_view name;
  iot_u16 kind;
  std::uint32_t call;
};
constexpr ChromeLibraryCall kChromeLibraryCalls[] = {
// clang-format off
#define APP_CALL(number, name, event, event_class, target) {#name, IOT_KIND_##event, number},
#include "libc_calls.def"
    // clang-format on
};
// Programs that name no layer name calls of streams beside those of the system. The report counts
// one layer, so these are the calls of the system that move the same bytes.
struct ChromeStreamCall {
  std::string_view name;
  std::string_view syscall;
};
constexpr ChromeStreamCall kChromeStreamCalls[] = {{"fopen", "openat"},
                                                   {"fopen64", "openat"},
                                                   {"fclose", "close"},
                                                   {"fread", "read"},
                                                   {"fwrite", "write"}};

struct ChromeSpan {
  std::string name;
  std::string category; // iotrail writes the layer
  std::uint64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  ChromeJson arguments;
};

const ChromeJson* chrome_member(const ChromeJson& object, std::string_view name) {
  if (!object.is_object())
    return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string chrome_text(const ChromeJson& object, std::string_view name) {
  const ChromeJson* member = chrome_member(object, name);
  return member != nullptr && member->is_string() ? member->get<std::string>() : std::string();
}

// A whole number, also one in quotes.
std::optional<std::int64_t> chrome_number(const ChromeJson& object, std::string_view name) {
  const ChromeJson* member = chrome_member(object, name);
  if (member == nullptr)
    return std::nullopt;
  if (member->is_number_unsigned() && member->get<std::uint64_t>() > INT64_MAX)
    return std::nullopt;
  if (member->is_number_integer())
    return member->get<std::int64_t>();
  if (member->is_string())
    return to_number<std::int64_t>(member->get_ref<const std::string&>());
  return std::nullopt;
}

std::optional<std::int64_t> first_number(const ChromeJson& object,
                                         std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto number = chrome_number(object, name))
      return number;
  return std::nullopt;
}

// Microseconds, with a fraction or without.
std::optional<std::uint64_t> chrome_ns(const ChromeJson& object, std::string_view name) {
  constexpr double kMost_us = static_cast<double>(TraceBuilder::kTimeMost_ns) / 1000;
  const ChromeJson* member = chrome_member(object, name);
  if (member == nullptr || !member->is_number())
    return std::nullopt;
  if (member->is_number_integer()) {
    const auto us = chrome_number(object, name);
    if (!us || *us < 0 || static_cast<double>(*us) > kMost_us)
      return std::nullopt;
    return static_cast<std::uint64_t>(*us) * 1000;
  }
  const double us = member->get<double>();
  if (!(us >= 0) || us > kMost_us)
    return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(us * 1000));
}

std::optional<std::uint32_t> chrome_task(const ChromeJson& object, std::string_view name) {
  const auto number = chrome_number(object, name);
  return number && *number >= 0 && *number <= UINT32_MAX
             ? std::optional(static_cast<std::uint32_t>(*number))
             : std::nullopt;
}

class ChromeReader {
public:
  explicit ChromeReader(TraceBuilder& trace) : trace_(trace) {}

  // Why it is no event; "": it is one.
  std::string_view take(std::string_view text) {
    int depth = 0;
    for (const char c : text) // brackets in texts count too: no event has so many
      if ((depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0) > kChromeNestingMost)
        return "its members are nested too deeply";
    const ChromeJson event = ChromeJson::parse(text, nullptr, false);
    if (!event.is_object())
      return "it is no object of JSON";
    const std::string phase = chrome_text(event, "ph");
    if (phase == "M")
      return take_name(event);
    if (phase == "X" || phase == "B" || phase == "E")
      return take_span(event, phase.front());
    trace_.left_out(phase.empty() ? "objects without a phase" : "events that are no spans");
    return {};
  }

  // Spans without an end have no duration, and are in no trace.
  void leave_out_open_spans() {
    for (const auto& [task, spans] : open_)
      for (std::size_t i = 0; i < spans.size(); ++i)
        trace_.left_out("spans without an end");
  }

private:
  std::string_view take_name(const ChromeJson& event) {
    const ChromeJson* arguments = chrome_member(event, "args");
    const auto pid = chrome_task(event, "pid");
    if (arguments == nullptr)
      return {};
    const std::string what = chrome_text(event, "name");
    const std::string name = chrome_text(*arguments, "name");
    if (what == "process_name" && pid && *pid != 0 && !name.empty())
      trace_.name_process(*pid, 0, {.comm = name});
    // DFTracer names a file once, and then by a hash.
    if (what == "FH" && paths_.size() < kChromeFilesMost)
      paths_[chrome_text(*arguments, "value")] = name;
    return {};
  }

  std::string_view take_span(const ChromeJson& event, char phase) {
    const auto at_ns = chrome_ns(event, "ts");
    const auto pid = chrome_task(event, "pid");
    const auto tid = chrome_task(event, "tid");
    if (!at_ns)
      return "it has no time in microseconds";
    if (!pid || !tid)
      return "its process or thread is no number";
    ChromeSpan span{.name = chrome_text(event, "name"),
                    .category = chrome_text(event, "cat"),
                    .begin_ns = *at_ns,
                    .duration_ns = 0,
                    .pid = *pid,
                    .tid = *tid,
                    .arguments = event.value("args", ChromeJson::object())};
    if (phase == 'X') {
      const auto duration_ns = chrome_ns(event, "dur");
      if (!duration_ns && event.contains("dur"))
        return "its duration is impossible";
      span.duration_ns = duration_ns.value_or(0);
      return add(span) ? "" : "its time is impossible";
    }
    return phase == 'B' ? begin(std::move(span)) : end(span);
  }

  std::string_view begin(ChromeSpan span) {
    if (open_.size() >= kChromeTasksMost)
      return "too many threads are in spans";
    auto& open = open_[{span.pid, span.tid}];
    if (open.size() >= kChromeDepthMost)
      return "too many spans lie within one another";
    open.push_back(std::move(span));
    return {};
  }

  std::string_view end(const ChromeSpan& end) {
    const auto open = open_.find({end.pid, end.tid});
    if (open == open_.end()) {
      trace_.left_out("ends of spans that began before the trace");
      return {};
    }
    ChromeSpan span = std::move(open->second.back());
    open->second.pop_back();
    if (open->second.empty())
      open_.erase(open);
    span.duration_ns = end.begin_ns - std::min(span.begin_ns, end.begin_ns);
    if (end.arguments.is_object() && span.arguments.is_object())
      span.arguments.update(end.arguments);
    return add(span) ? "" : "its time is impossible";
  }

  // False: its time is impossible.
  bool add(const ChromeSpan& span) {
    const bool is_layer = std::ranges::find(schema::kLayers, span.category,
                                            &schema::LayerInfo::name) != std::end(schema::kLayers);
    if (is_layer && span.category != "app" && span.category != "syscall") {
      trace_.left_out("spans below the calls of the system");
      return true;
    }
    const auto* library =
        std::ranges::find(kChromeLibraryCalls, span.name, &ChromeLibraryCall::name);
    if (span.category == "app" && library != std::end(kChromeLibraryCalls))
      return add(span, library->kind, library->call);
    const auto* stream = std::ranges::find(kChromeStreamCalls, span.name, &ChromeStreamCall::name);
    const std::string_view name =
        stream == std::end(kChromeStreamCalls) ? span.name : stream->syscall;
    const auto* syscall = std::ranges::find(schema::kSyscalls, name, &schema::Syscall::name);
    if (span.category != "app" && syscall != std::end(schema::kSyscalls))
      return add(span, syscall->event, syscall->number);
    trace_.left_out("spans that are no calls on files");
    return true;
  }

  bool add(const ChromeSpan& span, iot_u16 kind, std::uint32_t call) {
    EventRow row(kind);
    row.set("ts_ns", span.begin_ns)
        .set("pid", span.pid)
        .set("tid", span.tid)
        .set("op_id", trace_.next_op())
        .set("duration_ns", span.duration_ns)
        .set("call", call);
    const auto set = [&](std::string_view field, std::initializer_list<std::string_view> names) {
      if (const auto number = first_number(span.arguments, names))
        row.set(field, static_cast<std::uint64_t>(*number));
    };
    set("result", {"ret", "result", "bytes", "size", "count"});
    set("bytes_requested", {"count", "size", "bytes"});
    set("offset", {"offset", "position", "pos"});
    set("fd", {"fd"});
    if (const auto error = chrome_number(span.arguments, "error"); error && *error != 0)
      row.set("result", static_cast<std::uint64_t>(*error < 0 ? *error : -*error));
    if (const std::string path = path_of(span.arguments); !path.empty()) {
      row.set("file", trace_.file(path));
      row.set("path", trace_.text(path));
    }
    return trace_.add(row);
  }

  std::string path_of(const ChromeJson& arguments) const {
    for (const std::string_view name : {"path", "fname", "filename", "file"})
      if (std::string path = chrome_text(arguments, name); !path.empty())
        return path;
    const auto known = paths_.find(chrome_text(arguments, "fhash"));
    return known == paths_.end() ? std::string() : known->second;
  }

  TraceBuilder& trace_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<ChromeSpan>> open_;
  std::unordered_map<std::string, std::string> paths_; // by DFTracer's hash
};

Result<void> read_chrome(std::span<Input> inputs, TraceBuilder& trace) {
  for (Input& input : inputs) {
    ChromeReader reader(trace);
    JsonObjects objects(input);
    while (const auto text = objects.next()) {
      if (trace.is_stopped())
        break;
      if (const std::string_view why = reader.take(*text); !why.empty())
        trace.malformed(input, why);
    }
    reader.leave_out_open_spans();
  }
  return check_inputs(inputs);
}

} // namespace

extern const ImportFormat kImportFormatChrome = {
    .name = "chrome-json",
    .doc = "chrome://tracing and programs that write its format, DFTracer, export --to chrome-json",
    .lacks = "spans other than calls on files; what the arguments of a span do not say, such as "
             "descriptors and positions",
    .recognizes = is_chrome,
    .read = read_chrome,
};

} // namespace iotrail::import
