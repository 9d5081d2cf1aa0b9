// SPDX-License-Identifier: BSD-3-Clause
//
// list, info, remove, tag: the verbs that look after whole traces.
#include <unistd.h>

#include <memory>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "cli/commands.hpp"
#include "export/json.hpp"
#include "report/report_summary.hpp"
#include "report/warnings.hpp"
#include "store/reader/catalogue.hpp"
#include "store/reader/trace_reader.hpp"
#include "text/printable.hpp"
#include "text/table.hpp"
#include "text/units.hpp"

namespace iotrail::cli {
namespace {

std::string local_time(const store::Manifest& manifest) {
  const std::time_t seconds = manifest.begin_real_ns() / 1'000'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

// The checksums of traces are compared up to this size, of larger ones those of the beginnings of their blocks: a list is
// not to take minutes. Nor is it to decode anything: a directory may have traces of anybody.
constexpr std::uint64_t kReadBytes = 64U << 20U;

struct Listed {
  store::CatalogueEntry entry;
  bool is_damaged = false;

  std::string_view state() const {
    if (!entry.problem.empty())
      return is_damaged ? "DAMAGED" : "UNREADABLE";
    return is_damaged && entry.manifest.state == store::State::COMPLETE
               ? "DAMAGED"
               : store::state_name(entry.manifest.state);
  }
};

// What is being recorded ends anywhere.
bool has_ended(const store::Manifest& manifest) {
  return manifest.state != store::State::INITIALIZING && manifest.state != store::State::RUNNING;
}

// As far as the reader has found out.
bool is_damaged(const store::TraceReader& trace) {
  return has_ended(trace.manifest()) && !output::damage_sentences(trace).empty();
}

Listed looked_into(store::CatalogueEntry entry) {
  Listed listed{std::move(entry)};
  if (listed.entry.problem.empty() && !has_ended(listed.entry.manifest))
    return listed;
  const auto trace = store::TraceReader::open(listed.entry.path);
  if (!trace) {
    if (listed.entry.problem.empty())
      listed.entry.problem = trace.error().line();
    return listed;
  }
  if (listed.entry.events_bytes <= kReadBytes)
    (*trace)->check_all();
  listed.is_damaged = is_damaged(**trace);
  return listed;
}

nlohmann::json to_json(const Listed& listed) {
  const store::CatalogueEntry& entry = listed.entry;
  nlohmann::json json = {
      {"name", entry.name}, {"path", entry.path.native()}, {"bytes", entry.events_bytes}};
  if (!entry.problem.empty()) {
    json["is_damaged"] = listed.is_damaged;
    json["problem"] = entry.problem;
    return json;
  }
  json["state"] = store::state_name(entry.manifest.state);
  json["is_damaged"] = listed.is_damaged;
  json["command"] = entry.manifest.command;
  json["begin"] = local_time(entry.manifest);
  if (entry.manifest.is_counted()) {
    json["events"] = entry.manifest.events();
    json["summed_up"] = entry.manifest.summed_up();
    json["lost"] = entry.manifest.lost();
  }
  json["tags"] = entry.manifest.tags;
  return json;
}

std::string tags_text(const store::Manifest& manifest) {
  std::string tags;
  for (const auto& [name, value] : manifest.tags)
    tags += fmt::format("{}{}={}", tags.empty() ? "" : " ", name, value);
  return tags;
}

// Below the table, which has no room for sentences.
void print_problem(const Listed& listed, output::Sink& sink, std::size_t width) {
  const store::CatalogueEntry& entry = listed.entry;
  if (entry.problem.empty())
    return;
  const std::string text =
      output::shortened_fact(fmt::format("{}: {}", entry.name, entry.problem), width);
  std::string_view indent;
  for (const std::string& line : output::wrapped(output::printable(text), width - 2)) {
    sink.print("{}{}\n", indent, line);
    indent = "  ";
  }
  const std::string path = output::printable(entry.path.native());
  if (listed.is_damaged)
    sink.print("  its events can be read: iotrail report {}\n", path);
  else
    sink.print("  iotrail info {} says more\n", path);
}

// A trace of `iotrail stat` has its events in sums alone.
std::string events_text(const store::Manifest& manifest) {
  if (!manifest.is_counted())
    return "?";
  const std::uint64_t summed_up = manifest.summed_up();
  return summed_up == 0 ? output::human_count(manifest.events())
                        : output::human_count(summed_up) + " in sums";
}

void print_entries(const std::vector<Listed>& traces, std::size_t width) {
  using output::Align;
  using output::Fit;
  output::TextTable table({{"NAME", Align::left, Fit::middle},
                           {"STATE", Align::left},
                           {"BEGIN", Align::left, Fit::whole, 2},
                           {"EVENTS", Align::right},
                           {"LOST", Align::right},
                           {"SIZE", Align::right, Fit::whole, 1},
                           {"COMMAND", Align::left, Fit::end},
                           {"TAGS", Align::left, Fit::end, 3}});
  for (const Listed& listed : traces)
    if (const store::CatalogueEntry& entry = listed.entry; !entry.problem.empty())
      table.add({entry.name, std::string(listed.state()), "", "", "", "", "", ""});
    else
      table.add(
          {entry.name, std::string(listed.state()), local_time(entry.manifest),
           events_text(entry.manifest),
           entry.manifest.is_counted() ? output::human_count(entry.manifest.lost()) : "?",
           output::human_bytes(entry.events_bytes),
           output::shortened_fact(fmt::format("{}", fmt::join(entry.manifest.command, " ")), width),
           output::shortened_fact(tags_text(entry.manifest), width)});
  output::Sink sink(stdout);
  table.print(sink, "", width);
  for (const Listed& listed : traces)
    print_problem(listed, sink, width);
  (void)sink.finish(); // main tells of what standard output does not take
}

struct ListRequest {
  std::string what; // a trace, the beginning of names with *, or a directory of traces
  bool json = false;
  bool wide = false;
};

Result<std::vector<store::CatalogueEntry>> entries_of(const std::string& what) {
  if (what.empty() || (what.ends_with('*') && what.find('/') == std::string::npos))
    return store::list_traces(store::repository_path(), what);
  std::error_code ignored;
  if (std::filesystem::is_directory(what, ignored) && !store::is_trace(what))
    return store::list_traces(what);
  const auto trace = store::find_trace(what);
  if (!trace)
    return std::unexpected(trace.error());
  if (!std::filesystem::is_directory(*trace, ignored))
    if (const auto manifest = store::read_manifest(*trace); !manifest)
      return std::unexpected(manifest.error());
  return std::vector{store::catalogue_entry(*trace)};
}

void tell_of_none(const std::string& what) {
  const bool is_pattern = what.ends_with('*');
  const std::string place = what.empty() || is_pattern ? store::repository_path().native() : what;
  fmt::print(stderr, "iotrail: no trace{} in {}\n",
             is_pattern ? " called " + output::printable(what) : "", output::printable(place));
  if (what.empty())
    fmt::print(stderr, "  IOTRAIL_REPOSITORY names another directory;\n"
                       "  `iotrail list DIRECTORY` looks there.\n");
}

Result<int> list(const ListRequest& request) {
  auto entries = entries_of(request.what);
  if (!entries)
    return std::unexpected(entries.error());
  std::vector<Listed> traces;
  for (store::CatalogueEntry& entry : *entries)
    traces.push_back(looked_into(std::move(entry)));
  if (request.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const Listed& trace : traces)
      all.push_back(to_json(trace));
    fmt::print("{}\n", output::json_text(all));
    return 0;
  }
  if (traces.empty())
    tell_of_none(request.what);
  else
    print_entries(traces, request.wide ? output::kAnyWidth : output::terminal_width(STDOUT_FILENO));
  return 0;
}

// "name      value", wrapped below the value.
class FactPrinter {
public:
  explicit FactPrinter(std::size_t width) : width_(width) {}

  void fact(std::string_view name, std::string_view value) const {
    if (value.empty())
      return;
    for (const std::string& line : output::wrapped(
             output::printable(output::shortened_fact(value, width_)), width_ - kIndent)) {
      fmt::print("{:<10}{}\n", name, line);
      name = {};
    }
  }
  // A long one is cut, unless all is asked for.
  void command(const std::vector<std::string>& words) const {
    const std::string text = fmt::format("{}", fmt::join(words, " "));
    fact("command", width_ == output::kAnyWidth
                        ? text
                        : output::shortened_end(text, kCommandLines * (width_ - kIndent)));
  }

private:
  static constexpr std::size_t kIndent = 10;
  static constexpr std::size_t kCommandLines = 2;
  std::size_t width_;
};

void print_served(const store::Manifest& manifest, const FactPrinter& print, bool wide) {
  std::vector<std::string> missing;
  for (const store::HookReport& hook : manifest.hooks) {
    if (wide)
      print.fact("hook", fmt::format("{:<24}{} {}", hook.event,
                                     hook.hook.empty() ? "none:" : hook.hook, hook.reason));
    else if (hook.hook.empty())
      missing.push_back(hook.event);
  }
  if (!missing.empty())
    print.fact("missing", fmt::format("{}; why: iotrail info --wide", fmt::join(missing, ", ")));
}

std::string state_text(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  if (trace.damage().manifest)
    return fmt::format("DAMAGED, the rest is {}", output::kNotKnown);
  return fmt::format("{}{} ({})", is_damaged(trace) ? "DAMAGED, " : "",
                     store::state_name(manifest.state),
                     manifest.stop_reason.empty() ? "no end was written" : manifest.stop_reason);
}

void print_manifest(const store::TraceReader& trace, std::size_t width) {
  const store::Manifest& manifest = trace.manifest();
  const FactPrinter print(width);
  print.fact("trace", trace.path().native());
  print.fact("state", state_text(trace));
  print.command(manifest.command);
  if (manifest.command_status >= 0)
    print.fact("status", output::human_status(manifest.command_status));
  print.fact("begin", trace.damage().manifest ? output::kNotKnown : local_time(manifest));
  if (manifest.end_ns != 0)
    print.fact("duration", output::human_duration(manifest.end_ns - manifest.begin_ns));
  print.fact("machine",
             trace.damage().manifest ? output::kNotKnown : output::machine_text(manifest));
  print.fact("layers", output::layers_text(manifest));
  print.fact("goes on", fmt::format("{}", fmt::join(manifest.still_running, ", ")));
  for (const std::string& program : manifest.not_followed)
    print.fact("unseen", program);
  print.fact("filters", fmt::format("{}", fmt::join(manifest.filters, " ")));
  print.fact("limits", fmt::format("{}", fmt::join(manifest.limits, " ")));
  print.fact("tags", tags_text(manifest));
  for (const store::SourceTally& tally : manifest.sources)
    print.fact("source",
               fmt::format("{}: {} produced = {} written + {} lost", tally.name,
                           output::human_count(tally.produced), output::human_count(tally.written),
                           output::human_count(tally.lost)));
  for (const auto& [event, rows] : manifest.counts)
    print.fact("events", fmt::format("{:<24}{:>14}", event, output::human_count(rows)));
  for (const auto& [counter, value] : manifest.counters)
    print.fact("counter", fmt::format("{:<24}{:>14}", counter, output::human_count(value)));
  print_served(manifest, print, width == output::kAnyWidth);
}

// Damage is a failure, so that a script may ask whether a trace is whole.
Result<int> info(const std::string& name, bool json, bool wide) {
  const auto path = store::find_trace(name);
  if (!path)
    return std::unexpected(path.error());
  const auto opened = store::TraceReader::open(*path);
  if (!opened)
    return std::unexpected(opened.error());
  const store::TraceReader& trace = **opened;
  trace.read_all();
  if (json)
    fmt::print("{}\n", store::to_json(trace.manifest()));
  else
    print_manifest(trace, wide ? output::kAnyWidth : output::terminal_width(STDOUT_FILENO));
  if (!is_damaged(trace))
    return 0;
  return fail("the trace is not whole",
              fmt::format("{}", fmt::join(output::damage_sentences(trace), "\n  ")),
              "What is there can be read: iotrail report " + path->string());
}

Result<int> remove(const std::vector<std::string>& names, bool force) {
  for (const std::string& name : names) {
    auto trace = store::find_trace(name);
    if (!trace)
      return std::unexpected(trace.error());
    if (Result<void> removed = store::remove_trace(*trace, force); !removed)
      return std::unexpected(removed.error());
  }
  return 0;
}

Result<int> tag(const std::string& name, const std::vector<std::string>& tags) {
  auto trace = store::find_trace(name);
  if (!trace)
    return std::unexpected(trace.error());
  for (const std::string& text : tags) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail_usage(fmt::format("'{}' is not of the form NAME=VALUE", text), {},
                        "NAME= removes the tag NAME.");
    if (Result<void> tagged =
            store::tag_trace(*trace, text.substr(0, equals), text.substr(equals + 1));
        !tagged)
      return std::unexpected(tagged.error());
  }
  return 0;
}

} // namespace

Action declare_list(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<ListRequest>();
  app.add_option(
      "what", request->what,
      "Path or name of a trace, `latest`, or the beginning of names and *; or a directory "
      "with traces in it; default: all of the repository");
  app.footer("The repository is $IOTRAIL_REPOSITORY, else $XDG_STATE_HOME/iotrail, else "
             "~/.local/state/iotrail. Damage is looked for by the checksums of a trace of up to "
             "64 MiB, in the outlines of larger ones; `iotrail info TRACE` reads all.");
  app.add_flag("--json", request->json, "JSON");
  app.add_flag("--wide", request->wide, "All columns, however wide the terminal is");
  return [request] { return list(*request); };
}

Action declare_info(CLI::App& app, const Trailing&) {
  auto name = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  auto wide = std::make_shared<bool>(false);
  app.add_option("trace", *name, kTraceHelp)->required();
  app.add_flag("--json", *json, "The whole manifest, as JSON");
  app.add_flag("--wide", *wide,
               "With what served each event, however wide that is; --json alone cuts nothing off");
  return [name, json, wide] { return info(*name, *json, *wide); };
}

Action declare_remove(CLI::App& app, const Trailing&) {
  auto names = std::make_shared<std::vector<std::string>>();
  auto force = std::make_shared<bool>(false);
  app.add_option("trace", *names, "Paths or names of traces")->required();
  app.add_flag("-f,--force", *force, "Also a trace that is being recorded");
  return [names, force] { return remove(*names, *force); };
}

Action declare_tag(CLI::App& app, const Trailing&) {
  auto name = std::make_shared<std::string>();
  auto tags = std::make_shared<std::vector<std::string>>();
  app.add_option("trace", *name, "Path or name of the trace")->required();
  app.add_option("tag", *tags, "NAME=VALUE; NAME= removes the tag")->required();
  return [name, tags] { return tag(*name, *tags); };
}

} // namespace iotrail::cli
