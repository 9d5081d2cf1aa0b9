// SPDX-License-Identifier: BSD-3-Clause
//
// Tries what `record` would do, without recording: the sources are opened and asked what serves each event.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include <nlohmann/json.hpp>

#include "capture/kernel/kernel_source.hpp"
#include "capture/preload/preload_source.hpp"
#include "cli/commands.hpp"

namespace iotrail::cli {
namespace {

struct Diagnosis {
  std::string source;
  std::string refusal{}; // empty: the source can be used
  std::vector<store::HookReport> hooks{};
};

// As for a command that iotrail starts; this process stands for it.
capture::SourceOptions everything() {
  capture::SourceOptions options;
  options.filter.tree_root = ::getpid();
  for (const schema::LayerInfo& row : schema::kLayers)
    if (row.layer != schema::Layer::dictionary)
      options.filter.layers.push_back(row.layer);
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

void print_hook(const store::HookReport& hook) {
  const bool served = !hook.hook.empty();
  fmt::print("  {:<3} {:<24}{:<3}{}\n", served ? "yes" : "NO", hook.event, hook.tier,
             served ? hook.hook : hook.reason);
  if (served && !hook.reason.empty())
    fmt::print("      {:<27}{}\n", "", hook.reason);
  if (!hook.remedy.empty())
    fmt::print("      {:<27}{}\n", "", hook.remedy);
}

void print(const Diagnosis& diagnosis) {
  fmt::print("source {}: {}\n", diagnosis.source,
             diagnosis.refusal.empty() ? "can record" : "cannot record: " + diagnosis.refusal);
  for (const store::HookReport& hook : diagnosis.hooks)
    print_hook(hook);
  fmt::print("\n");
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
void print_facts(const std::vector<capture::KernelFact>& facts) {
  fmt::print("this machine\n");
  for (const capture::KernelFact& fact : facts) {
    fmt::print("  {:<3} {:<24}{}\n", fact.is_met ? "yes" : "NO", fact.name, fact.detail);
    if (!fact.is_met && !fact.remedy.empty())
      fmt::print("      {:<24}{}\n", "", fact.remedy);
  }
  fmt::print("\n");
}

Result<int> doctor(bool json) {
  const Diagnosis all[] = {diagnose(capture::make_preload_source()),
                           diagnose(capture::make_kernel_source())};
  const std::vector<capture::KernelFact> facts = capture::kernel_facts();
  if (!json) {
    print_facts(facts);
    for (const Diagnosis& diagnosis : all)
      print(diagnosis);
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
  fmt::print("{}\n", printed.dump(2));
  return 0;
}

} // namespace

Action declare_doctor(CLI::App& app, const Trailing&) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "JSON");
  return [json] { return doctor(*json); };
}

} // namespace iotrail::cli
