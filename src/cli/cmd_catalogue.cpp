// SPDX-License-Identifier: BSD-3-Clause
//
// list, info, remove, tag: the verbs that look after whole traces.
#include <unistd.h>

#include <memory>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "cli/commands.hpp"
#include "cli/units.hpp"
#include "output/printable.hpp"
#include "output/report_summary.hpp"
#include "store/catalogue.hpp"

namespace iotrail::cli {
namespace {

std::string local_time(const store::Manifest& manifest) {
  const auto real_ns = static_cast<std::int64_t>(manifest.begin_ns) + manifest.monotonic_to_real_ns;
  const std::time_t seconds = real_ns / 1'000'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  return output::printable(fmt::format("{}", fmt::join(words, " ")));
}

nlohmann::json to_json(const store::CatalogueEntry& entry) {
  nlohmann::json json = {
      {"name", entry.name}, {"path", entry.path.native()}, {"bytes", entry.bytes}};
  if (!entry.problem.empty()) {
    json["problem"] = entry.problem;
    return json;
  }
  json["state"] = store::state_name(entry.manifest.state);
  json["command"] = entry.manifest.command;
  json["begin"] = local_time(entry.manifest);
  json["events"] = entry.manifest.events();
  json["lost"] = entry.manifest.lost();
  json["tags"] = entry.manifest.tags;
  return json;
}

void print_entry(const store::CatalogueEntry& entry) {
  const std::string trace = output::printable(entry.name);
  if (!entry.problem.empty()) {
    fmt::print("{:<32} {:<12} {}\n", trace, "UNREADABLE", output::printable(entry.problem));
    return;
  }
  std::string tags;
  for (const auto& [name, value] : entry.manifest.tags)
    tags += fmt::format(" {}={}", name, output::printable(value));
  fmt::print("{:<32} {:<12} {} {:>12} {:>8} {:>10}  {}{}\n", trace,
             store::state_name(entry.manifest.state), local_time(entry.manifest),
             count_text(entry.manifest.events()), count_text(entry.manifest.lost()),
             bytes_text(entry.bytes), joined(entry.manifest.command), tags);
}

Result<int> list(const std::string& pattern, bool json) {
  auto traces = store::list_traces(store::repository_path(), pattern);
  if (!traces)
    return std::unexpected(traces.error());
  if (json) {
    nlohmann::json all = nlohmann::json::array();
    for (const store::CatalogueEntry& entry : *traces)
      all.push_back(to_json(entry));
    fmt::print("{}\n", all.dump(2));
    return 0;
  }
  if (traces->empty())
    fmt::print(stderr, "iotrail: no trace{} in {}\n", pattern.empty() ? "" : " called " + pattern,
               store::repository_path().native());
  else
    fmt::print("{:<32} {:<12} {:<19} {:>12} {:>8} {:>10}  {}\n", "NAME", "STATE", "BEGIN", "EVENTS",
               "LOST", "SIZE", "COMMAND");
  for (const store::CatalogueEntry& entry : *traces)
    print_entry(entry);
  return 0;
}

Result<int> info(const std::string& name, bool json) {
  auto trace = store::find_trace(name);
  if (!trace)
    return std::unexpected(trace.error());
  auto manifest = store::read_manifest(*trace);
  if (!manifest)
    return std::unexpected(manifest.error());
  if (json) {
    fmt::print("{}\n", store::to_json(*manifest));
    return 0;
  }
  fmt::print("trace     {}\nstate     {} ({})\ncommand   {}\nstatus    {}\nbegin     {}\n",
             output::printable(trace->native()), store::state_name(manifest->state),
             manifest->stop_reason.empty() ? "no end was written" : manifest->stop_reason,
             joined(manifest->command),
             manifest->command_status < 0 ? "not known" : std::to_string(manifest->command_status),
             local_time(*manifest));
  if (manifest->end_ns != 0)
    fmt::print("duration  {}\n", seconds_text(manifest->end_ns - manifest->begin_ns));
  fmt::print("machine   {}, Linux {} {}, {} CPUs\nlayers    {}\n", manifest->host, manifest->kernel,
             manifest->machine, manifest->cpu_count, output::layers_text(*manifest));
  if (!manifest->filters.empty())
    fmt::print("filters   {}\n", joined(manifest->filters));
  if (!manifest->limits.empty())
    fmt::print("limits    {}\n", joined(manifest->limits));
  for (const auto& [tag, value] : manifest->tags)
    fmt::print("tag       {}={}\n", tag, output::printable(value));
  for (const store::SourceTally& tally : manifest->sources)
    fmt::print("source    {}: {} produced = {} written + {} lost\n", tally.name,
               count_text(tally.produced), count_text(tally.written), count_text(tally.lost));
  for (const auto& [event, rows] : manifest->counts)
    fmt::print("events    {:<24}{:>14}\n", event, count_text(rows));
  for (const auto& [counter, value] : manifest->counters)
    fmt::print("counter   {:<24}{:>14}\n", counter, count_text(value));
  for (const store::HookReport& hook : manifest->hooks)
    fmt::print("hook      {:<24}{} {}\n", hook.event, hook.hook.empty() ? "none:" : hook.hook,
               hook.reason);
  return 0;
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
  auto pattern = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  app.add_option("pattern", *pattern, "Name of a trace, or its beginning and *");
  app.add_flag("--json", *json, "JSON");
  return [pattern, json] { return list(*pattern, *json); };
}

Action declare_info(CLI::App& app, const Trailing&) {
  auto name = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  app.add_option("trace", *name, "Path or name of the trace, or `latest`")->required();
  app.add_flag("--json", *json, "The whole manifest, as JSON");
  return [name, json] { return info(*name, *json); };
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
