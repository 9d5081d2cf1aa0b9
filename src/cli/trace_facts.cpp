// SPDX-License-Identifier: BSD-3-Clause
#include "cli/trace_facts.hpp"

#include <ctime>

#include <fmt/format.h>

#include "report/warnings.hpp"

namespace iotrail::cli {

std::string local_time(const store::Manifest& manifest) {
  const std::time_t seconds = manifest.begin_real_ns() / 1'000'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

bool has_ended(const store::Manifest& manifest) {
  return manifest.state != store::State::INITIALIZING && manifest.state != store::State::RUNNING;
}

bool is_damaged(const store::TraceReader& trace) {
  return has_ended(trace.manifest()) && !output::damage_sentences(trace).empty();
}

std::string tags_text(const store::Manifest& manifest) {
  std::string tags;
  for (const auto& [name, value] : manifest.tags)
    tags += fmt::format("{}{}={}", tags.empty() ? "" : " ", name, value);
  return tags;
}

} // namespace iotrail::cli
