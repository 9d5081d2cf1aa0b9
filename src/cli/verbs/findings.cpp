// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/open_trace.hpp"
#include "cli/print_document.hpp"
#include "cli/progress_bar.hpp"
#include "cli/verb.hpp"
#include "report/findings.hpp"

namespace iotrail::cli {
namespace {

constexpr int kFindingFails = 3; // status with --fail-on

struct FindingsRequest {
  std::string trace = "latest";
  std::vector<std::string> only;
  std::vector<std::string> limits;
  std::string fail_on;
  bool all = false;
  bool json = false;
};

bool fails(const output::Judgement& judgement, const std::string& fail_on) {
  if (fail_on.empty())
    return false;
  return std::ranges::any_of(judgement.findings, [&](const output::Finding& finding) {
    const bool is_critical = finding.rule->severity == analysis::FindingSeverity::critical;
    return is_critical ||
           (fail_on == "warning" && finding.rule->severity == analysis::FindingSeverity::warning &&
            output::matters(finding, judgement));
  });
}

Result<int> findings(const Console& console, const FindingsRequest& request) {
  analysis::EngineOptions options;
  for (const std::string& limit : request.limits)
    if (const auto added = analysis::add_limit(limit, options.finding_limits); !added)
      return std::unexpected(added.error());
  const auto engine =
      open_engine(request.trace, output::findings_engine_options(std::move(options)));
  if (!engine)
    return std::unexpected(engine.error());
  const auto judgement =
      with_progress_bar(console.err, (*engine)->progress(), analysis::finding_rules().size(),
                        [&] { return output::judge(**engine, request.only); });
  if (!judgement)
    return std::unexpected(judgement.error());
  const Result<void> printed = print_document(
      console.out, output::findings_document((*engine)->trace(), *judgement, request.all),
      request.json ? DocumentFormat::json : DocumentFormat::text);
  if (!printed)
    return std::unexpected(printed.error());
  return fails(*judgement, request.fail_on) ? kFindingFails : 0;
}

Action declare_findings(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<FindingsRequest>();
  app.add_option("trace", request->trace, kTraceHelp)->type_name("TRACE")->default_str("latest");
  app.add_flag("--all", request->all,
               "Also findings that hardly matter, and why rules were not judged");
  app.add_option("--only", request->only, "Only this rule, such as F01; may be repeated")
      ->type_name("RULE")
      ->delimiter(',');
  app.add_option("--limit", request->limits,
                 "Change a limit of a rule, such as F01.calls=500; may be repeated")
      ->type_name("LIMIT=VALUE");
  app.add_option("--fail-on", request->fail_on,
                 "Exit with status 3 if there is such a finding, or a worse one: warning or "
                 "critical. Losses and layers that were not recorded never fail")
      ->type_name("SEVERITY")
      ->check(CLI::IsMember({"warning", "critical"}).description(""));
  app.add_flag("--json", request->json, "The findings as one JSON object");
  app.footer("Each finding is also a view: iotrail query TRACE \"FROM finding_tiny_writes\". "
             "finding_rules and finding_limits list the rules and their limits.");
  return [request](const Console& console) { return findings(console, *request); };
}

constexpr ExitStatus kFindingsStatuses[] = {
    {kFindingFails, "With --fail-on: there is such a finding."}};

} // namespace

extern const Verb kVerbFindings = {
    .name = "findings",
    .summary = "Say what slows the I/O, and what to do about it",
    .group = Group::read,
    .rank = 0,
    .declare = declare_findings,
    .examples = "  iotrail findings\n"
                "  iotrail findings my.iotrail --all --limit F01.calls=500\n"
                "  iotrail findings my.iotrail --fail-on warning\n",
    .statuses = kFindingsStatuses,
};

} // namespace iotrail::cli
