// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "cli/open_trace.hpp"
#include "cli/options/parse_units.hpp"
#include "cli/options/selection.hpp"
#include "cli/print_document.hpp"
#include "cli/verb.hpp"
#include "report/cache/cache_report.hpp"
#include "report/coverage.hpp"

namespace iotrail::cli {
namespace {

struct CacheRequest {
  std::string trace = "latest";
  std::vector<std::string> policies;
  std::vector<std::string> sizes;
  std::string device;
  std::string sample;
  SelectionOptions only;
  bool json = false;
};

constexpr analysis::Policy kOtherPolicies[] = {analysis::Policy::fifo, analysis::Policy::clock,
                                               analysis::Policy::arc, analysis::Policy::s3fifo,
                                               analysis::Policy::lirs};

Result<std::vector<analysis::Policy>> policies_of(const std::vector<std::string>& names) {
  std::vector<analysis::Policy> policies;
  for (const std::string& name : names) {
    if (name == "all")
      return std::vector(std::begin(kOtherPolicies), std::end(kOtherPolicies));
    const auto policy = analysis::policy_of(name);
    if (!policy)
      return fail_usage(fmt::format("--policy: there is no '{}'", name), {},
                        "Policies: " + analysis::policy_names() + ", all.");
    if (*policy != analysis::Policy::lru && std::ranges::find(policies, *policy) == policies.end())
      policies.push_back(*policy);
  }
  return policies;
}

Result<output::CacheOptions> options_of(const CacheRequest& request) {
  output::CacheOptions options{.device = request.device, .selection = selection_text(request.only)};
  auto policies = policies_of(request.policies);
  if (!policies)
    return std::unexpected(policies.error());
  options.policies = std::move(*policies);
  constexpr std::size_t kMostSizes = 64;
  if (request.sizes.size() > kMostSizes)
    return fail_usage(fmt::format("--sizes takes at most {}", kMostSizes));
  constexpr std::uint64_t kMostPercent = 100;
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 42U; // 4 TiB
  for (const std::string& text : request.sizes) {
    if (text.ends_with('%')) {
      const auto percent = parse_count("--sizes", text.substr(0, text.size() - 1));
      if (!percent)
        return std::unexpected(percent.error());
      if (*percent == 0 || *percent > kMostPercent)
        return fail_usage(fmt::format("--sizes {}: from 1 % to 100 % of the working set", text));
      options.shares.push_back(static_cast<double>(*percent) / kMostPercent);
      continue;
    }
    const auto bytes = parse_size("--sizes", text);
    if (!bytes)
      return std::unexpected(bytes.error());
    if (*bytes > kLargest)
      return fail_usage(fmt::format("--sizes {}: a cache has at most 4 TiB", text));
    options.sizes.push_back(*bytes);
  }
  const auto sample = parse_count("--sample", request.sample);
  if (!sample)
    return std::unexpected(sample.error());
  if (*sample != 0)
    options.most_pages = *sample;
  return options;
}

Result<int> cache(const Console& console, const CacheRequest& request) {
  const auto options = options_of(request);
  if (!options)
    return std::unexpected(options.error());
  const auto engine =
      open_engine(request.trace,
                  output::cache_engine_options(
                      {.selection = {.process = request.only.process, .file = request.only.file}}));
  if (!engine)
    return std::unexpected(engine.error());
  if (output::has_sums((*engine)->trace()))
    return fail(fmt::format("{} has sums only, and no single operations", request.trace),
                "`iotrail stat` made it; cache needs a trace of `iotrail record`");
  if (const auto matched = check_matches(**engine, request.only); !matched)
    return std::unexpected(matched.error());
  const auto document = output::make_cache_report(**engine, *options);
  if (!document)
    return std::unexpected(document.error());
  const Result<void> printed = print_document(
      console.out, *document, request.json ? DocumentFormat::json : DocumentFormat::text);
  return printed ? Result<int>(0) : std::unexpected(printed.error());
}

Action declare_cache(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<CacheRequest>();
  app.add_option("trace", request->trace, kTraceHelp)->type_name("TRACE")->default_str("latest");
  app.add_option("--policy", request->policies,
                 "Also these policies of replacement, beside lru: " + analysis::policy_names() +
                     ", all")
      ->type_name("NAME")
      ->delimiter(',')
      ->expected(1)
      ->take_all();
  app.add_option(
         "--sizes", request->sizes,
         "Sizes of the cache: bytes, or parts of the working set (64M,1G,20%); default: halves "
         "of it")
      ->type_name("SIZE")
      ->delimiter(',')
      ->expected(1)
      ->take_all();
  app.add_option("--device", request->device,
                 "A cache in front of this device, for its requests instead of calls; all: each")
      ->type_name("DEVICE");
  declare_subjects(app, request->only);
  app.add_option("--sample", request->sample,
                 "Simulate at most so many distinct pages, a sample of them; default: 4194304, "
                 "fewer with --policy")
      ->type_name("PAGES");
  app.add_flag("--json", request->json, "The curve as one JSON object");
  app.footer("The view page_accesses has what is simulated: the pages of each read and write.");
  return [request](const Console& console) { return cache(console, *request); };
}

} // namespace

extern const Verb kVerbCache = {
    .name = "cache",
    .summary = "Say how large a page cache should be: misses by its size",
    .group = Group::read,
    .rank = 2,
    .declare = declare_cache,
    .examples = "  iotrail cache\n"
                "  iotrail cache my.iotrail --file '*.db' --sizes 16M,64M,256M\n"
                "  iotrail cache my.iotrail --policy all --sizes 5%,10%,20%,50%\n"
                "  iotrail cache my.iotrail --device sda\n",
};

} // namespace iotrail::cli
