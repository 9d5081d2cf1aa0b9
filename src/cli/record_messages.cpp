// SPDX-License-Identifier: BSD-3-Clause
#include "cli/record_messages.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shell_word.hpp"
#include "capture/preload/collector/preload_source.hpp"
#include "capture/selection/block_device.hpp"
#include "capture/session/command.hpp"
#include "capture/session/machine/loop_devices.hpp"
#include "cli/messages.hpp"
#include "render/text/value_text.hpp"
#include "report/documents/recording.hpp"
#include "text/printable.hpp"

namespace iotrail::cli {

void warn_of_blocker(const Stream& err, const std::vector<std::string>& command) {
  const auto file = capture::find_command(command.front());
  if (!file)
    return;
  if (const std::string why = capture::preload_blocker_text(*file, command); !why.empty())
    print_message(
        err,
        fmt::format("iotrail: the app layer will not see {}: {}. The kernel's layers record it.",
                    output::printable(command.front()), why));
}

void warn_of_loop_devices(const Stream& err, const capture::Filter& filter, bool has_command) {
  if (!has_command && !filter.names_tasks())
    return;
  for (const std::string& device : filter.wanted.devices) {
    const std::string path = device.contains('/') ? device : "/dev/" + device;
    std::vector<std::string> loops = capture::loop_devices_on(capture::kernel::disk_of(path));
    std::erase_if(loops, [&](const std::string& loop) {
      return std::ranges::any_of(filter.wanted.devices, [&](const std::string& named) {
        return named == loop || named == "/dev/" + loop;
      });
    });
    if (loops.empty())
      continue;
    print_message(err, fmt::format("iotrail: {} has the files of {}. Kernel threads do their I/O "
                                   "on it, which is not part of a recording of tasks. Name them "
                                   "too: {}; or record all of {}, without a command or -p.",
                                   output::printable(device), fmt::join(loops, ", "),
                                   fmt::format("--device {}", fmt::join(loops, " --device ")),
                                   output::printable(device)));
  }
}

// Some errors name the source themselves.
static std::string refusal_text(const capture::UnavailableSource& refusal) {
  const std::string source = fmt::format("the {} source", refusal.source);
  const std::string why = output::printable_message(refusal.error);
  return why.starts_with(source) ? why : fmt::format("{} cannot be used: {}", source, why);
}

void print_begin(const Stream& err, bool is_endless,
                 const std::vector<capture::UnavailableSource>& refusals) {
  for (const capture::UnavailableSource& refusal : refusals)
    print_message(err, "iotrail: " + refusal_text(refusal));
  if (is_endless)
    fmt::print(err.file, "iotrail: recording; interrupt (Ctrl-C) to end\n");
}

void print_warnings_of(const Stream& err, const store::Manifest& manifest) {
  for (const output::Sentence& warning : output::recording_warnings(manifest))
    print_message(err, fmt::format("iotrail: {}", output::sentence_text(warning)), err.width());
}

void print_failure(const Stream& err, const Error& failure) {
  print_message(err, fmt::format("iotrail: {}", output::printable_message(failure)));
}

void print_disk_wait(const Stream& err) {
  print_if_open(err, [&] {
    print_message(err, "iotrail: waiting for the disk of the trace. Ctrl-C ends iotrail at once; "
                       "the trace then lacks its end.");
  });
}

} // namespace iotrail::cli
