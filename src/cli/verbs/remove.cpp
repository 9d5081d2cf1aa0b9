// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "cli/verb.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::cli {
namespace {

Result<int> remove(const std::vector<std::string>& names, bool force) {
  for (const std::string& name : names) {
    auto trace = store::find_trace(name);
    if (!trace)
      return std::unexpected(trace.error());
    if (Result<void> removed = store::remove_trace(*trace, force); !removed)
      return std::unexpected(removed.error());
  }
  return 0;
}

Action declare_remove(CLI::App& app, const Trailing&) {
  auto names = std::make_shared<std::vector<std::string>>();
  auto force = std::make_shared<bool>(false);
  app.add_option("trace", *names, "Paths or names of traces")->type_name("TRACE")->required();
  app.add_flag("-f,--force", *force, "Remove also a trace that is being recorded");
  return [names, force](const Console&) { return remove(*names, *force); };
}

} // namespace

extern const Verb kVerbRemove = {
    .name = "remove",
    .summary = "Delete traces",
    .group = Group::manage,
    .rank = 3,
    .declare = declare_remove,
    .examples = "  iotrail remove build-20260301-123456\n",
};

} // namespace iotrail::cli
