// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/shell_word.hpp"
#include "cli/trace_facts.hpp"
#include "cli/verb.hpp"
#include "export/json.hpp"
#include "store/reader/repository.hpp"
#include "store/reader/trace_reader.hpp"
#include "text/printable.hpp"
#include "text/sink.hpp"
#include "text/table.hpp"
#include "text/text_width.hpp"
#include "text/units.hpp"

namespace iotrail::cli {
namespace {

// The checksums of traces are compared up to this size, of larger ones those of the beginnings of their blocks: a list is
// not to take minutes. Nor is it to decode anything: a directory may have traces of anybody.
constexpr std::uint64_t kReadBytes = 64U << 20U;

struct Listed {
  store::RepositoryEntry entry;
  bool is_damaged = false;

  std::string_view state() const {
    if (!entry.problem.empty())
      return is_damaged ? "DAMAGED" : "UNREADABLE";
    return is_damaged && entry.manifest.state == store::State::COMPLETE
               ? "DAMAGED"
               : store::state_name(entry.manifest.state);
  }
};

Listed looked_into(store::RepositoryEntry entry) {
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
  const store::RepositoryEntry& entry = listed.entry;
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

// Below the table, which has no room for sentences.
void print_problem(const Listed& listed, output::Sink& sink, std::size_t width) {
  const store::RepositoryEntry& entry = listed.entry;
  if (entry.problem.empty())
    return;
  const std::string text =
      output::shortened_fact(fmt::format("{}: {}", entry.name, entry.problem), width);
  std::string_view indent;
  for (const std::string& line : output::wrapped(output::printable(text), width - 2)) {
    sink.print("{}{}\n", indent, line);
    indent = "  ";
  }
  const std::string path = shell_word(output::printable(entry.path.native()));
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

Result<void> print_entries(const Console& console, const std::vector<Listed>& traces,
                           std::size_t width) {
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
    if (const store::RepositoryEntry& entry = listed.entry; !entry.problem.empty())
      table.add({entry.name, std::string(listed.state()), "", "", "", "", "", ""});
    else
      table.add(
          {entry.name, std::string(listed.state()), local_time(entry.manifest),
           events_text(entry.manifest),
           entry.manifest.is_counted() ? output::human_count(entry.manifest.lost()) : "?",
           output::human_bytes(entry.events_bytes),
           output::shortened_fact(fmt::format("{}", fmt::join(entry.manifest.command, " ")), width),
           output::shortened_fact(tags_text(entry.manifest), width)});
  output::Sink sink(console.out.file);
  table.print(sink, "", width);
  for (const Listed& listed : traces)
    print_problem(listed, sink, width);
  return sink.finish();
}

struct ListRequest {
  std::string what; // a trace, the beginning of names with *, or a directory of traces
  bool json = false;
  bool wide = false;
};

Result<std::vector<store::RepositoryEntry>> entries_of(const std::string& what) {
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
  return std::vector{store::repository_entry(*trace)};
}

void print_none(const Stream& err, const std::string& what) {
  const bool is_pattern = what.ends_with('*');
  const std::string directory =
      what.empty() || is_pattern ? store::repository_path().native() : what;
  fmt::print(err.file, "iotrail: no trace{} in {}\n",
             is_pattern ? " called " + output::printable(what) : "", output::printable(directory));
  if (what.empty())
    fmt::print(err.file, "  IOTRAIL_REPOSITORY names another directory;\n"
                         "  `iotrail list DIRECTORY` looks there.\n");
}

Result<int> list(const Console& console, const ListRequest& request) {
  auto entries = entries_of(request.what);
  if (!entries)
    return std::unexpected(entries.error());
  std::vector<Listed> traces;
  for (store::RepositoryEntry& entry : *entries)
    traces.push_back(looked_into(std::move(entry)));
  if (request.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const Listed& trace : traces)
      all.push_back(to_json(trace));
    fmt::print(console.out.file, "{}\n", output::json_text(all));
    return 0;
  }
  if (traces.empty()) {
    print_none(console.err, request.what);
    return 0;
  }
  const Result<void> printed =
      print_entries(console, traces, request.wide ? output::kAnyWidth : console.out.width());
  return printed ? Result<int>(0) : std::unexpected(printed.error());
}

Action declare_list(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<ListRequest>();
  app.add_option("what", request->what,
                 "A trace (path or name), `latest`, a prefix of names with *, or a directory with "
                 "traces; default: the repository")
      ->type_name("TRACE");
  app.footer("The repository is $IOTRAIL_REPOSITORY, else $XDG_STATE_HOME/iotrail, else "
             "~/.local/state/iotrail. Damage is looked for by the checksums of a trace of up to "
             "64 MiB, in the outlines of larger ones; `iotrail info TRACE` reads all.");
  app.add_flag("--json", request->json, "JSON");
  app.add_flag("--wide", request->wide, "Print all columns, however wide the terminal is");
  return [request](const Console& console) { return list(console, *request); };
}

} // namespace

extern const Verb kVerbList = {
    .name = "list",
    .summary = "List the traces of the repository",
    .group = Group::manage,
    .rank = 0,
    .declare = declare_list,
    .examples = "  iotrail list\n"
                "  iotrail list 'build*'\n"
                "  iotrail list --json\n",
};

} // namespace iotrail::cli
