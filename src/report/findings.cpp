// SPDX-License-Identifier: BSD-3-Clause
#include "report/findings.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "analysis/tables/row_counts.hpp"
#include "base/shell_word.hpp"
#include "report/coverage.hpp"
#include "report/small_result.hpp"
#include "report/warnings.hpp"
#include "value_text.hpp"

namespace iotrail::output {

namespace {

constexpr double kShareThatMatters = 0.01;

// Why the need is not met; empty: it is.
std::string missing_need(const store::TraceReader& trace, std::string_view need) {
  if (need == "calls") {
    std::string why;
    for (const std::string_view layer : analysis::kCallLayers) {
      why = layer_not_recorded(trace, layer);
      if (why.empty())
        return why;
    }
    return why;
  }
  if (const store::TableInfo* table = trace.table(need))
    return event_not_recorded(trace, *table);
  return layer_not_recorded(trace, need);
}

std::string missing_needs(const store::TraceReader& trace, const analysis::Rule& rule) {
  for (const std::string& need : rule.needs)
    if (std::string why = missing_need(trace, need); !why.empty())
      return why;
  return {};
}

Meaning meaning_of(std::string_view column, const analysis::Cell& cell) {
  if (std::holds_alternative<std::string_view>(cell))
    return Meaning::text;
  if (column.ends_with("_ns"))
    return Meaning::ns;
  if (column.ends_with("bytes"))
    return Meaning::bytes;
  if (column.ends_with("share"))
    return Meaning::share;
  if (column.ends_with("ratio"))
    return Meaning::ratio;
  return Meaning::count;
}

struct ToValue {
  Value operator()(std::monostate) const { return {}; }
  Value operator()(std::string_view text) const { return std::string(text); }
  Value operator()(auto number) const { return number; }
};

using NamedValues = std::map<std::string, NamedValue, std::less<>>;

NamedValues values_of(const analysis::Rows& rows) {
  NamedValues values;
  for (std::size_t i = 0; i < rows.columns().size(); ++i) {
    const std::string& name = rows.columns()[i].name;
    const analysis::Cell& cell = rows.row()[i];
    values[name] = {name, std::visit(ToValue{}, cell), meaning_of(name, cell)};
  }
  return values;
}

const Value& value_of(const NamedValues& values, std::string_view name) {
  static const Value unknown;
  const auto found = values.find(name);
  return found == values.end() ? unknown : found->second.value;
}

// The names in braces, in their order.
std::vector<std::string_view> names_in(std::string_view pattern) {
  std::vector<std::string_view> names;
  for (auto at = pattern.find('{'); at != pattern.npos; at = pattern.find('{', at + 1))
    names.push_back(pattern.substr(at + 1, pattern.find('}', at) - at - 1));
  return names;
}

bool is_all_known(std::string_view pattern, const NamedValues& values) {
  return std::ranges::all_of(
      names_in(pattern), [&](std::string_view name) { return is_known(value_of(values, name)); });
}

// Drops each part in brackets that has an unknown value, and the other brackets.
std::string chosen_parts(std::string_view pattern, const NamedValues& values) {
  std::string chosen;
  while (!pattern.empty()) {
    const auto begin = std::min(pattern.find('['), pattern.size());
    chosen += pattern.substr(0, begin);
    pattern.remove_prefix(begin);
    if (pattern.empty())
      break;
    const auto end = std::min(pattern.find(']'), pattern.size() - 1);
    const std::string_view part = pattern.substr(1, end - 1);
    if (is_all_known(part, values))
      chosen += part;
    pattern.remove_prefix(end + 1);
  }
  return chosen;
}

Sentence sentence_of(std::string_view pattern, const NamedValues& values) {
  const std::string chosen = chosen_parts(pattern, values);
  std::vector<NamedValue> named;
  for (const std::string_view name : names_in(chosen))
    if (const auto found = values.find(name);
        found != values.end() &&
        std::ranges::find(named, found->first, &NamedValue::name) == named.end())
      named.push_back(found->second);
  return {chosen, std::move(named)};
}

Finding finding_of(const analysis::Rule& rule, const NamedValues& values) {
  std::string merges = text_of(value_of(values, "merges"));
  return {.rule = &rule,
          .subject = text_of(value_of(values, "subject")),
          .sentence = sentence_of(rule.sentence, values),
          .advice = sentence_of(rule.advice, values),
          .could_save_ns = number_of(value_of(values, "could_save_ns")),
          .op_id = number_of(value_of(values, "op_id")),
          .merges = merges.empty() ? rule.merges : std::move(merges)};
}

// The view of the rule would be planned twice.
Result<void> apply(analysis::Engine& engine, const analysis::Rule& rule,
                   std::vector<Finding>& findings) {
  auto rows = engine.query(analysis::rule_sql(rule, engine.finding_limits()));
  if (!rows)
    return std::unexpected(rows.error());
  while (true) {
    const auto more = rows->next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      return {};
    findings.push_back(finding_of(rule, values_of(*rows)));
  }
}

bool comes_before(const Finding& a, const Finding& b) {
  if (a.rule->severity != b.rule->severity)
    return a.rule->severity < b.rule->severity; // the worst is the first
  if (a.could_save_ns != b.could_save_ns)
    return a.could_save_ns > b.could_save_ns;
  return std::pair(a.rule->id, a.subject) < std::pair(b.rule->id, b.subject);
}

// Findings are in their order, so the most important one of a cause is the first.
std::vector<Finding> merged(std::vector<Finding> findings) {
  std::vector<Finding> kept;
  for (Finding& finding : findings) {
    const std::string& cause = finding.merges;
    const auto same = std::ranges::find_if(
        kept, [&](const Finding& other) { return !cause.empty() && other.merges == cause; });
    if (same == kept.end())
      kept.push_back(std::move(finding));
    else
      same->also.push_back(std::move(finding));
  }
  return kept;
}

Result<std::vector<const analysis::Rule*>> chosen_rules(const std::vector<std::string>& only) {
  std::vector<const analysis::Rule*> chosen;
  for (const analysis::Rule& rule : analysis::finding_rules())
    if (only.empty() || std::ranges::find(only, rule.id) != only.end())
      chosen.push_back(&rule);
  for (const std::string& id : only)
    if (std::ranges::find(chosen, id, &analysis::Rule::id) == chosen.end())
      return fail_usage(fmt::format("--only {}", id), "no rule has this id",
                        "`iotrail query TRACE \"FROM finding_rules\"` lists them.");
  return chosen;
}

Result<std::uint64_t> run_length(analysis::Engine& engine) {
  const auto run = SmallResult::query(engine, "SELECT duration_ns FROM run");
  if (!run)
    return std::unexpected(run.error());
  return run->size() == 0 ? 0 : run->number(0, "duration_ns");
}

bool has_saving(const Finding& finding, const Judgement& judgement) {
  return finding.could_save_ns > 0 && judgement.run_ns > 0;
}

double share_of_run(const Finding& finding, const Judgement& judgement) {
  return static_cast<double>(finding.could_save_ns) / static_cast<double>(judgement.run_ns);
}

Sentence heading_of(const Finding& finding, const Judgement& judgement) {
  const std::string_view severity = analysis::severity_name(finding.rule->severity);
  Sentence heading =
      sentence("{id}, {severity}: {title}",
               {text_value("id", finding.rule->id), text_value("severity", std::string(severity)),
                text_value("title", finding.rule->title)});
  if (has_saving(finding, judgement))
    heading.add("; up to {could_save_ns} of the run ({could_save_share})",
                {ns_value("could_save_ns", finding.could_save_ns),
                 share_value("could_save_share", share_of_run(finding, judgement))});
  return heading;
}

// Commands that show it, each on a line of its own, to be copied.
std::vector<Sentence> evidence_of(const Finding& finding, const std::string& trace) {
  std::vector<Sentence> evidence = {
      command_on(fmt::format("iotrail query {{}} \"FROM finding_{}\"", finding.rule->name), trace)};
  if (finding.op_id != 0)
    evidence.push_back(command_on(
        fmt::format("iotrail explain {{}} --op {}", schema::op_text(finding.op_id)), trace));
  return evidence;
}

Section section_of(const Finding& finding, const Judgement& judgement, const std::string& trace) {
  Section section{.id = finding.rule->id, .title = heading_of(finding, judgement)};
  section.intro.push_back(finding.sentence);
  for (const Finding& also : finding.also)
    section.intro.push_back(also.sentence);
  section.intro.push_back(finding.advice);
  for (Sentence& command : evidence_of(finding, trace))
    section.intro.push_back(std::move(command));
  return section;
}

void add_row(const Finding& finding, const Judgement& judgement, Section& data) {
  const bool is_saving = has_saving(finding, judgement);
  data.rows.push_back(
      {{finding.rule->id, std::string(analysis::severity_name(finding.rule->severity)),
        finding.rule->title, finding.subject, is_saving ? Value(finding.could_save_ns) : Value(),
        is_saving ? Value(share_of_run(finding, judgement)) : Value(),
        fmt::format("finding_{}", finding.rule->name),
        finding.op_id == 0 ? Value() : Value(schema::op_text(finding.op_id)),
        finding.merges.empty() ? Value() : Value(finding.merges)}});
  for (const Finding& also : finding.also)
    add_row(also, judgement, data);
}

} // namespace

Section findings_section(const Judgement& judgement) {
  Section data{.id = "findings"};
  data.columns = {{.name = "id"},
                  {.name = "severity"},
                  {.name = "title"},
                  {.name = "subject"},
                  {.name = "could_save_ns", .meaning = Meaning::ns},
                  {.name = "could_save_share", .meaning = Meaning::share},
                  {.name = "view"},
                  {.name = "op_id"},
                  {.name = "merges"}};
  for (const Finding& finding : judgement.findings)
    add_row(finding, judgement, data);
  data.all_rows = data.rows.size();
  return data;
}

namespace {

Section not_judged_section(const Judgement& judgement, bool is_shown) {
  Section section{.id = "not_judged"};
  section.columns = {{.name = "id", .title = "rule"},
                     {.name = "title", .title = "title"},
                     {.name = "why", .title = "why", .meaning = Meaning::sentence}};
  for (const NotJudged& each : judgement.not_judged)
    section.rows.push_back({{each.rule->id, each.rule->title, each.why}});
  section.all_rows = section.rows.size();
  if (is_shown && !section.rows.empty()) {
    section.title = sentence("Rules that could not be judged");
    section.shown = {0, 1, 2};
  }
  return section;
}

// "9 of 46 rules were not judged: layer fault was not recorded (9)"
Sentence coverage_of(const Judgement& judgement, std::size_t hidden) {
  Sentence coverage =
      sentence("Rules judged: {judged} of {rules}",
               {count_value("judged", judgement.rules - judgement.not_judged.size()),
                count_value("rules", judgement.rules)});
  std::map<std::string, std::uint64_t> reasons;
  for (const NotJudged& each : judgement.not_judged)
    ++reasons[each.why];
  for (const auto& [why, count] : reasons)
    coverage.add("; {why} ({count})", {text_value("why", why), count_value("count", count)});
  coverage.add(".");
  if (hidden > 0)
    coverage.add(" Less important findings: {hidden}; --all shows them.",
                 {count_value("hidden", hidden)});
  return coverage;
}

// `savings`: of the findings shown. The same wait can be a part of several.
Sentence title_of(const Judgement& judgement, std::size_t shown, std::size_t savings,
                  const Completeness& completeness) {
  const bool is_whole = completeness.is_whole();
  if (shown > 0)
    return sentence(is_whole ? "Findings, by the time that they could save"
                             : "Findings in what was recorded, by the time that they could save")
        .add(savings > 1 ? "; savings overlap and do not add up" : "");
  if (judgement.not_judged.size() == judgement.rules)
    return sentence("NOTHING TO JUDGE: the trace lacks what the rules need");
  return sentence(is_whole ? "No rule found a cause"
                           : "No rule found a cause in what was recorded");
}

} // namespace

analysis::EngineOptions findings_engine_options(analysis::EngineOptions options) {
  options.kept_views = {"file_calls", "file_call_parts", "top_devices", "device_causes",
                        "write_fates"};
  return options;
}

Result<Judgement> judge(analysis::Engine& engine, const std::vector<std::string>& only) {
  const auto rules = chosen_rules(only);
  if (!rules)
    return std::unexpected(rules.error());
  Judgement judgement;
  judgement.rules = rules->size();
  const auto run_ns = run_length(engine);
  if (!run_ns)
    return std::unexpected(run_ns.error());
  judgement.run_ns = *run_ns;
  std::vector<Finding> findings;
  const analysis::RowCounts rows_of(engine.trace());
  for (const analysis::Rule* rule : *rules) {
    std::string why = missing_needs(engine.trace(), *rule);
    if (why.empty() && !analysis::has_too_few_rows(*rule, engine.finding_limits(), rows_of))
      if (const auto applied = apply(engine, *rule, findings); !applied) {
        if (applied.error().code == ENOMEM)
          return std::unexpected(applied.error());
        why = applied.error().line();
      }
    engine.progress().step();
    if (!why.empty())
      judgement.not_judged.push_back({rule, std::move(why)});
  }
  std::ranges::stable_sort(findings, comes_before);
  judgement.findings = merged(std::move(findings));
  return judgement;
}

bool matters(const Finding& finding, const Judgement& judgement) {
  if (finding.rule->severity == analysis::FindingSeverity::critical)
    return true;
  if (finding.could_save_ns == 0 || judgement.run_ns == 0)
    return finding.rule->severity == analysis::FindingSeverity::warning;
  return share_of_run(finding, judgement) >= kShareThatMatters;
}

Document findings_document(const store::TraceReader& trace, const Judgement& judgement, bool all) {
  Document document{.trace = trace.path().string()};
  document.sections.push_back(findings_section(judgement));
  std::size_t hidden = 0;
  std::size_t savings = 0;
  for (const Finding& finding : judgement.findings)
    if (all || matters(finding, judgement)) {
      document.sections.push_back(section_of(finding, judgement, trace.path().native()));
      savings += has_saving(finding, judgement) ? 1 : 0;
    } else {
      ++hidden;
    }
  const Completeness completeness = completeness_of(trace);
  document.title = title_of(judgement, document.sections.size() - 1, savings, completeness);
  document.sections.push_back(not_judged_section(judgement, all));
  document.closing.push_back(coverage_of(judgement, hidden));
  document.warnings = answer_warnings(trace);
  if (Sentence losses = losses_sentence(completeness); !losses.empty())
    document.warnings.push_back(std::move(losses));
  return document;
}

} // namespace iotrail::output
