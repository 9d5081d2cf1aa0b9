// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "cli/verb.hpp"
#include "store/format/recorder_tags.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::cli {
namespace {

Result<int> tag(const std::string& name, const std::vector<std::string>& tags) {
  auto trace = store::find_trace(name);
  if (!trace)
    return std::unexpected(trace.error());
  for (const std::string& text : tags) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail_usage(fmt::format("'{}' is not of the form NAME=VALUE", text), {},
                        "NAME= removes the tag NAME.");
    if (text.starts_with(store::kRecorderTags))
      return fail_usage(fmt::format("'{}': tags that begin with {} are the recorder's", text,
                                    store::kRecorderTags));
    if (Result<void> tagged =
            store::tag_trace(*trace, text.substr(0, equals), text.substr(equals + 1));
        !tagged)
      return std::unexpected(tagged.error());
  }
  return 0;
}

Action declare_tag(CLI::App& app, const Trailing&) {
  auto name = std::make_shared<std::string>();
  auto tags = std::make_shared<std::vector<std::string>>();
  app.add_option("trace", *name, "Path or name of the trace")->type_name("TRACE")->required();
  app.add_option("tag", *tags, "NAME=VALUE; NAME= removes the tag")
      ->type_name("NAME=VALUE")
      ->required();
  return [name, tags](const Console&) { return tag(*name, *tags); };
}

} // namespace

extern const Verb kVerbTag = {
    .name = "tag",
    .summary = "Add names and values to a trace",
    .group = Group::manage,
    .rank = 2,
    .declare = declare_tag,
    .examples = "  iotrail tag latest case=1 host=db7\n"
                "  iotrail tag latest case=              # removes the tag\n",
};

} // namespace iotrail::cli
