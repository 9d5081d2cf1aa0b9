// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "cli/open_trace.hpp"
#include "cli/verb.hpp"
#include "report/trail_text.hpp"

namespace iotrail::cli {
namespace {

constexpr int kDoesNotAddUp = 1;

Result<int> verify(const Console& console, const std::string& trace) {
  const auto engine = open_engine(trace);
  if (!engine)
    return std::unexpected(engine.error());
  const auto adds_up = output::write_verification(**engine, console.out.width(), console.out.file);
  if (!adds_up)
    return std::unexpected(adds_up.error());
  return *adds_up ? 0 : kDoesNotAddUp;
}

Action declare_verify(CLI::App& app, const Trailing&) {
  auto trace = std::make_shared<std::string>();
  app.add_option("trace", *trace, kTraceHelp)->required();
  app.footer(
      "Exit status: 0, everything adds up, with what was lost and counted; 1, something does not, "
      "or cannot be checked: the recording has no end or failed, or events may be missing that "
      "were not counted.");
  return [trace](const Console& console) { return verify(console, *trace); };
}

} // namespace

extern const Verb kVerbVerify = {
    "verify", "Check that all events and all bytes of the devices are accounted for", Group::read,
    2, declare_verify};

} // namespace iotrail::cli
