// SPDX-License-Identifier: BSD-3-Clause
//
// Tries what `record` would do, without recording: the sources are opened and asked what serves each event.
#include <unistd.h>

#include <memory>

#include "capture/kernel/load/features.hpp"
#include "capture/sources/sources.hpp"
#include "cli/print_document.hpp"
#include "cli/verb.hpp"
#include "report/documents/doctor.hpp"

namespace iotrail::cli {
namespace {

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

output::SourceDiagnosis diagnose(std::unique_ptr<capture::Source> source) {
  output::SourceDiagnosis diagnosis{.source = std::string(source->name())};
  const Result<void> opened = source->open(everything());
  diagnosis.hooks = source->hooks();
  if (!opened) {
    diagnosis.refusal = opened.error().line();
    diagnosis.remedy = opened.error().hint;
    diagnosis.hooks = store::refused(std::move(diagnosis.hooks), opened.error());
  }
  return diagnosis;
}

struct DoctorRequest {
  bool json = false;
  bool full = false;
  bool wide = false;
};

Result<int> doctor(const Console& console, const DoctorRequest& request) {
  std::vector<output::SourceDiagnosis> sources;
  for (const capture::SourceInfo& source : capture::all_sources())
    if (source.id != IOT_source_snapshot && // needs nothing of the machine
        source.id != IOT_source_fuse)       // has a verb that says what it lacks
      sources.push_back(diagnose(source.make({})));
  const output::DoctorDetail events =
      request.full ? output::DoctorDetail::events : output::DoctorDetail::answer;
  const output::Document document =
      output::make_doctor(capture::kernel_facts(), sources,
                          request.wide || request.json ? output::DoctorDetail::reasons : events);
  const DocumentFormat text = request.wide ? DocumentFormat::wide_text : DocumentFormat::text;
  const Result<void> printed =
      print_document(console.out, document, request.json ? DocumentFormat::json : text);
  return printed ? Result<int>(0) : std::unexpected(printed.error());
}

Action declare_doctor(CLI::App& app, const Trailing&) {
  auto request = std::make_shared<DoctorRequest>();
  app.add_flag("--full", request->full, "Also each event, and the hook that serves it");
  app.add_flag("--wide", request->wide,
               "The same with reasons, in whole lines, however wide the terminal is");
  app.add_flag("--json", request->json, "The same as one JSON object");
  return [request](const Console& console) { return doctor(console, *request); };
}

} // namespace

extern const Verb kVerbDoctor = {
    .name = "doctor",
    .summary = "Show what can be recorded on this machine, and how to enable the rest",
    .group = Group::machine,
    .rank = 0,
    .declare = declare_doctor,
    .examples = "  iotrail doctor\n"
                "  iotrail doctor --full                # every event\n",
};

} // namespace iotrail::cli
