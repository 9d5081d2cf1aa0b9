// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/ranges.h>

#include "base/nearest_name.hpp"
#include "cli/messages.hpp"
#include "cli/open_trace.hpp"
#include "cli/options/format_option.hpp"
#include "cli/options/op_option.hpp"
#include "cli/output_file.hpp"
#include "cli/progress_bar.hpp"
#include "cli/verb.hpp"
#include "cli/verbs/anonymous_copy.hpp"
#include "export/export.hpp"
#include "export/trace_format.hpp"
#include "serve/client/http_upload.hpp"

namespace iotrail::cli {
namespace {

constexpr const char* kDefaultWeight = "time";

struct ExportTarget {
  std::string trace;
  std::string format; // empty: the suffix of `path` says it
  std::string table;
  std::string path;
  std::string weight = kDefaultWeight;
  std::string op;
  std::string key; // of pseudonyms; empty: none
  bool raw = false;
};

// A format of rows, or one of other programs.
struct ExportFormat {
  const output::Format* rows = nullptr;
  const output::TraceFormat* trace = nullptr;
};

std::vector<std::string> export_format_names() {
  std::vector<std::string> names;
  for (const output::Format* format : output::formats())
    names.emplace_back(format->name);
  for (const output::TraceFormat* format : output::trace_formats())
    names.emplace_back(format->name);
  std::ranges::sort(names);
  return names;
}

Result<ExportFormat> export_format(const std::string& name) {
  const ExportFormat format{output::find_format(name), output::find_trace_format(name)};
  if (format.rows != nullptr || format.trace != nullptr)
    return format;
  const auto names = export_format_names();
  return fail_usage(fmt::format("there is no format '{}'", name),
                    fmt::format("the formats are {}", fmt::join(names, ", ")),
                    did_you_mean(name, names));
}

// The format of other programs with the longest suffix that the name has, else one of rows.
Result<ExportFormat> export_format_by_suffix(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  const output::TraceFormat* found = nullptr;
  for (const output::TraceFormat* format : output::trace_formats())
    if (name.ends_with(fmt::format(".{}", format->suffix)) &&
        (found == nullptr || found->suffix.size() < format->suffix.size()))
      found = format;
  if (found != nullptr)
    return ExportFormat{.trace = found};
  const std::string suffix = std::filesystem::path(path).extension();
  if (const output::Format* rows =
          suffix.size() > 1 ? output::find_format(suffix.substr(1)) : nullptr)
    return ExportFormat{.rows = rows};
  return fail_usage(path.empty()
                        ? "export: no format given"
                        : fmt::format("-o {}: no format has the suffix '{}'", path, suffix),
                    fmt::format("the formats are {}", fmt::join(export_format_names(), ", ")),
                    "--to names the format.");
}

Result<std::uint64_t> export_to_file(const Stream& out, const store::TraceReader& trace,
                                     const ExportTarget& target,
                                     const output::ExportOptions& options) {
  if (target.table.empty())
    return write_output(out, target.path, [&](std::FILE* file) {
      return output::export_stream(trace, options, file);
    });
  const auto table = find_table(trace, target.table);
  if (!table)
    return std::unexpected(table.error());
  return write_output(out, target.path, [&](std::FILE* file) {
    return output::export_table(trace, **table, options, file);
  });
}

Result<std::uint64_t> write_rows(const Console& console, const store::TraceReader& trace,
                                 const ExportTarget& target, const output::ExportOptions& options,
                                 bool is_directory) {
  std::optional<ProgressBar> bar;
  if (!target.path.empty() || !console.out.is_terminal())
    bar.emplace(console.err, [&] { // each block is read once
      return static_cast<double>(trace.blocks_read()) /
             static_cast<double>(std::max<std::size_t>(trace.blocks().size(), 1));
    });
  return is_directory ? output::export_directory(trace, options, target.path)
                      : export_to_file(console.out, trace, target, options);
}

Result<int> export_rows(const Console& console, const ExportTarget& target,
                        const output::Format& format) {
  const bool is_directory = target.table.empty() && format.gives == output::Gives::file_a_table;
  if (is_directory && target.path.empty())
    return fail_usage(fmt::format("export of a whole trace as {} needs a directory", format.name),
                      "each table becomes a file of its own",
                      "Give -o DIRECTORY, or one table with --table.");
  auto trace = open_trace(target.trace);
  if (!trace)
    return std::unexpected(trace.error());
  const auto rows =
      write_rows(console, **trace, target, {.format = &format, .raw = target.raw}, is_directory);
  if (!rows)
    return std::unexpected(rows.error());
  print_warnings(console.err, **trace);
  if (!target.table.empty())
    print_not_recorded(console.err, **trace, *(*trace)->table(target.table));
  return 0;
}

// Never replaces what is there.
bool move_to(const std::filesystem::path& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
    return true;
  std::error_code none;
  if (errno != EINVAL || std::filesystem::exists(std::filesystem::symlink_status(to, none)))
    return false;
  return std::rename(from.c_str(), to.c_str()) == 0; // the file system knows no such rename
}

// A library makes the file, and others beside it. It works in a new directory: there it meets no
// file of others, and takes no part of the name for an order of its own.
Result<void> write_by_path(const output::TraceFormat& format, const output::TraceInput& input,
                           const std::string& path) {
  if (const auto checked = check_new_file(path); !checked)
    return checked;
  const store::TemporaryFiles made;
  std::string folder = (std::filesystem::absolute(path).parent_path() / ".iotrail-XXXXXX").string();
  if (!made.make_tree(
          [&] { return std::filesystem::path(::mkdtemp(folder.data()) ? folder : ""); }))
    return fail_errno(fmt::format("cannot write {}", path));
  const mode_t before = ::umask(0027); // as a trace has: it shows what other users do
  const std::filesystem::path whole = std::filesystem::path(folder) / "export";
  auto written = format.write_path(input, whole);
  ::umask(before);
  if (written && !move_to(whole, path))
    return fail_errno(fmt::format("cannot write {}", path));
  if (!written)
    written.error().what = fmt::format("cannot write {}", path);
  return written;
}

// The whole export comes first: a server gets all of it, or nothing.
Result<void> post_trace_format(const std::string& url, const output::TraceFormat& format,
                               const output::TraceInput& input) {
  const store::TemporaryFiles made;
  std::string folder = (std::filesystem::temp_directory_path() / "iotrail-XXXXXX").string();
  if (!made.make_tree(
          [&] { return std::filesystem::path(::mkdtemp(folder.data()) ? folder : ""); }))
    return fail_errno("cannot make a temporary directory");
  const std::string path = fmt::format("{}/export.{}", folder, format.suffix);
  auto done = write_output({}, path, [&](std::FILE* file) -> Result<void> {
    output::Sink sink(file);
    auto written = format.write(input, sink);
    return written ? sink.finish() : written;
  });
  if (done)
    done = serve::send_file({.url = url,
                             .file = path,
                             .name = "the export",
                             .is_post = true,
                             .type = std::string(format.http_type)});
  if (!done && done.error().hint.empty())
    done.error().hint = "Check the address and that a server takes it there, or give -o FILE.";
  return done;
}

Result<void> write_trace_format(const Console& console, const ExportTarget& target,
                                const output::TraceFormat& format,
                                const output::TraceInput& input) {
  if (serve::is_http_url(target.path))
    return post_trace_format(target.path, format, input);
  if (format.write_path != nullptr)
    return write_by_path(format, input, target.path);
  if (format.write_files != nullptr) {
    const output::OutputDirectory directory(target.path);
    auto done = directory.make();
    if (done)
      done = format.write_files(input, directory);
    if (done)
      directory.keep();
    return done;
  }
  return write_output(console.out, target.path, [&](std::FILE* file) -> Result<void> {
    output::Sink sink(file);
    auto done = format.write(input, sink);
    return done ? sink.finish() : done;
  });
}

Result<int> export_trace_format(const Console& console, const ExportTarget& target,
                                const output::TraceFormat& format) {
  if (!target.table.empty() || target.raw)
    return fail_usage(fmt::format("--table and --raw do not apply to {}", format.name),
                      "it holds a whole trace in its own way");
  if (target.weight != kDefaultWeight && !format.has_weight)
    return fail_usage(fmt::format("--weight does not apply to {}", format.name),
                      "it draws no stacks", "folded, speedscope and pprof do.");
  if (!target.op.empty() && !format.has_op)
    return fail_usage(fmt::format("--op does not apply to {}", format.name),
                      "it holds a whole trace", "dot and mermaid show one operation.");
  if (format.needs_path() && target.path.empty())
    return fail_usage(fmt::format("export to {} needs -o", format.name), "it is no stream of bytes",
                      "Give a new file or directory.");
  if (format.is_binary && target.path.empty() && console.out.is_terminal())
    return fail_usage(fmt::format("{} is not for terminals", format.name), "it is binary",
                      "Give -o FILE.");
  if (auto checked = check_op(target.op); !checked)
    return std::unexpected(checked.error());
  const auto engine = open_engine(target.trace);
  if (!engine)
    return std::unexpected(engine.error());
  const output::TraceInput input{.engine = **engine,
                                 .weight = target.weight == "bytes" ? output::Weight::bytes
                                                                    : output::Weight::time,
                                 .op = target.op};
  if (auto done = write_trace_format(console, target, format, input); !done)
    return std::unexpected(done.error());
  print_message(console.err, fmt::format("iotrail: {} leaves out {}", format.name, format.omits));
  print_warnings(console.err, (*engine)->trace());
  return 0;
}

// Whether the server of `-o URL` can get the format.
Result<void> check_server(const ExportTarget& target) {
  std::vector<std::string_view> names;
  for (const output::TraceFormat* format : output::trace_formats())
    if (!format->http_type.empty())
      names.push_back(format->name);
  const output::TraceFormat* format = output::find_trace_format(target.format);
  if (format == nullptr || format->http_type.empty())
    return fail_usage(fmt::format("export to {} needs --to", serve::shown_url(target.path)),
                      fmt::format("servers take {}", fmt::join(names, ", ")));
  return serve::check_http_url("-o", target.path);
}

// Fails before the work for the copy if the export itself would fail.
Result<std::unique_ptr<AnonymousCopy>> anonymous_copy(const ExportTarget& target) {
  std::error_code none;
  const auto checked = std::filesystem::is_directory(target.path, none) ||
                               serve::is_http_url(target.path) // check_server()
                           ? Result<void>() // formats of a file a table may add to it
                           : check_new_file(target.path);
  if (!checked)
    return std::unexpected(checked.error());
  return AnonymousCopy::make(target.trace, target.key);
}

Result<int> export_trace(const Console& console, ExportTarget target) {
  if (serve::is_http_url(target.path))
    if (const auto checked = check_server(target); !checked)
      return std::unexpected(checked.error());
  const auto format =
      target.format.empty() ? export_format_by_suffix(target.path) : export_format(target.format);
  if (!format)
    return std::unexpected(format.error());
  std::unique_ptr<AnonymousCopy> copy;
  if (!target.key.empty()) {
    auto made = anonymous_copy(target);
    if (!made)
      return std::unexpected(made.error());
    copy = std::move(*made);
    target.trace = copy->path();
  }
  return format->rows != nullptr ? export_rows(console, target, *format->rows)
                                 : export_trace_format(console, target, *format->trace);
}

Action declare_export(CLI::App& app, const Trailing&) {
  auto target = std::make_shared<ExportTarget>();
  app.add_option("trace", target->trace, kTraceHelp)->type_name("TRACE")->required();
  app.add_option("--to", target->format,
                 fmt::format("{}; default: the suffix of the -o file",
                             fmt::join(export_format_names(), ", ")))
      ->type_name("EXPORT_FORMAT");
  app.add_option("--table", target->table, "Only this event or dictionary table; default: all")
      ->type_name("EVENT");
  app.add_option("-o,--output", target->path,
                 "File to write, or directory, or the address of a server for otlp and prometheus "
                 "(http://...); default: standard output")
      ->type_name("FILE|URL");
  app.add_flag("--raw", target->raw, "Write numbers as stored, not names, paths and flags");
  app.add_option(
         "--weight", target->weight,
         "The width of stacks (folded, speedscope, pprof): time of calls, or bytes at devices")
      ->type_name("time|bytes")
      ->check(CLI::IsMember({"time", "bytes"}).description(""));
  app.add_option("--op", target->op,
                 "The operation that dot and mermaid show; default: the slowest")
      ->type_name("OPERATION");
  app.add_option("--anonymize", target->key,
                 "Write pseudonyms in the place of names, by the secret in this file; `iotrail "
                 "anonymize --help` says more")
      ->type_name("KEYFILE");
  app.footer(
      "docs/export.md has the programs that read each format, and what it leaves out. CSV has "
      "names as they are; on a terminal control characters and invisible ones are shown as "
      "\\x1b.");
  return [target](const Console& console) { return export_trace(console, *target); };
}

} // namespace

extern const Verb kVerbExport = {
    .name = "export",
    .summary = "Write events as CSV or JSON, or a trace for other programs",
    .group = Group::read,
    .rank = 5,
    .declare = declare_export,
    .examples = "  iotrail export latest -o trace.pftrace            # for ui.perfetto.dev\n"
                "  iotrail export latest --to folded --weight bytes | flamegraph.pl\n"
                "  iotrail export latest --to jsonl -o trace.jsonl\n"
                "  iotrail export latest --to csv -o directory\n"
                "  iotrail export latest --to otlp -o http://127.0.0.1:4318/v1/traces\n"
                "  iotrail export latest --to csv --table syscall_read\n",
};

} // namespace iotrail::cli
