// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "cli/messages.hpp"
#include "compat/iotrace/answers/answer.hpp"
#include "compat/iotrace/catalog.hpp"
#include "compat/iotrace/command_line.hpp"
#include "text/printable.hpp"

namespace iotrail::compat::iotrace {
namespace {

struct RemovalOptions {
  std::string prefix;
  bool force = false;
};

bool has_ended(const CatalogEntry& one) {
  const std::string_view state = state_name(one.entry);
  return state == "COMPLETE" || state == "ERROR";
}

// Without force, only traces that have ended.
Result<void> remove_traces(const cli::Console& console, const RemovalOptions& options) {
  const auto entries = list_catalog(options.prefix);
  if (!entries)
    return std::unexpected(entries.error());
  std::vector<CatalogEntry> removed;
  for (const CatalogEntry& one : *entries) {
    if (!options.force && !has_ended(one))
      continue;
    if (const auto done = store::remove_trace(one.entry.path, options.force); done)
      removed.push_back(one);
    else
      cli::print_message(console.err,
                         fmt::format("iotrace: {}", output::printable_message(done.error())));
  }
  if (removed.empty())
    return fail("No traces removed.",
                entries->empty()
                    ? fmt::format("no trace path begins so: {}", options.prefix)
                    : "the traces with this prefix have not ended, or cannot be removed",
                entries->empty() ? "See `iotrace --trace-management --list-traces`."
                                 : "--force also removes traces without an end.");
  return print_answer(console, list_json(removed));
}

Action declare_list(CLI::App& app) {
  auto prefix = std::make_shared<std::string>();
  app.add_option("-p,--prefix", *prefix,
                 "Only the trace with this trace path or, with * at its end, those that begin so; "
                 "default: all")
      ->type_name("PREFIX");
  return [prefix](const cli::Console& console) -> Result<void> {
    const auto entries = list_catalog(*prefix);
    if (!entries)
      return std::unexpected(entries.error());
    return print_answer(console, list_json(*entries));
  };
}

Action declare_remove(CLI::App& app) {
  auto options = std::make_shared<RemovalOptions>();
  app.add_option("-p,--prefix", options->prefix,
                 "The trace with this trace path or, with * at its end, those that begin so")
      ->type_name("PREFIX")
      ->required();
  app.add_flag("-f,--force", options->force, "Also traces that have not ended");
  return [options](const cli::Console& console) -> Result<void> {
    if (options->prefix.empty())
      return fail_usage("--prefix: its value is empty", {}, "'*' stands for all traces.");
    return remove_traces(console, *options);
  };
}

Action declare_summary(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("-p,--path", *name, "The trace path, as --list-traces shows it")
      ->type_name("PATH")
      ->required();
  return [name](const cli::Console& console) -> Result<void> {
    const auto entry = find_in_catalog(*name);
    if (!entry)
      return std::unexpected(entry.error());
    return print_answer(console, summary_json(*entry));
  };
}

// iotrail computes each answer from the trace: there is no cache to clear, but scripts may ask for it.
Action declare_clear_cache(CLI::App& app) {
  auto prefix = std::make_shared<std::string>();
  app.add_option("-p,--prefix", *prefix,
                 "The trace with this trace path or, with * at its end, those that begin so")
      ->type_name("PREFIX")
      ->required();
  return [prefix](const cli::Console& console) -> Result<void> {
    const auto entries = list_catalog(*prefix);
    if (!entries)
      return std::unexpected(entries.error());
    if (entries->empty())
      return fail("No cache cleared.", fmt::format("no trace path begins so: {}", *prefix));
    return print_answer(console, list_json(*entries));
  };
}

} // namespace

std::span<const Command> management_commands() {
  static constexpr Command kCommands[] = {
      {'L', "list-traces", "", "List traces", declare_list},
      {'R', "remove-traces", "", "Remove traces", declare_remove},
      {'G', "get-trace-summary", "", "Print the summary of a trace", declare_summary},
      {'C', "clear-trace-cache", "", "Accepted: there is no cache", declare_clear_cache},
  };
  return kCommands;
}

} // namespace iotrail::compat::iotrace
