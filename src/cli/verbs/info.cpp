// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/ranges.h>

#include "base/shell_word.hpp"
#include "cli/open_trace.hpp"
#include "cli/print_document.hpp"
#include "cli/trace_facts.hpp"
#include "cli/verb.hpp"
#include "render/text/value_text.hpp"
#include "report/documents/info.hpp"
#include "report/warnings.hpp"

namespace iotrail::cli {
namespace {

// Damage is a failure, so that a script may ask whether a trace is whole.
Result<int> info(const Console& console, const std::string& name, DocumentFormat format) {
  const auto opened = open_trace(name);
  if (!opened)
    return std::unexpected(opened.error());
  const store::TraceReader& trace = **opened;
  trace.read_all();
  const output::Document document = output::make_info(trace, format != DocumentFormat::text);
  if (const Result<void> printed = print_document(console.out, document, format); !printed)
    return std::unexpected(printed.error());
  if (!is_damaged(trace))
    return 0;
  return fail(
      "the trace is not whole",
      fmt::format("{}", fmt::join(output::sentence_texts(output::damage_sentences(trace)), "\n  ")),
      "What is there can be read: iotrail report " + shell_word(trace.path().native()));
}

Action declare_info(CLI::App& app, const Trailing&) {
  auto name = std::make_shared<std::string>("latest");
  auto json = std::make_shared<bool>(false);
  auto wide = std::make_shared<bool>(false);
  app.add_option("trace", *name, kTraceHelp)->type_name("TRACE")->default_str("latest");
  app.add_flag("--json", *json, "All facts as one JSON object, unrounded");
  app.add_flag("--wide", *wide,
               "Also each event and what served it, in whole lines, however wide the terminal is");
  return [name, json, wide](const Console& console) {
    const DocumentFormat text = *wide ? DocumentFormat::wide_text : DocumentFormat::text;
    return info(console, *name, *json ? DocumentFormat::json : text);
  };
}

} // namespace

extern const Verb kVerbInfo = {
    .name = "info",
    .summary = "Show the facts of a trace: machine, filters, counts, losses",
    .group = Group::manage,
    .rank = 1,
    .declare = declare_info,
    .examples = "  iotrail info latest\n"
                "  iotrail info latest --json\n",
};

} // namespace iotrail::cli
