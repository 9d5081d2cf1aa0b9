// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/ranges.h>

#include "cli/messages.hpp"
#include "cli/trace_facts.hpp"
#include "cli/verb.hpp"
#include "store/reader/repository.hpp"
#include "text/printable.hpp"
#include "text/text_width.hpp"
#include "text/units.hpp"

namespace iotrail::cli {
namespace {

constexpr int kNotDeleted = 1;
constexpr std::size_t kCommandWidth = 40;

struct RemoveRequest {
  std::vector<std::string> names;
  bool force = false;
  bool yes = false;
};

struct Removal {
  std::filesystem::path trace;
  std::string description;
};

// "/repository/build.iotrail: make -j8, 2026-03-01 12:34:56, 17.2 MiB"
std::string description_of(const std::filesystem::path& trace) {
  const store::RepositoryEntry entry = store::repository_entry(trace);
  std::vector<std::string> facts;
  if (!entry.manifest.command.empty())
    facts.push_back(output::shortened_end(fmt::format("{}", fmt::join(entry.manifest.command, " ")),
                                          kCommandWidth));
  if (entry.problem.empty())
    facts.push_back(output::human_date(entry.manifest.begin_real_ns()));
  facts.push_back(output::human_bytes(entry.events_bytes));
  return output::printable(fmt::format("{}: {}", trace.native(), fmt::join(facts, ", ")));
}

// All are found before any is removed: a wrong name removes nothing.
Result<std::vector<Removal>> removals_of(const RemoveRequest& request) {
  std::vector<Removal> removals;
  for (const std::string& name : request.names) {
    auto trace = store::find_trace(name);
    if (!trace)
      return std::unexpected(trace.error());
    if (std::ranges::find(removals, *trace, &Removal::trace) == removals.end())
      removals.push_back({*trace, description_of(*trace)});
  }
  return removals;
}

bool is_yes(const std::string& answer) {
  return answer == "y" || answer == "Y" || answer == "yes";
}

// An end of the input is a no.
std::string read_answer() {
  std::string answer;
  for (int c = std::getchar(); c != EOF && c != '\n'; c = std::getchar())
    answer += static_cast<char>(c);
  return answer;
}

// Without a terminal, a name is clear, but `latest` may be another trace than the one in mind.
Result<bool> is_wanted(const Console& console, const RemoveRequest& request,
                       const std::vector<Removal>& removals) {
  if (request.yes)
    return true;
  if (::isatty(STDIN_FILENO) != 1 || !console.err.is_terminal()) {
    const auto latest = std::ranges::find(request.names, store::kLatest);
    if (latest == request.names.end())
      return true;
    return fail_usage("`latest` is removed only if you confirm it",
                      "there is no terminal to ask on",
                      "-y confirms it, or name the trace itself: `iotrail list` shows the names.");
  }
  print_message(console.err, "iotrail: to delete:");
  for (const Removal& removal : removals)
    print_message(console.err, "  " + removal.description);
  fmt::print(console.err.file, "Delete {}? [y/N] ", removals.size() == 1 ? "it" : "them");
  std::fflush(console.err.file);
  return is_yes(read_answer());
}

Result<int> remove(const Console& console, const RemoveRequest& request) {
  const auto removals = removals_of(request);
  if (!removals)
    return std::unexpected(removals.error());
  const auto wanted = is_wanted(console, request, *removals);
  if (!wanted)
    return std::unexpected(wanted.error());
  if (!*wanted) {
    print_message(console.err, "iotrail: nothing was deleted");
    return kNotDeleted;
  }
  for (const auto& [trace, description] : *removals) {
    if (Result<void> removed = store::remove_trace(trace, request.force); !removed)
      return std::unexpected(removed.error());
    fmt::print(console.out.file, "deleted {}\n", description);
  }
  return 0;
}

Action declare_remove(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<RemoveRequest>();
  app.add_option("trace", request->names, "Paths or names of traces, or `latest`")
      ->type_name("TRACE")
      ->required();
  app.add_flag("-y,--yes", request->yes, "Do not ask on a terminal; elsewhere, confirm `latest`");
  app.add_flag("-f,--force", request->force, "Remove also a trace that is being recorded");
  app.footer("A removed trace cannot be restored. On a terminal, iotrail shows what it is going "
             "to delete and asks. Elsewhere it deletes what is named, but `latest` needs -y.");
  return [request](const Console& console) { return remove(console, *request); };
}

constexpr ExitStatus kRemoveStatuses[] = {
    {0, "All traces are deleted."}, {kNotDeleted, "The answer was no, or the operation failed."}};

} // namespace

extern const Verb kVerbRemove = {
    .name = "remove",
    .summary = "Delete traces",
    .group = Group::manage,
    .rank = 3,
    .declare = declare_remove,
    .examples = "  iotrail remove build-20260301-123456\n"
                "  iotrail remove -y latest\n",
    .statuses = kRemoveStatuses,
};

} // namespace iotrail::cli
