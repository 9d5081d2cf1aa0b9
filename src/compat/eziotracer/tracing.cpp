// SPDX-License-Identifier: BSD-3-Clause
#include "compat/eziotracer/tracing.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "capture/selection/block_device.hpp"
#include "capture/selection/filter_conflicts.hpp"
#include "capture/session/command.hpp"
#include "capture/session/foreground.hpp"
#include "capture/sources/sources.hpp"
#include "cli/exit.hpp"
#include "cli/messages.hpp"
#include "cli/open_trace.hpp"
#include "cli/output_file.hpp"
#include "cli/record_messages.hpp"
#include "compat/eziotracer/inode_path.hpp"
#include "compat/shared/face_options.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::compat::eziotracer {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kLeastRing = 64U << 10U;
constexpr std::uint64_t kMostRing = 1U << 30U;
constexpr std::size_t kNameBytes = 15; // of a task

struct Level {
  char letter;
  schema::Layer layer;
  std::string_view event; // without it the level has no lines
};
constexpr Level kLevels[] = {
    {'s', schema::Layer::syscall, "syscall_read"}, {'v', schema::Layer::vfs, "vfs_read"},
    {'p', schema::Layer::cache, "cache_add"},      {'f', schema::Layer::fs, ""},
    {'b', schema::Layer::block, "block_complete"}, {'d', schema::Layer::device, "device_scsi"},
};

Result<std::string> levels_of(const std::string& text) {
  std::string letters;
  for (const char c : text) {
    const char letter = static_cast<char>(c | 0x20);
    if (std::ranges::find(kLevels, letter, &Level::letter) == std::end(kLevels))
      return fail_usage(fmt::format("-l {}: there is no level '{}'", text, c), {},
                        "s system calls, v VFS, p page cache, f file system, b block, d device.");
    letters += letter;
  }
  if (letters.empty())
    return fail_usage("-l: no level given", {}, "Without -l the levels are vpfb.");
  return letters;
}

Result<std::vector<std::uint64_t>> devices_of(const std::vector<std::string>& names) {
  std::vector<std::uint64_t> devices;
  for (const std::string& name : names) {
    const std::string path = name.starts_with('/') ? name : "/dev/" + name;
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0 || !S_ISBLK(status.st_mode))
      return fail_usage(fmt::format("-dev {}", name), "it is no block device",
                        "`lsblk --paths` lists the block devices there are.");
    devices.push_back(capture::kernel::disk_of(path));
  }
  return devices;
}

Result<void> select_files(const TracingOptions& options, Tracing& tracing) {
  if (options.inode.empty())
    return {};
  const auto node = find_node(options.inode, options.is_directory);
  if (!node)
    return std::unexpected(node.error());
  if (options.is_directory) {
    tracing.request.filter.wanted.folders = {node->path};
    tracing.selection.folder = node->path;
    tracing.selection.folder_inode = node->inode;
  } else {
    tracing.request.filter.wanted.files = {node->path};
    tracing.selection.file = node->path;
  }
  return {};
}

void select_tasks(const TracingOptions& options, capture::RecordingRequest& request) {
  for (const std::string& task : options.tasks)
    request.filter.wanted.names.push_back(task.substr(0, kNameBytes));
  request.command = options.command;
  request.filter.whole_system = options.command.empty() && !request.filter.names_things();
}

std::vector<std::string> filters_text(const TracingOptions& options) {
  std::vector<std::string> words{"-l " + options.levels};
  for (const std::string& task : options.tasks)
    words.push_back("-t " + task);
  if (!options.inode.empty())
    words.push_back(fmt::format("{} -i {}", options.is_directory ? "-d" : "-f", options.inode));
  return words;
}

// Levels without lines, since this machine does not record them.
void warn_of_levels(const cli::Console& console, std::string_view face,
                    const store::TraceReader& trace, const std::string& letters) {
  for (const Level& level : kLevels) {
    if (letters.find(level.letter) == letters.npos)
      continue;
    if (level.event.empty())
      say(console, face,
          "level f has no lines: iotrail's layer fs has allocations and journals, not reads and "
          "writes");
    else if (const store::TableInfo* table = trace.table(level.event); table != nullptr)
      cli::print_if_open(console.err, [&] { cli::print_not_recorded(console.err, trace, *table); });
  }
}

Result<void> print_lines(const cli::Console& console, std::string_view face,
                         const TracingOptions& options, const Tracing& tracing) {
  const auto engine = cli::open_engine(tracing.request.trace);
  if (!engine)
    return std::unexpected(engine.error());
  auto written = cli::write_output(console.out, options.output, [&](std::FILE* file) {
    output::Sink sink(file);
    auto done = output::write_level_lines({.engine = **engine}, tracing.selection, sink);
    return done ? sink.finish() : done;
  });
  if (!written)
    return written;
  warn_of_levels(console, face, (*engine)->trace(), tracing.selection.levels);
  say(console, face,
      fmt::format("the recording is {0}; `iotrail report {0}` shows it",
                  tracing.request.trace.stem().native()));
  return {};
}

int status_of(const capture::ForegroundOutcome& end, bool has_command) {
  if (end.command_status)
    return *end.command_status;
  return has_command ? 128 + end.stop_signal : static_cast<int>(cli::Exit::ok);
}

} // namespace

Result<Tracing> tracing_of(const TracingOptions& options) {
  Tracing tracing;
  auto levels = levels_of(options.levels);
  if (!levels)
    return std::unexpected(levels.error());
  auto devices = devices_of(options.devices);
  if (!devices)
    return std::unexpected(devices.error());
  tracing.selection.levels = std::move(*levels);
  tracing.selection.devices = std::move(*devices);
  // Calls name the files of direct I/O, which has no pages of a file.
  for (const Level& level : kLevels)
    if (level.layer == schema::Layer::syscall ||
        tracing.selection.levels.find(level.letter) != std::string::npos)
      tracing.request.filter.layers.push_back(level.layer);
  if (auto selected = select_files(options, tracing); !selected)
    return std::unexpected(selected.error());
  select_tasks(options, tracing.request);
  if (auto checked = cli::check_conflicts(tracing.request.filter); !checked)
    return std::unexpected(checked.error());
  const auto cpus = static_cast<std::uint64_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
  tracing.request.ring_bytes =
      std::clamp(options.buffer_pages * kPageBytes / cpus, kLeastRing, kMostRing);
  tracing.request.trace = store::new_trace_path({}, "eziotracer");
  return tracing;
}

Result<int> trace(const cli::Console& console, std::string_view face,
                  const TracingOptions& options) {
  if (!options.command.empty())
    if (const auto found = capture::find_command(options.command.front()); !found)
      return std::unexpected(found.error());
  if (auto checked = cli::check_new_file(options.output); !checked)
    return std::unexpected(checked.error());
  const auto tracing = tracing_of(options);
  if (!tracing)
    return std::unexpected(tracing.error());
  capture::RecorderOptions recorder = capture::recorder_options(tracing->request);
  recorder.filters_text = filters_text(options);
  const auto on_begin = [&](const auto&, const auto& refusals) {
    cli::print_if_open(console.err, [&] { cli::print_begin(console.err, false, refusals); });
    if (options.command.empty())
      say(console, face, "tracing started; Ctrl-C ends it");
  };
  const auto end = capture::record_in_foreground(recorder, capture::make_sources(tracing->request),
                                                 on_begin, capture::Until::they_end,
                                                 [&] { cli::print_disk_wait(console.err); });
  if (!end)
    return std::unexpected(end.error());
  if (end->failure)
    return std::unexpected(*end->failure);
  cli::print_if_open(console.err, [&] { cli::print_warnings_of(console.err, end->manifest); });
  if (auto printed = print_lines(console, face, options, *tracing); !printed)
    return std::unexpected(printed.error());
  return status_of(*end, !options.command.empty());
}

} // namespace iotrail::compat::eziotracer
