// SPDX-License-Identifier: BSD-3-Clause
#include "report/answer/fitted.hpp"

#include <algorithm>

namespace iotrail::output {
namespace {

Section* section_with(Document& document, std::string_view id) {
  const auto found = std::ranges::find(document.sections, id, &Section::id);
  return found == document.sections.end() ? nullptr : &*found;
}

bool is_finding(const Sentence& text) {
  return std::ranges::find(text.values, "id", &NamedValue::name) != text.values.end();
}

} // namespace

Document fitted(Document document, std::size_t most_lines,
                const std::function<std::size_t(const Document&)>& count_lines) {
  Section none;
  Section* found = section_with(document, "next");
  Section& next = found == nullptr ? none : *found;
  found = section_with(document, "file_call_totals");
  Section& calls = found == nullptr ? none : *found;
  found = section_with(document, "noticed");
  Section& noticed = found == nullptr ? none : *found;
  const auto is_too_long = [&] { return count_lines(document) > most_lines; };
  const auto keep_rows = [&](std::size_t least) {
    while (calls.rows.size() > least && is_too_long())
      calls.rows.pop_back();
  };
  const auto keep_findings = [&](std::ptrdiff_t most) { // they come last, the costliest first
    while (std::ranges::count_if(noticed.intro, is_finding) > most && is_too_long())
      noticed.intro.pop_back();
  };
  if (is_too_long()) {
    next.title = {};
    next.intro = {sentence("More: `iotrail findings`, `iotrail report --full`")};
  }
  keep_rows(2);
  keep_findings(2);
  if (is_too_long())
    next.intro.clear();
  keep_rows(1);
  keep_findings(1);
  while (noticed.intro.size() > 1 && !is_finding(noticed.intro[1]) && is_too_long())
    noticed.intro.erase(noticed.intro.begin() + 1); // what disks did for others
  keep_findings(0);
  return document;
}

} // namespace iotrail::output
