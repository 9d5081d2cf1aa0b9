// SPDX-License-Identifier: BSD-3-Clause
#include "report/cache/cache_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analysis/cache/miss_curve.hpp"
#include "report/coverage.hpp"
#include "report/warnings.hpp"

namespace iotrail::output {

namespace {

using analysis::CacheExperiment;
using analysis::Misses;
using analysis::Policy;

constexpr double kEnough = 0.95;                        // of what any size could serve
constexpr double kLittle = 0.1;                         // of all accesses
constexpr double kMilestones[] = {0.5, 0.9, 0.95, 1.0}; // the same, for the facts
constexpr std::size_t kRows = 11;
constexpr double kMostSampledAccesses = 20e6; // of LRU, about ten seconds
constexpr std::uint64_t kBar = 1000;
constexpr std::uint64_t kMostPages = 4U << 20U; // in about 200 MiB, if LRU alone is simulated

// The simulation. Shares count reads, or writes if there are no reads.
struct Study {
  const CacheExperiment& experiment;
  PageTally tally;
  analysis::PageSample sample;
  std::uint64_t pages;              // distinct
  std::vector<std::uint64_t> sizes; // in pages

  bool has_reads() const { return experiment.reads() > 0; }
  double accesses() const {
    return static_cast<double>(has_reads() ? experiment.reads() : experiment.accesses());
  }
  double of(const Misses& misses) const { return has_reads() ? misses.reads : misses.all; }
  double misses(std::uint64_t size) const { return of(experiment.lru_misses(size)); }
  double share(double misses) const { return misses / std::max(1.0, accesses()); }
  double first() const { return misses(UINT64_MAX / 2); } // which no size serves
  double repeated() const { return accesses() - first(); }
  std::string_view things() const { return has_reads() ? "page reads" : "page writes"; }
};

std::uint64_t bytes_of(std::uint64_t pages) {
  return pages * kCachePageBytes;
}

// The smallest cache that serves the share of the repeated accesses.
std::uint64_t size_for(const Study& study, double share) {
  const double wanted = study.accesses() - share * study.repeated();
  std::uint64_t low = 1;
  std::uint64_t high = std::max<std::uint64_t>(1, study.pages) * 2; // of a sample, an estimate
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (study.misses(middle) <= wanted + 1e-6 * study.accesses())
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// Halves of the working set, the smallest first.
std::vector<std::uint64_t> default_sizes(std::uint64_t pages) {
  std::vector<std::uint64_t> sizes;
  std::uint64_t size = 1;
  while (size < pages)
    size *= 2;
  for (; size > 0 && sizes.size() < kRows; size /= 2)
    sizes.push_back(size);
  std::ranges::reverse(sizes);
  return sizes;
}

std::vector<std::uint64_t> sizes_of(const CacheOptions& options, std::uint64_t pages) {
  if (options.sizes.empty() && options.shares.empty())
    return default_sizes(pages);
  std::vector<std::uint64_t> sizes;
  for (const double share : options.shares)
    sizes.push_back(std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::llround(share * static_cast<double>(pages)))));
  for (const std::uint64_t bytes : options.sizes)
    sizes.push_back(std::max<std::uint64_t>(1, bytes / kCachePageBytes));
  std::ranges::sort(sizes);
  sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
  return sizes;
}

// Of a trace that is not whole, other accesses may touch the pages again, and need more.
Sentence title_of(const Study& study, bool is_whole) {
  if (study.repeated() < 0.5)
    return sentence(
        fmt::format("{}: none of {{accesses}} {}{} is of a page that was touched before",
                    is_whole ? "NO SIZE OF A CACHE HELPS" : "NO SURE ANSWER, EVENTS ARE MISSING",
                    is_whole ? "" : "recorded ", study.things()),
        {count_value("accesses", static_cast<std::uint64_t>(study.accesses()))});
  if (is_whole && study.share(study.repeated()) < kLittle)
    return sentence(
        fmt::format(
            "A CACHE HELPS LITTLE: {{repeated_share}} of {{accesses}} {} are of a page that "
            "was touched before; for {{share}} of those it takes {{size}}",
            study.things()),
        {share_value("repeated_share", study.share(study.repeated())),
         count_value("accesses", static_cast<std::uint64_t>(study.accesses())),
         share_value("share", kEnough), bytes_value("size", bytes_of(size_for(study, kEnough)))});
  return sentence(
      fmt::format(
          "A CACHE OF {}{{size}} SERVES {{share}} OF THE REPEATED {}{}; all of them need {}{{all}}",
          is_whole ? "" : "AT LEAST ", study.has_reads() ? "READS" : "WRITES",
          is_whole ? "" : " THAT WERE RECORDED", is_whole ? "" : "at least "),
      {bytes_value("size", bytes_of(size_for(study, kEnough))), share_value("share", kEnough),
       bytes_value("all", bytes_of(size_for(study, 1)))});
}

std::string_view things_name(const Study& study, const CacheOptions& options) {
  if (options.device.empty())
    return study.tally.things == 1 ? "file" : "files";
  return study.tally.things == 1 ? "device" : "devices";
}

std::vector<Fact> facts_of(const Study& study, const CacheOptions& options) {
  std::vector<Fact> facts;
  if (!options.selection.empty())
    facts.push_back({"only", only({"selection", options.selection, Meaning::command})});
  facts.push_back(
      {"touched",
       sentence(
           fmt::format(
               "{}{{pages}} pages of 4 KiB in {{things}} {}, {{bytes}}: by {{reads}} page reads "
               "and {{writes}} page writes",
               study.sample.is_all() ? "" : "about ", things_name(study, options)),
           {count_value("pages", study.pages), count_value("things", study.tally.things),
            bytes_value("bytes", bytes_of(study.pages)),
            count_value("reads", study.experiment.reads()),
            count_value("writes", study.experiment.accesses() - study.experiment.reads())})});
  const double first = study.first();
  facts.push_back(
      {"first",
       sentence(fmt::format("{{first}} {} ({{share}}) are the first of their page: no "
                            "cache serves them, but reading ahead may",
                            study.things()),
                {{"first", first, Meaning::count}, share_value("share", study.share(first))})});
  if (study.repeated() < 0.5)
    return facts;
  Sentence sizes;
  for (const double share : kMilestones)
    sizes.add(sizes.empty() ? "{share} of the repeated ones: {size}" : ", {share}: {size}",
              {share_value("share", share), bytes_value("size", bytes_of(size_for(study, share)))});
  facts.push_back({"needed", std::move(sizes)});
  return facts;
}

Column share_column(std::string name, std::string title) {
  return {.name = std::move(name), .title = std::move(title), .meaning = Meaning::share};
}

std::vector<Column> columns_of(const Study& study, const CacheOptions& options) {
  std::vector<Column> columns = {
      {.name = "size_bytes", .title = "cache", .meaning = Meaning::bytes},
      {.name = "misses",
       .title = study.has_reads() ? "reads missed" : "writes missed",
       .meaning = Meaning::count},
      share_column("miss_share", options.policies.empty() ? "missed" : "lru"),
      {.name = "_curve", .title = "", .meaning = Meaning::spans, .drop_priority = 1},
      share_column("miss_error", "+-"),
      {.name = "all_misses", .meaning = Meaning::count}};
  columns[4].omit = Omit::if_zero;
  for (const Policy policy : options.policies)
    columns.push_back(share_column(fmt::format("{}_miss_share", analysis::policy_name(policy)),
                                   std::string(analysis::policy_name(policy))));
  return columns;
}

Section curve_section(const Study& study, const CacheOptions& options) {
  Section section{.id = "sizes",
                  .title = sentence(fmt::format("Missed {} by size of the cache", study.things())),
                  .view = options.device.empty() ? "page_accesses" : "requests"};
  section.columns = columns_of(study, options);
  section.shown = {0, 1, 2, 3, 4};
  for (std::size_t i = 6; i < section.columns.size(); ++i)
    section.shown.push_back(i);
  for (const std::uint64_t size : study.sizes) {
    const Misses lru = study.experiment.lru_misses(size);
    const double share = study.share(study.of(lru));
    Spans bar{.whole = {0, kBar}, .parts = {}};
    if (share > 0)
      bar.parts = {{0, static_cast<std::uint64_t>(std::llround(share * kBar))}};
    Row row{{bytes_of(size), static_cast<std::uint64_t>(std::llround(study.of(lru))), share, bar,
             std::min(1.0, study.of(study.experiment.lru_error(size))),
             static_cast<std::uint64_t>(std::llround(lru.all))}};
    for (const Policy policy : options.policies)
      row.values.emplace_back(
          study.share(study.of(study.experiment.misses(policy, size).value_or(Misses{}))));
    section.rows.push_back(std::move(row));
  }
  section.all_rows = section.rows.size();
  if (study.sample.is_all()) {
    section.notes.push_back(sentence("exact for these accesses; writes also fill the cache"));
  } else {
    section.notes.push_back(sentence("from a sample of {share} of the pages",
                                     {share_value("share", study.sample.share())}));
    section.notes.push_back(
        sentence("+-: half the range that has the truth of lru with 95 % confidence"));
  }
  if (options.device.empty())
    section.notes.push_back(
        sentence("accesses to mapped files are missing; direct I/O counts as if it were cached"));
  return section;
}

std::vector<Sentence> warnings_of(const store::TraceReader& trace, const Study& study,
                                  const CacheOptions& options) {
  std::vector<Sentence> warnings = answer_warnings(trace);
  if (Sentence losses = losses_sentence(completeness_of(trace)); !losses.empty())
    warnings.push_back(std::move(losses));
  const std::string things = options.device.empty() ? "calls" : "requests";
  if (study.tally.impossible > 0)
    warnings.push_back(
        sentence(fmt::format("Left out: {{impossible}} {} with impossible positions or "
                             "sizes.",
                             things),
                 {count_value("impossible", study.tally.impossible)}));
  if (study.tally.calls_left_out > 0)
    warnings.push_back(sentence(
        fmt::format(
            "ENDED EARLY: the last {{left_out}} of {{all}} {} touch more pages than iotrail "
            "simulates.",
            things),
        {count_value("left_out", study.tally.calls_left_out),
         count_value("all", study.tally.calls_left_out + study.tally.calls)}));
  return warnings;
}

// With very many accesses, a smaller sample, so that it takes seconds.
analysis::PageSample sample_for(const analysis::PageCounter& counter) {
  analysis::PageSample sample = counter.sample();
  while (static_cast<double>(counter.accesses()) * sample.share() > kMostSampledAccesses)
    sample.halve();
  return sample;
}

// A simulator takes twice the memory of the distances, at each size. The default sizes are halves,
// which are two of the largest together.
std::uint64_t most_pages(const CacheOptions& options) {
  if (options.most_pages != 0)
    return options.most_pages;
  const std::uint64_t given = options.sizes.size() + options.shares.size();
  const std::uint64_t sizes = given == 0 ? 2 : given;
  return kMostPages / (1 + 2 * sizes * options.policies.size());
}

} // namespace

Result<Document> make_cache_report(analysis::Engine& engine, const CacheOptions& options) {
  PageSequence sequence(engine, options.device);
  analysis::PageCounter counter(most_pages(options));
  const auto counted = sequence.read([&](analysis::Page page, bool) { counter.access(page); });
  if (!counted)
    return std::unexpected(counted.error());
  if (counter.accesses() == 0)
    return options.device.empty()
               ? fail("the trace has no read or write of a file at a known position",
                      "it needs layer syscall, vfs or app")
               : fail(fmt::format("the trace has no read or write of device {}", options.device),
                      layer_not_recorded(engine.trace(), "block"),
                      "`iotrail report --by device` lists the devices of a trace.");
  const analysis::PageSample sample = sample_for(counter);
  const std::vector<std::uint64_t> sizes = sizes_of(options, counter.pages());
  CacheExperiment experiment({.sample = sample, .sizes = sizes, .policies = options.policies});
  const auto tally =
      sequence.read([&](analysis::Page page, bool is_read) { experiment.access(page, is_read); });
  if (!tally)
    return std::unexpected(tally.error());
  const Study study{experiment, *tally, sample, counter.pages(), sizes};
  Document document{.trace = engine.trace().path().string(),
                    .title = title_of(study, completeness_of(engine.trace()).is_whole()),
                    .facts = facts_of(study, options),
                    .warnings = warnings_of(engine.trace(), study, options)};
  document.sections.push_back(curve_section(study, options));
  return document;
}

} // namespace iotrail::output
