// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrc/command_line.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "compat/iotrc/tracing.hpp"
#include "compat/shared/face_options.hpp"
#include "text/sink.hpp"

namespace iotrail::compat::iotrc {
namespace {

using output::iotrc::Compression;
using output::iotrc::Era;

struct Words {
  TracingOptions tracing;
  bool asks_for_id = false;
  bool asks_for_reward = false;
  bool is_not_uploaded = false;
  std::string mode; // "dev", or nothing
  std::string bucket;
  std::string compression = "zstd";
  std::string layout = "current";
  std::uint64_t part_seconds = 300;
  std::string resumed; // a tree to upload; "": trace
};

void declare_original(CLI::App& app, Words& words) {
  app.add_flag("-v,--verbose", words.tracing.is_verbose,
               "Print what decides on the streams, and the rows of each");
  app.add_flag("-a,--anonimize", words.tracing.tree.hides_names,
               "Write hashes of paths and command lines");
  app.add_flag("--cache", words.tracing.streams.cache,
               "Trace the page cache, also on a small machine");
  app.add_flag("--network", words.tracing.streams.network,
               "Trace the network, also on a small machine");
  app.add_flag("--computer-id", words.asks_for_id, "Print the id of this machine");
  app.add_flag("--reward", words.asks_for_reward, "Print that there are no rewards");
  app.add_flag("--no-upload", words.is_not_uploaded, "Upload nothing, as without --upload");
  app.add_option("--trace-bucket", words.bucket, "After dev: the same as --upload")
      ->type_name("DIRECTORY|URL");
}

void declare_own(CLI::App& app, Words& words) {
  app.option_defaults()->group("Options of iotrail");
  app.add_option("-o,--output", words.tracing.output,
                 "Directory for the tree; default: the one for temporary files")
      ->type_name("DIRECTORY");
  app.add_option("--upload", words.tracing.upload.where,
                 "When the tree is whole, copy it into this directory, or send each file by HTTP "
                 "PUT below this address")
      ->type_name("DIRECTORY|URL");
  app.add_option("--upload-urls", words.tracing.upload.urls_file,
                 "Send the files by HTTP PUT to the addresses of this file, one a line")
      ->type_name("FILE");
  app.add_option("--upload-retries", words.tracing.upload.retries,
                 "Further attempts for a file after 1, 2, 4, ... seconds; default: 6")
      ->type_name("N")
      ->check(CLI::Range(0U, 100U));
  app.add_option("--resume-upload", words.resumed,
                 "Trace nothing: upload what is missing of this tree")
      ->type_name("TREE");
  app.add_option("--duration", words.tracing.seconds, "Stop after so many seconds")
      ->type_name("SECONDS")
      ->check(CLI::Range(1U, 4'294'967'295U));
  app.add_option("--compression", words.compression, "zstd, gzip or none; default: zstd")
      ->type_name("NAME")
      ->check(CLI::IsMember({"zstd", "gzip", "none"}));
  app.add_option("--layout", words.layout, "current, or seed: the older one, with more streams")
      ->type_name("NAME")
      ->check(CLI::IsMember({"current", "seed"}));
  app.add_option("--part-rows", words.tracing.tree.limits.rows, "Rows of a file; default: 100000")
      ->type_name("ROWS")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U));
  app.add_option("--part-seconds", words.part_seconds, "Time that a file covers; default: 300")
      ->type_name("SECONDS")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32U));
  app.add_option("--part-bytes", words.tracing.tree.limits.size_bytes,
                 "Size of a file before compression; default: 100000000")
      ->type_name("BYTES")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U));
  app.add_option("--snapshot-root", words.tracing.root,
                 "Take snapshots of the files from here on; default: /")
      ->type_name("DIRECTORY");
  app.add_flag("!--no-snapshots", words.tracing.takes_snapshots, "Take no snapshots");
}

Result<void> apply(Words& words) {
  TracingOptions& tracing = words.tracing;
  if (!words.bucket.empty() && words.mode != "dev")
    return fail_usage("--trace-bucket is an option of dev", {},
                      "Write `iotrc dev "
                      "--trace-bucket DIRECTORY`.");
  if (!words.bucket.empty() && tracing.upload.is_none())
    tracing.upload.where = words.bucket;
  if (!words.resumed.empty() && !tracing.command.empty())
    return fail_usage("--resume-upload traces no command", {}, "Leave the command out.");
  if (words.is_not_uploaded)
    tracing.upload = {};
  tracing.is_verbose = tracing.is_verbose || words.mode == "dev";
  tracing.tree.era = words.layout == "seed" ? Era::seed : Era::current;
  tracing.tree.compression = words.compression == "gzip"   ? Compression::gzip
                             : words.compression == "none" ? Compression::none
                                                           : Compression::zstd;
  tracing.tree.limits.age_ns = words.part_seconds * kNsPerSecond;
  return {};
}

Result<int> print(const cli::Console& console, std::string_view text) {
  output::Sink sink(console.out.file);
  sink.print("{}\n", text);
  if (auto done = sink.finish(); !done)
    return std::unexpected(done.error());
  return 0;
}

// `dev` comes first, or behind flags: elsewhere the word may be the value of an option.
std::vector<std::string> without_mode(std::vector<std::string> arguments, std::string& mode) {
  static constexpr std::string_view kFlags[] = {"-v",      "--verbose", "-a",         "--anonimize",
                                                "--cache", "--network", "--no-upload"};
  const auto first = std::ranges::find_if(arguments, [](const std::string& word) {
    return std::ranges::find(kFlags, word) == std::end(kFlags);
  });
  if (first != arguments.end() && *first == "dev") {
    mode = *first;
    arguments.erase(first);
  }
  return arguments;
}

Result<int> run_words(const cli::Console& console, const std::vector<std::string>& arguments) {
  FaceParser parser(std::string(kFace), "Trace the I/O of a machine as IO Tracer does.",
                    "[OPTION]... [dev] [-- COMMAND [ARGUMENT]...]");
  Words words;
  declare_original(parser.app(), words);
  declare_own(parser.app(), words);
  parser.app().add_option("command", words.tracing.command,
                          "Trace this command alone, until it ends");
  parser.app().footer("Ctrl-C ends the tracing, and writes the tree. `dev` is verbose.");
  const auto parsed = parser.parse(console, without_mode(arguments, words.mode));
  if (!parsed)
    return std::unexpected(parsed.error());
  if (!*parsed)
    return 0;
  if (auto applied = apply(words); !applied)
    return std::unexpected(applied.error());
  if (words.asks_for_reward)
    return print(console, "iotrail has no rewards, and no server of its own.");
  if (!words.resumed.empty())
    return resume_upload(console, std::move(words.tracing), words.resumed);
  if (!words.asks_for_id)
    return trace(console, std::move(words.tracing));
  const auto id = machine_id();
  if (!id)
    return std::unexpected(id.error());
  return print(console, fmt::format("Here is your computer ID: {}", *id));
}

} // namespace

Result<int> run(const cli::Console& console, const std::vector<std::string>& arguments) {
  return finish(console, kFace, run_words(console, arguments));
}

} // namespace iotrail::compat::iotrc
