// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tell.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>

#include "report/recorded.hpp"
#include "report/warnings.hpp"
#include "text/text_width.hpp"

namespace iotrail::cli {
namespace {

void tell_line(std::string_view line, std::size_t width) {
  constexpr std::size_t kFurther = 2;
  std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  line.remove_prefix(indent);
  bool is_first = true;
  for (const std::string& part :
       output::wrapped(line, width == output::kAnyWidth ? width : width - indent - kFurther)) {
    fmt::print(stderr, "{:{}}{}\n", "", indent, part);
    indent += is_first ? kFurther : 0;
    is_first = false;
  }
}

} // namespace

void tell(std::string_view text, std::size_t width) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    tell_line(text.substr(0, end), width);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void tell(std::string_view text) {
  tell(text,
       ::isatty(STDERR_FILENO) == 1 ? output::terminal_width(STDERR_FILENO) : output::kAnyWidth);
}

void tell_if_heard(const std::function<void()>& print) {
  try {
    print();
  } catch (const std::system_error&) {
    if (std::ferror(stderr) == 0)
      throw;
  }
}

void tell_warnings(const store::TraceReader& trace) {
  for (const std::string& sentence : output::answer_warnings(trace))
    tell(fmt::format("iotrail: {}", sentence));
}

void tell_not_recorded(const store::TraceReader& trace, const store::TableInfo& table) {
  if (const std::string why = output::event_not_recorded(trace, table); !why.empty())
    tell(fmt::format("iotrail: {}", why));
}

} // namespace iotrail::cli
