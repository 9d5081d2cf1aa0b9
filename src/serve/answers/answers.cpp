// SPDX-License-Identifier: BSD-3-Clause
#include "serve/answers/answers.hpp"

#include <utility>

#include "reference/sql_reference.hpp"
#include "render/html/data.hpp"
#include "render/html/html.hpp"
#include "render/html/picture_data.hpp"
#include "render/text/text.hpp"
#include "report/answer/first_screen.hpp"
#include "report/coverage.hpp"
#include "report/explain/explain.hpp"
#include "report/findings.hpp"
#include "report/page/page.hpp"
#include "report/report.hpp"
#include "report/snapshot_report.hpp"
#include "report/stat.hpp"
#include "serve/answers/open_engine.hpp"

namespace iotrail::serve {

namespace {

constexpr std::size_t kTextWidth = 100; // columns of a report

// 1500000000 -> "1.5s"
std::string seconds_text(std::uint64_t ns) {
  std::string text = fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
  text.resize(text.find_last_not_of('0') + 1);
  return text + (text.ends_with('.') ? "0s" : "s");
}

analysis::EngineOptions options_of(const Part& part) {
  return output::findings_engine_options(
      {.selection = {part.since_ns, part.until_ns, part.process, part.file}});
}

template <class Make> // Result<Document>(Engine&)
Result<std::string> document_text(const TracePath& trace, const Limits& limits,
                                  analysis::EngineOptions options, const Make& make) {
  const auto engine = open_engine(trace, limits, std::move(options));
  if (!engine)
    return std::unexpected(engine.error());
  Result<output::Document> document = make(**engine);
  if (!document)
    return std::unexpected(document.error());
  if (!document->all_columns.empty())
    document->all_columns = "query"; // options are of the command line
  std::string text;
  output::Sink sink(text);
  output::render_text(*document, sink, kTextWidth);
  (void)sink.finish(); // a string cannot fail
  return text;
}

Result<output::Page> page_of(const TracePath& trace, const Part& part, const Limits& limits) {
  const auto engine = open_engine(trace, limits, options_of(part));
  if (!engine)
    return std::unexpected(engine.error());
  return output::make_page(**engine, {.selection = part.words()});
}

Result<output::Document> first_screen(analysis::Engine& engine, const Part& part) {
  const auto judgement = output::judge(engine);
  if (!judgement)
    return std::unexpected(judgement.error());
  return output::make_first_screen(engine, part.words(), *judgement);
}

} // namespace

std::string Part::words() const {
  std::string text;
  const auto add = [&](std::string_view option, std::string_view value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", option, value);
  };
  if (!process.empty())
    add("--process", process);
  if (!file.empty())
    add("--file", file);
  if (since_ns != 0)
    add("--since", seconds_text(since_ns));
  if (until_ns != 0)
    add("--until", seconds_text(until_ns));
  return text;
}

Result<std::unique_ptr<analysis::Engine>> open_engine(const TracePath& trace, const Limits& limits,
                                                      analysis::EngineOptions options) {
  options.memory_bytes = limits.memory_bytes;
  auto engine = analysis::Engine::open(trace, options);
  if (engine && limits.on_overdue)
    (*engine)->set_on_overdue(limits.on_overdue);
  return engine;
}

Result<std::string> page_html(const TracePath& trace, const Part& part, bool is_running,
                              const Limits& limits) {
  const auto page = page_of(trace, part, limits);
  if (!page)
    return std::unexpected(page.error());
  std::string html;
  output::Sink sink(html);
  output::render_html(*page, sink, is_running ? output::PageUse::running : output::PageUse::served);
  (void)sink.finish();
  return html;
}

Result<std::string> page_json(const TracePath& trace, const Part& part, const Limits& limits) {
  const auto page = page_of(trace, part, limits);
  return page ? Result<std::string>(output::page_data(*page)) : std::unexpected(page.error());
}

Result<std::string> pictures_json(const TracePath& trace, const Part& part, const Limits& limits) {
  const auto engine = open_engine(trace, limits, options_of(part));
  if (!engine)
    return std::unexpected(engine.error());
  std::string json;
  output::Sink sink(json);
  output::put_pictures(sink, output::make_pictures(**engine));
  (void)sink.finish();
  return json;
}

Result<std::string> report_text(const TracePath& trace, const Part& part, bool is_full,
                                const Limits& limits) {
  return document_text(trace, limits, options_of(part), [&](analysis::Engine& engine) {
    if (output::has_sums(engine.trace()))
      return output::make_stat(engine, {});
    if (output::is_of_snapshots(engine.trace()))
      return output::make_snapshot_report(engine, {});
    return is_full ? output::make_report(engine, {.selection = part.words()})
                   : first_screen(engine, part);
  });
}

Result<std::string> findings_text(const TracePath& trace, bool all, const Limits& limits) {
  return document_text(trace, limits, output::findings_engine_options(),
                       [&](analysis::Engine& engine) -> Result<output::Document> {
                         const auto judgement = output::judge(engine);
                         if (!judgement)
                           return std::unexpected(judgement.error());
                         return output::findings_document(engine.trace(), *judgement, all);
                       });
}

Result<std::string> explain_text(const TracePath& trace, const ExplainRequest& request,
                                 const Part& part, const Limits& limits) {
  output::ExplainOptions options{.slowest = request.slowest,
                                 .since_ns = part.since_ns,
                                 .until_ns = part.until_ns,
                                 .op = request.op,
                                 .selection = part.words()};
  if (!request.operation.empty())
    options.operations.push_back(request.operation);
  return document_text(
      trace, limits, {.selection = {.process = part.process, .file = part.file}},
      [&](analysis::Engine& engine) { return output::make_explanation(engine, options); });
}

Result<std::string> schema_text(const TracePath& trace, const std::string& name,
                                const Limits& limits) {
  const auto engine = open_engine(trace, limits, {});
  if (!engine)
    return std::unexpected(engine.error());
  std::string text;
  output::Sink sink(text);
  const auto printed = name.empty() ? output::print_relations(**engine, sink, kTextWidth)
                                    : output::print_relation(**engine, name, sink, kTextWidth);
  if (!printed)
    return std::unexpected(printed.error());
  (void)sink.finish();
  return text;
}

} // namespace iotrail::serve
