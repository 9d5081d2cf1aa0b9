// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <memory>

#include <fmt/ranges.h>

#include "base/nearest_name.hpp"
#include "cli/messages.hpp"
#include "cli/verb.hpp"
#include "import/import.hpp"
#include "store/reader/repository.hpp"
#include "text/printable.hpp"
#include "text/units.hpp"

namespace iotrail::cli {
namespace {

struct ImportWish {
  std::vector<std::string> files;
  std::string trace;
  std::string format;
};

std::vector<std::string> import_format_names() {
  std::vector<std::string> names;
  for (const import::ImportFormat* format : import::import_formats())
    names.emplace_back(format->name);
  return names;
}

// "/x/sda.blktrace.0" gives "sda".
std::string name_of(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  const std::string stem = name.substr(0, name.find('.', 1));
  return stem.empty() || stem == "-" ? "import" : stem;
}

void print_import(const Console& console, const import::ImportOutcome& outcome,
                  const std::filesystem::path& trace) {
  const auto say = [&](const std::string& text) { print_message(console.err, text); };
  for (const std::string& named : outcome.malformed_named)
    say("iotrail: malformed: " + output::printable(named));
  if (outcome.malformed > outcome.malformed_named.size())
    say(fmt::format("iotrail: {} more malformed records",
                    output::human_count(outcome.malformed - outcome.malformed_named.size())));
  for (const auto& [what, count] : outcome.left_out)
    say(fmt::format("iotrail: left out {} {}", output::human_count(count), what));
  if (!outcome.other_files.empty())
    say(fmt::format("iotrail: left out {} of another format, as {}",
                    output::human_count_of(outcome.other_files.size(), "file"),
                    output::printable(outcome.other_files.front())));
  say(fmt::format("iotrail: {} lacks {}", outcome.format->name, outcome.format->lacks));
  say(fmt::format("iotrail: imported {} from {} ({}){}",
                  output::human_count_of(outcome.manifest.events(), "event"),
                  output::human_count_of(outcome.files, "file"), outcome.format->name,
                  outcome.malformed > 0
                      ? fmt::format(", {} malformed", output::human_count(outcome.malformed))
                      : ""));
  say("  " + output::printable(trace.string()));
}

Result<int> import_files(const Console& console, const ImportWish& wish) {
  import::ImportRequest request;
  request.files = wish.files;
  if (!wish.format.empty()) {
    request.format = import::find_import_format(wish.format);
    const auto names = import_format_names();
    if (request.format == nullptr)
      return fail_usage(fmt::format("there is no format '{}' to import", wish.format),
                        fmt::format("the formats are {}", fmt::join(names, ", ")),
                        did_you_mean(wish.format, names));
  }
  request.trace = store::new_trace_path(wish.trace, name_of(wish.files.front()));
  const auto outcome = import::import_trace(request, import::import_formats());
  if (!outcome)
    return std::unexpected(outcome.error());
  print_import(console, *outcome, request.trace);
  return 0;
}

Action declare_import(CLI::App& app, const Trailing&) {
  auto wish = std::make_shared<ImportWish>();
  app.add_option("files", wish->files,
                 "Files of one format, also compressed by gzip or zstd; a directory stands for the "
                 "files in it, - for standard input")
      ->type_name("FILE")
      ->required();
  app.add_option("-o,--output", wish->trace,
                 "Name or path of the new trace; default: the file's name and the time")
      ->type_name("TRACE");
  app.add_option(
         "--from", wish->format,
         fmt::format("{}; default: what the content says", fmt::join(import_format_names(), ", ")))
      ->type_name("IMPORT_FORMAT");
  app.footer("The trace is like any other. What the format does not have is absent in it: "
             "docs/import.md has the formats. A malformed line or record is counted as lost, and "
             "the first ones are named.");
  return [wish](const Console& console) { return import_files(console, *wish); };
}

} // namespace

extern const Verb kVerbImport = {
    .name = "import",
    .summary = "Make a trace of files of other programs: blktrace, strace, CSV and others",
    .group = Group::record,
    .rank = 9,
    .declare = declare_import,
    .examples = "  iotrail import sda.blktrace.* -o disk\n"
                "  strace -f -ttt -T -yy -o s.txt make && iotrail import s.txt\n"
                "  iotrail import --from oracleGeneral cluster52.oracleGeneral.zst\n",
};

} // namespace iotrail::cli
