// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/trace_options.hpp"

#include <filesystem>

#include "store/format/manifest.hpp"
#include "store/format/manifest_bounds.hpp"
#include "store/format/recorder_tags.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::cli {

Result<void> check_output(const std::string& output) {
  const std::string name = std::filesystem::path(output).filename().native();
  if (name == store::kLatest)
    return fail_usage(
        fmt::format("-o {}", output),
        "`latest` stands for the newest trace of the repository, so none is called so");
  if (name == "." || name == ".." || (name.empty() && !output.empty()))
    return fail_usage(fmt::format("-o {}", output), "this is a directory, not the name of a trace");
  std::error_code ignored;
  if (std::filesystem::is_other(output, ignored)) // "-o /dev/null"
    return fail_usage(fmt::format("-o {}", output),
                      "a trace is a directory, and this is a device, a FIFO or a socket",
                      "`iotrail stat` adds events up and records none.");
  return {};
}

void declare_no_arguments(CLI::App& app, bool& dropped) {
  app.add_flag("--no-arguments", dropped,
               "Keep only the programs of command lines: their arguments may hold passwords");
}

Result<std::map<std::string, std::string>> parse_tags(const std::vector<std::string>& tags) {
  std::map<std::string, std::string> parsed;
  for (const std::string& tag : tags) {
    const auto equals = tag.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail_usage(fmt::format("--tag {}: not of the form NAME=VALUE", tag));
    if (tag.starts_with(store::kRecorderTags))
      return fail_usage(fmt::format("--tag {}: tags that begin with {} are the recorder's", tag,
                                    store::kRecorderTags));
    parsed[tag.substr(0, equals)] = tag.substr(equals + 1);
  }
  constexpr std::size_t kMost = store::Manifest::kNamesMax - store::kRecorderTagsMost;
  if (parsed.size() > kMost)
    return fail_usage(fmt::format("--tag: {} tags", parsed.size()),
                      fmt::format("a recording takes at most {}", kMost));
  std::size_t bytes = 0;
  for (const auto& [name, value] : parsed)
    bytes += store::json_bytes(name) + store::json_bytes(value);
  if (bytes > store::kTagBytesMax)
    return fail_usage("--tag: the tags are too long together",
                      fmt::format("a trace takes {} bytes of them", store::kTagBytesMax));
  return parsed;
}

} // namespace iotrail::cli
