// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/messages.hpp"
#include "compat/iotrace/answers/answer.hpp"
#include "compat/iotrace/answers/csv.hpp"
#include "compat/iotrace/answers/io_events.hpp"
#include "compat/iotrace/answers/lru_cache.hpp"
#include "compat/iotrace/answers/statistics.hpp"
#include "compat/iotrace/catalog.hpp"
#include "compat/iotrace/command_line.hpp"

namespace iotrail::compat::iotrace {
namespace {

using AnswerJson = nlohmann::ordered_json;

struct ParserOptions {
  std::string path;
  std::string format = "json";
  std::string extension = "lru";
  bool raw = false;
  LbaOptions lba;
};

void declare_path(CLI::App& app, ParserOptions& options) {
  app.add_option("-p,--path", options.path, "The trace path, as --list-traces shows it")
      ->type_name("PATH")
      ->required();
}

void declare_format(CLI::App& app, ParserOptions& options) {
  app.add_option("-f,--format", options.format, "json or csv; default: json")
      ->type_name("FORMAT")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text == "json" || text == "csv"
                       ? std::string()
                       : fmt::format("'{}' is no format; the formats are json and csv", text);
          },
          ""));
}

EventFormat format_of(const ParserOptions& options) {
  return options.format == "csv" ? EventFormat::csv : EventFormat::json;
}

// Opens the trace, and says what it lacks.
template <class Print>
Result<void> with_trace(const cli::Console& console, const std::string& path, const Print& print) {
  const auto entry = find_in_catalog(path);
  if (!entry)
    return std::unexpected(entry.error());
  const auto engine = analysis::Engine::open(entry->entry.path, {.kept_views = {"device_ios"}});
  if (!engine)
    return std::unexpected(engine.error());
  output::Sink sink(console.out.file);
  if (const Result<void> printed = print(**engine, sink, *entry); !printed)
    return printed;
  if (const Result<void> finished = sink.finish(); !finished)
    return finished;
  cli::print_warnings(console.err, (*engine)->trace());
  return {};
}

// Rows of CSV: each element of the answer with its members.
void put_elements(output::Sink& sink, const AnswerJson& elements) {
  if (elements.empty())
    return;
  std::vector<std::string> columns; // of any element
  for (const AnswerJson& one : elements)
    for (std::string& column : columns_of(one))
      if (std::ranges::find(columns, column) == columns.end())
        columns.push_back(std::move(column));
  put_header(sink, columns);
  for (const AnswerJson& one : elements)
    put_row(sink, columns, one);
}

// A row a range, with a column for each operation.
void put_ranges(output::Sink& sink, const AnswerJson& histograms) {
  bool has_header = false;
  for (const AnswerJson& histogram : histograms) {
    std::map<std::pair<std::uint64_t, std::string>, AnswerJson> rows;
    AnswerJson empty = {{"desc", histogram.at("desc")},
                        {"duration", histogram.at("duration")},
                        {"rangeBegin", "0"},
                        {"rangeEnd", "0"}};
    for (const auto& [name, member] : histogram.items())
      if (name != "desc" && name != "duration")
        empty[name] = "0";
    for (const auto& [name, member] : histogram.items()) {
      if (name == "desc" || name == "duration")
        continue;
      for (const AnswerJson& range : member.at("range")) {
        const auto begin = range.at("begin").get<std::string>();
        AnswerJson& row =
            rows.try_emplace({begin.size(), begin}, empty).first->second; // as numbers
        row["rangeBegin"] = begin;
        row["rangeEnd"] = range.at("end");
        row[name] = range.at("count");
      }
    }
    const std::vector<std::string> columns = columns_of(empty);
    if (!has_header)
      put_header(sink, columns);
    has_header = true;
    for (const auto& [begin, row] : rows)
      put_row(sink, columns, row);
  }
}

void put_answer(output::Sink& sink, const AnswerJson& answer, EventFormat format) {
  if (format == EventFormat::json)
    sink.put(answer_text(answer));
  else if (answer.contains("histogram"))
    put_ranges(sink, answer.at("histogram"));
  else
    put_elements(sink, answer.front());
}

template <class Compute>
Result<void> print_computed(const cli::Console& console, const ParserOptions& options,
                            const Compute& compute) {
  return with_trace(
      console, options.path,
      [&](analysis::Engine& engine, output::Sink& sink, const CatalogEntry&) -> Result<void> {
        const Result<AnswerJson> answer = compute(engine);
        if (!answer)
          return std::unexpected(answer.error());
        put_answer(sink, *answer, format_of(options));
        return {};
      });
}

Result<void> print_events(const cli::Console& console, const ParserOptions& options) {
  return with_trace(console, options.path,
                    [&](analysis::Engine& engine, output::Sink& sink, const CatalogEntry& entry) {
                      if (options.raw)
                        return put_raw_events(engine, sink, format_of(options));
                      const bool has_lru = entry.entry.manifest.tags.contains(kExtensionTag);
                      return put_parsed_events(engine, sink, format_of(options), has_lru);
                    });
}

// The extension is computed whenever it is asked for; the trace only remembers that it has it.
Result<void> add_extension(const cli::Console& console, const ParserOptions& options) {
  return with_trace(
      console, options.path,
      [&](analysis::Engine& engine, output::Sink& sink, const CatalogEntry& entry) -> Result<void> {
        const Result<AnswerJson> answer = lru_summary(engine);
        if (!answer)
          return std::unexpected(answer.error());
        if (auto tagged = store::tag_trace(entry.entry.path, kExtensionTag, "lru"); !tagged)
          return tagged;
        sink.put(answer_text(*answer));
        return {};
      });
}

Action declare_io(CLI::App& app) {
  auto options = std::make_shared<ParserOptions>();
  declare_path(app, *options);
  declare_format(app, *options);
  app.add_flag("-r,--raw", options->raw,
               "Submissions, completions and names apart, with the times of the trace");
  return [options](const cli::Console& console) { return print_events(console, *options); };
}

template <Result<AnswerJson> (*kCompute)(analysis::Engine&)> Action declare_answer(CLI::App& app) {
  auto options = std::make_shared<ParserOptions>();
  declare_path(app, *options);
  declare_format(app, *options);
  return [options](const cli::Console& console) {
    return print_computed(console, *options, kCompute);
  };
}

template <Histogram (*kHistogram)()> Action declare_histogram(CLI::App& app) {
  auto options = std::make_shared<ParserOptions>();
  declare_path(app, *options);
  declare_format(app, *options);
  return [options](const cli::Console& console) {
    return print_computed(console, *options, [](analysis::Engine& engine) {
      return histogram_json(engine, kHistogram());
    });
  };
}

Action declare_lba(CLI::App& app) {
  auto options = std::make_shared<ParserOptions>();
  declare_path(app, *options);
  declare_format(app, *options);
  constexpr std::uint64_t kMost = INT64_MAX;
  app.add_option("-b,--bucket-size", options->lba.bucket_sectors,
                 "Size of a range in sectors of 512 bytes; default: 20480, which is 10 MiB")
      ->type_name("SECTORS")
      ->check(within(1, kMost));
  app.add_option("-s,--subrange-start", options->lba.from_sector,
                 "First sector; I/O that overlaps it counts; default: 0")
      ->type_name("SECTOR")
      ->check(within(0, kMost));
  app.add_option("-e,--subrange-end", options->lba.until_sector,
                 "Sector behind the last one; default: the end of the disk")
      ->type_name("SECTOR")
      ->check(within(0, kMost));
  return [options](const cli::Console& console) -> Result<void> {
    if (const auto checked = check_subrange(options->lba); !checked)
      return checked;
    return print_computed(console, *options, [&](analysis::Engine& engine) {
      return lba_histogram_json(engine, options->lba);
    });
  };
}

Action declare_devices(CLI::App& app) {
  auto options = std::make_shared<ParserOptions>();
  declare_path(app, *options);
  return [options](const cli::Console& console) {
    return print_computed(console, *options, devices_json);
  };
}

Action declare_extensions(CLI::App& app) {
  auto options = std::make_shared<ParserOptions>();
  declare_path(app, *options);
  app.add_option("-t,--extension-type", options->extension, "lru")
      ->type_name("TYPE")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text == "lru" ? std::string()
                                 : fmt::format("there is no extension '{}'; only lru", text);
          },
          ""));
  return [options](const cli::Console& console) { return add_extension(console, *options); };
}

} // namespace

std::span<const Command> parser_commands() {
  static constexpr Command kCommands[] = {
      {'P', "io", "parse-trace", "Print the events of a trace", declare_io},
      {'S', "statistics", "get-trace-statistics", "Print statistics by device and operation",
       declare_answer<statistics_json>},
      {'L', "latency-histogram", "get-latency-histogram", "Print how long I/O took",
       declare_histogram<latency_histogram>},
      {'B', "lba-histogram", "get-lba-histogram", "Print where on the disk I/O went", declare_lba},
      {'I', "io-size-histogram", "", "Print how large I/O was", declare_histogram<size_histogram>},
      {'Q', "queue-depth-histogram", "", "Print how much I/O was in progress",
       declare_histogram<depth_histogram>},
      {'F', "fs-statistics", "", "Print statistics by file and directory",
       declare_answer<file_statistics_json>},
      {'D', "devices", "", "Print the devices of a trace", declare_devices},
      {'X', "extensions", "", "Simulate LRU caches", declare_extensions},
  };
  return kCommands;
}

} // namespace iotrail::compat::iotrace
