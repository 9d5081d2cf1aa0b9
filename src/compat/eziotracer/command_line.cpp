// SPDX-License-Identifier: BSD-3-Clause
#include "compat/eziotracer/command_line.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "compat/eziotracer/tracing.hpp"
#include "compat/shared/face_options.hpp"

namespace iotrail::compat::eziotracer {
namespace {

constexpr std::string_view kTracer = "eziotracer";
constexpr std::string_view kWrapper = "iotracer.sh";
constexpr const char* kLevelsHelp = "Levels: s system calls, v VFS, p page cache, f file system, b "
                                    "block, d SCSI and NVMe; default: vpfb";
constexpr const char* kNoEffect = "Accepted, and without effect";

// Long names with one dash, which the parser does not know.
std::vector<std::string> with_two_dashes(std::vector<std::string> words) {
  static constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"-size", "--bufsize"}, {"-dev", "--device"}, {"-wkup", "--wakeup"}, {"-sleep", "--sleep"}};
  for (std::string& word : words) {
    if (word == "--")
      break;
    for (const auto& [name, replacement] : kNames)
      if (word == name)
        word = replacement;
  }
  return words;
}

// The options that tune the original's buffers: iotrail always batches, and keeps the trace on disk.
struct Tuning {
  std::string kernel = "s";
  std::string userspace = "p";
  std::string storage = "d";
  std::string wakeup = "a";
  double sleep_s = 0;
  bool exits = false;
};

void declare_tuning(CLI::App& app, Tuning& tuning) {
  const auto letter = [&](const char* names, std::string& value, const char* type) {
    app.add_option(names, value, kNoEffect)
        ->type_name(type)
        ->check(CLI::IsMember(std::vector<std::string>(
            {std::string(1, type[0]), std::string(1, type[2]),
             std::string(1, type[std::char_traits<char>::length(type) - 1])})));
  };
  app.add_flag("-e,--exits", tuning.exits, kNoEffect);
  letter("-k,--kernel", tuning.kernel, "o|s");
  letter("-u,--userspace", tuning.userspace, "p|c");
  letter("-s,--storage", tuning.storage, "r|d");
  letter("--wakeup", tuning.wakeup, "a|y|n");
  app.add_option("--sleep", tuning.sleep_s, kNoEffect)
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber);
}

void declare_selection(CLI::App& app, TracingOptions& options) {
  app.add_option("-t,--task", options.tasks, "Trace tasks of these names; default: all")
      ->type_name("NAME[,NAME]")
      ->delimiter(',');
  app.add_option("-i,--inode", options.inode, "Inode number, or path, of the file or directory")
      ->type_name("INODE");
  app.add_option("-l,--level", options.levels, kLevelsHelp)->type_name("LEVELS");
  app.add_option("-o,--output_file", options.output,
                 "New file for the lines; default: standard output")
      ->type_name("FILE");
  app.add_option("--bufsize", options.buffer_pages,
                 "Size of the buffers of all CPUs together, in pages of 4 KiB; default: 32768")
      ->type_name("PAGES")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 28U));
  app.add_option("--device", options.devices, "Block requests of these disks alone")
      ->type_name("DISK[,DISK]")
      ->delimiter(',');
  app.add_option("command", options.command, "Trace this command, until it ends");
}

Result<int> run_tracer_words(const cli::Console& console, const std::vector<std::string>& words) {
  FaceParser parser(std::string(kTracer),
                    "Trace reads and writes by level, as bcc_iotracer.py of EZIOTracer does.",
                    "[OPTION]... [-- COMMAND [ARGUMENT]...]");
  TracingOptions options;
  Tuning tuning;
  bool is_file = false;
  CLI::App& app = parser.app();
  declare_selection(app, options);
  CLI::Option* file = app.add_flag("-f,--file", is_file, "-i is a file");
  app.add_flag("-d,--dir", options.is_directory, "-i is a directory: its own files are traced")
      ->excludes(file);
  declare_tuning(app, tuning);
  app.footer("-size, -dev, -wkup and -sleep are the names of --bufsize, --device, --wakeup and "
             "--sleep with one dash. Ctrl-C ends the tracing, and prints the lines.");
  const auto parsed = parser.parse(console, with_two_dashes(words));
  if (!parsed)
    return std::unexpected(parsed.error());
  if (!*parsed)
    return 0;
  if (!options.inode.empty() && !is_file && !options.is_directory)
    return fail_usage("-i needs -f or -d", "it names a file, or a directory");
  if (options.inode.empty() && (is_file || options.is_directory))
    return fail_usage("-f and -d need -i", "it has the inode number or the path");
  return trace(console, kTracer, options);
}

Result<int> run_wrapper_words(const cli::Console& console, const std::vector<std::string>& words) {
  FaceParser parser(std::string(kWrapper),
                    "Trace a command on the files of a directory, as iotracer.sh of EZIOTracer "
                    "does.",
                    "[OPTION]... COMMAND [ARGUMENT]...");
  TracingOptions options;
  options.is_directory = true;
  options.inode = ".";
  options.output = "iotracer_trace.txt";
  CLI::App& app = parser.app();
  app.prefix_command();
  CLI::Option* inode =
      app.add_option("-i", options.inode, "Inode number of the directory")->type_name("INODE");
  app.add_option("-d", options.inode, "The directory; default: the current one")
      ->type_name("DIRECTORY")
      ->excludes(inode);
  app.add_option("-o", options.output, "New file for the lines; default: iotracer_trace.txt")
      ->type_name("FILE");
  app.add_option("-l", options.levels, kLevelsHelp)->type_name("LEVELS");
  const auto parsed = parser.parse(console, words);
  if (!parsed)
    return std::unexpected(parsed.error());
  if (!*parsed)
    return 0;
  options.command = app.remaining();
  if (options.command.empty())
    return fail_usage("no command given", {}, "See `iotracer.sh --help`.");
  options.tasks = {std::filesystem::path(options.command.front()).filename()};
  return trace(console, kWrapper, options);
}

} // namespace

Result<int> run_tracer(const cli::Console& console, const std::vector<std::string>& arguments) {
  return finish(console, kTracer, run_tracer_words(console, arguments));
}

Result<int> run_wrapper(const cli::Console& console, const std::vector<std::string>& arguments) {
  return finish(console, kWrapper, run_wrapper_words(console, arguments));
}

} // namespace iotrail::compat::eziotracer
