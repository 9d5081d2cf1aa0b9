// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "cli/open_trace.hpp"
#include "cli/print_document.hpp"
#include "cli/verb.hpp"
#include "report/verify/verify.hpp"

namespace iotrail::cli {
namespace {

constexpr int kDoesNotAddUp = 1;

Result<int> verify(const Console& console, const std::string& trace, bool json) {
  const auto engine = open_engine(trace);
  if (!engine)
    return std::unexpected(engine.error());
  const auto verification = output::make_verification(**engine);
  if (!verification)
    return std::unexpected(verification.error());
  const Result<void> printed = print_document(console.out, verification->document,
                                              json ? DocumentFormat::json : DocumentFormat::text);
  if (!printed)
    return std::unexpected(printed.error());
  return verification->is_clean ? 0 : kDoesNotAddUp;
}

Action declare_verify(CLI::App& app, const Trailing&) {
  auto trace = std::make_shared<std::string>("latest");
  auto json = std::make_shared<bool>(false);
  app.add_option("trace", *trace, kTraceHelp)->type_name("TRACE")->default_str("latest");
  app.add_flag("--json", *json, "The tables and the verdict as one JSON object");
  app.footer(
      "Exit status: 0, everything adds up, with what was lost and counted; 1, something does not, "
      "or cannot be checked: the recording has no end or failed, or events may be missing that "
      "were not counted.");
  return [trace, json](const Console& console) { return verify(console, *trace, *json); };
}

constexpr ExitStatus kVerifyStatuses[] = {
    {0, "Everything adds up."},
    {kDoesNotAddUp, "Something does not add up or cannot be checked, or the operation failed."}};

} // namespace

extern const Verb kVerbVerify = {
    .name = "verify",
    .summary = "Check that all events and all bytes of the devices are accounted for",
    .group = Group::read,
    .rank = 2,
    .declare = declare_verify,
    .examples = "  iotrail verify latest\n",
    .statuses = kVerifyStatuses,
};

} // namespace iotrail::cli
