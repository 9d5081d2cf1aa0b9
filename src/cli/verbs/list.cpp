// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "cli/print_document.hpp"
#include "cli/trace_facts.hpp"
#include "cli/verb.hpp"
#include "report/documents/list.hpp"
#include "store/reader/repository.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::cli {
namespace {

// The checksums of traces are compared up to this size, of larger ones those of the beginnings of their blocks: a list is
// not to take minutes. Nor is it to decode anything: a directory may have traces of anybody.
constexpr std::uint64_t kReadBytes = 64U << 20U;

output::ListedTrace looked_into(store::RepositoryEntry entry) {
  output::ListedTrace listed{std::move(entry)};
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

// Where entries_of() looks for more than one trace.
std::string place_of(const std::string& what) {
  const bool is_directory = !what.empty() && !what.ends_with('*');
  return is_directory ? what : store::repository_path().native();
}

Result<int> list(const Console& console, const ListRequest& request) {
  auto entries = entries_of(request.what);
  if (!entries)
    return std::unexpected(entries.error());
  std::vector<output::ListedTrace> traces;
  for (store::RepositoryEntry& entry : *entries)
    traces.push_back(looked_into(std::move(entry)));
  const DocumentFormat text = request.wide ? DocumentFormat::wide_text : DocumentFormat::text;
  const Result<void> printed =
      print_document(console.out, output::make_list(traces, place_of(request.what), request.what),
                     request.json ? DocumentFormat::json : text);
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
