// SPDX-License-Identifier: BSD-3-Clause
//
// Tries what `record` would do, without recording: the sources are opened and asked what serves each event.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "capture/kernel/kernel_source.hpp"
#include "capture/sources/sources.hpp"
#include "cli/verb.hpp"
#include "export/json.hpp"
#include "text/text_width.hpp"

namespace iotrail::cli {
namespace {

struct Diagnosis {
  std::string source;
  std::string refusal{}; // empty: the source can be used
  std::vector<store::HookReport> hooks{};
};

// As for a command that iotrail starts; this process stands for it. What is recorded on request only is asked for too.
capture::SourceOptions everything() {
  capture::SourceOptions options;
  options.filter.tree_root = ::getpid();
  for (const schema::LayerInfo& row : schema::kLayers)
    if (row.layer != schema::Layer::dictionary)
      options.filter.layers.push_back(row.layer);
  for (const schema::Event& event : schema::kEvents)
    options.filter.events.emplace_back(event.name);
  return options;
}

Diagnosis diagnose(std::unique_ptr<capture::Source> source) {
  Diagnosis diagnosis{.source = std::string(source->name())};
  const Result<void> opened = source->open(everything());
  diagnosis.hooks = source->hooks();
  if (!opened) {
    diagnosis.refusal = opened.error().message();
    diagnosis.hooks = store::refused(std::move(diagnosis.hooks), opened.error());
  }
  return diagnosis;
}

// Prints rows of three columns. The last column wraps.
class RowPrinter {
public:
  RowPrinter(std::FILE* file, std::size_t width) : file_(file), width_(width) {}

  void row(std::string_view mark, std::string_view name, std::string_view text) const {
    for (const std::string& line : output::wrapped(text, width_ - kIndent)) {
      fmt::print(file_, "{}\n", trimmed(fmt::format("  {:<3} {:<22} {}", mark, name, line)));
      mark = name = {};
    }
  }
  // On one line, cut where it is too long.
  void line(std::string_view mark, std::string_view name, std::string_view text) const {
    row(mark, name,
        width_ == output::kAnyWidth ? std::string(text)
                                    : output::shortened_end(text, width_ - kIndent));
  }
  // Prints one or more sentences, each from the begin of a line.
  void sentence(std::string_view text) const {
    while (!text.empty()) {
      const auto end = std::min(text.find('\n'), text.size());
      print_wrapped(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void heading(std::string_view text) const { fmt::print(file_, "{}\n", text); }

private:
  static constexpr std::size_t kIndent = 29;
  static constexpr std::size_t kSentenceIndent = 6;

  void print_wrapped(std::string_view text) const {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    for (const std::string& line : output::wrapped(text, width_ - kSentenceIndent))
      fmt::print(file_, "      {}\n", line);
  }
  static std::string trimmed(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  }

  std::FILE* file_;
  std::size_t width_;
};

bool is_served(const store::HookReport& hook) {
  return !hook.hook.empty();
}

// A reason without the names of the hooks that were tried: "HOOK: cause; OTHER HOOK: cause".
std::string causes_of(std::string_view reason) {
  std::vector<std::string_view> causes;
  while (!reason.empty()) {
    const std::size_t end = std::min(reason.find("; "), reason.size());
    std::string_view cause = reason.substr(0, end);
    if (const std::size_t colon = cause.find(": "); colon != cause.npos)
      cause.remove_prefix(colon + 2);
    if (std::ranges::find(causes, cause) == causes.end())
      causes.push_back(cause);
    reason.remove_prefix(std::min(end + 2, reason.size()));
  }
  return fmt::format("{}", fmt::join(causes, "; "));
}

// Events that are missing for the same cause, and would come back by the same remedy, are one entry.
void print_missing(const std::vector<store::HookReport>& hooks, const RowPrinter& print) {
  std::map<std::pair<std::string, std::string>, std::vector<const store::HookReport*>> by_cause;
  for (const store::HookReport& hook : hooks)
    if (!is_served(hook))
      by_cause[{hook.remedy, causes_of(hook.reason)}].push_back(&hook);
  for (const auto& [why, missing] : by_cause) {
    const auto& [remedy, causes] = why;
    for (const store::HookReport* hook : missing)
      print.row("NO", hook->event, "");
    print.sentence(fmt::format("why: {}", missing.size() == 1 ? missing.front()->reason : causes));
    if (!remedy.empty())
      print.sentence(fmt::format("to change this: {}", remedy));
  }
}

void print(const Diagnosis& diagnosis, const RowPrinter& print, bool wide) {
  print.heading(fmt::format("source {}: {}", diagnosis.source,
                            diagnosis.refusal.empty() ? "can record" : "cannot record"));
  if (!diagnosis.refusal.empty()) {
    print.sentence(diagnosis.refusal);
    print.heading("");
    return;
  }
  for (const store::HookReport& hook : diagnosis.hooks)
    if (is_served(hook)) {
      print.line("yes", hook.event,
                 hook.tier.empty() ? hook.hook : fmt::format("{:<2} {}", hook.tier, hook.hook));
      if (wide && !hook.reason.empty())
        print.row("", "", hook.reason);
    }
  print_missing(diagnosis.hooks, print);
  print.heading("");
}

nlohmann::json to_json(const Diagnosis& diagnosis) {
  nlohmann::json hooks = nlohmann::json::array();
  for (const store::HookReport& hook : diagnosis.hooks)
    hooks.push_back({{"event", hook.event},
                     {"tier", hook.tier},
                     {"hook", hook.hook},
                     {"reason", hook.reason},
                     {"remedy", hook.remedy}});
  return {{"source", diagnosis.source}, {"refusal", diagnosis.refusal}, {"hooks", hooks}};
}

// Facts are listed for their remedies: what is there already needs no attention.
void print_facts(const std::vector<capture::KernelFact>& facts, const RowPrinter& print) {
  print.heading("this machine");
  for (const capture::KernelFact& fact : facts) {
    print.row(fact.is_met ? "yes" : "NO", fact.name, fact.detail);
    if (!fact.is_met && !fact.remedy.empty())
      print.row("", "", fact.remedy);
  }
  print.heading("");
}

Result<int> doctor(const Console& console, bool json, bool wide) {
  std::vector<Diagnosis> all;
  for (const capture::SourceInfo& source : capture::all_sources())
    if (source.id != IOT_source_snapshot) // needs nothing of the machine
      all.push_back(diagnose(source.make({})));
  const std::vector<capture::KernelFact> facts = capture::kernel_facts();
  if (!json) {
    const RowPrinter rows(console.out.file, wide ? output::kAnyWidth : console.out.width());
    print_facts(facts, rows);
    for (const Diagnosis& diagnosis : all)
      print(diagnosis, rows, wide);
    return 0;
  }
  nlohmann::json printed = {{"facts", nlohmann::json::array()},
                            {"sources", nlohmann::json::array()}};
  for (const capture::KernelFact& fact : facts)
    printed["facts"].push_back({{"name", fact.name},
                                {"is_met", fact.is_met},
                                {"detail", fact.detail},
                                {"remedy", fact.remedy}});
  for (const Diagnosis& diagnosis : all)
    printed["sources"].push_back(to_json(diagnosis));
  fmt::print(console.out.file, "{}\n", output::json_text(printed));
  return 0;
}

Action declare_doctor(CLI::App& app, const Trailing&) {
  auto json = std::make_shared<bool>(false);
  auto wide = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "JSON");
  app.add_flag("--wide", *wide, "Print whole lines, however wide the terminal is");
  return [json, wide](const Console& console) { return doctor(console, *json, *wide); };
}

} // namespace

extern const Verb kVerbDoctor = {
    .name = "doctor",
    .summary = "Show what can be recorded on this machine, and how to enable the rest",
    .group = Group::machine,
    .rank = 0,
    .declare = declare_doctor,
    .examples = "  iotrail doctor\n"
                "  iotrail doctor --json\n",
};

} // namespace iotrail::cli
