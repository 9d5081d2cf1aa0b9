// SPDX-License-Identifier: BSD-3-Clause
#include "anonymize/manifest_names.hpp"

#include <algorithm>
#include <cstring>

#include "store/format/manifest_text.hpp"

namespace iotrail::anonymize {
namespace {

constexpr std::string_view kOwnTags = "import."; // set by iotrail; others are the user's
constexpr std::string_view kFormatTag = "import.format";

template <class Each> void map_texts(std::vector<std::string>& texts, const Each& each) {
  for (std::string& text : texts)
    text = each(text);
}

// "PID PROGRAM: why", "PID PROGRAM"
std::string process_note(const std::string& text, const Pseudonyms& names) {
  const std::size_t program = std::min(text.find(' '), text.size());
  const std::size_t why = std::min(text.find(": ", program), text.size());
  if (program == text.size())
    return names.command(text);
  return text.substr(0, program + 1) + names.path(text.substr(program + 1, why - program - 1)) +
         names.sentence(text.substr(why));
}

// "--file /home/x": the option is iotrail's own.
std::string filter(const std::string& text, const Pseudonyms& names) {
  const std::size_t value = std::min(text.find_first_of(" ="), text.size());
  if (!text.starts_with("--") || value == text.size())
    return text.starts_with("--") ? text : names.command(text);
  return text.substr(0, value + 1) + names.command(text.substr(value + 1));
}

std::map<std::string, std::string> anonymous_tags(const std::map<std::string, std::string>& tags,
                                                  const Pseudonyms& names) {
  std::map<std::string, std::string> made;
  for (const auto& [name, value] : tags)
    made[name.starts_with(kOwnTags) ? name : names.word(name)] =
        name == kFormatTag ? value : names.command(value);
  return made;
}

// "6.1.0-18-amd64" ends in what somebody called it.
std::string kernel_version(const std::string& release) {
  return release.substr(0, release.find_first_not_of("0123456789."));
}

} // namespace

store::TraceId anonymous_id(std::string_view trace_id, const Pseudonyms& names) {
  const std::uint64_t halves[] = {names.number(fmt::format("trace 0 {}", trace_id)),
                                  names.number(fmt::format("trace 1 {}", trace_id))};
  store::TraceId id{};
  static_assert(sizeof(halves) == sizeof(id));
  std::memcpy(id.data(), halves, sizeof(id));
  return id;
}

store::Manifest anonymous_manifest(const store::Manifest& manifest, const Pseudonyms& names) {
  store::Manifest made = manifest;
  made.trace_id = store::to_hex(anonymous_id(manifest.trace_id, names));
  made.stop_reason = names.sentence(manifest.stop_reason);
  map_texts(made.command, [&](const std::string& text) { return names.argument(text); });
  made.host = names.word(manifest.host);
  made.kernel = kernel_version(manifest.kernel);
  made.request = {};
  if (made.state == store::State::INCOMPLETE)
    made.state = store::State::RUNNING; // without a recorder, this reads as INCOMPLETE
  map_texts(made.filters, [&](const std::string& text) { return filter(text, names); });
  map_texts(made.limits, [&](const std::string& text) { return names.sentence(text); });
  map_texts(made.not_followed, [&](const std::string& text) { return process_note(text, names); });
  map_texts(made.still_running, [&](const std::string& text) { return process_note(text, names); });
  for (store::HookReport& hook : made.hooks) {
    hook.reason = names.sentence(hook.reason);
    hook.remedy = names.sentence(hook.remedy);
  }
  made.tags = anonymous_tags(manifest.tags, names);
  return made;
}

std::string manifest_text(const store::Manifest& manifest, std::string_view stored) {
  std::string text = store::to_json(manifest);
  auto original = store::parse_manifest(stored);
  auto made = store::parse_manifest(text);
  if (!original || !made || !original->contains("schema"))
    return text;
  (*made)["schema"] = (*original)["schema"];
  return store::sealed_text(std::move(*made));
}

} // namespace iotrail::anonymize
