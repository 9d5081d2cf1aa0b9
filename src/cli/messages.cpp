// SPDX-License-Identifier: BSD-3-Clause
#include "cli/messages.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "render/text/value_text.hpp"
#include "report/coverage.hpp"
#include "report/warnings.hpp"
#include "text/printable.hpp"
#include "text/text_width.hpp"

namespace iotrail::cli {
namespace {

void print_line(std::FILE* file, std::string_view line, std::size_t width) {
  constexpr std::size_t kFurther = 2;
  std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  line.remove_prefix(indent);
  bool is_first = true;
  for (const std::string& part :
       output::wrapped(line, width == output::kAnyWidth ? width : width - indent - kFurther)) {
    fmt::print(file, "{:{}}{}\n", "", indent, part);
    indent += is_first ? kFurther : 0;
    is_first = false;
  }
}

} // namespace

void print_message(const Stream& err, std::string_view text, std::size_t width) {
  const std::string printed = output::printable_lines(text); // names of others may be in it
  for (std::string_view rest = printed; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    print_line(err.file, rest.substr(0, end), width);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void print_message(const Stream& err, std::string_view text) {
  print_message(err, text, err.terminal_width());
}

void print_if_open(const Stream& err, const std::function<void()>& print) {
  try {
    print();
  } catch (const std::system_error&) {
    if (std::ferror(err.file) == 0)
      throw;
  }
}

void print_warnings(const Stream& err, const store::TraceReader& trace) {
  for (const output::Sentence& warning : output::answer_warnings(trace))
    print_message(err, fmt::format("iotrail: {}", output::sentence_text(warning)));
}

void print_not_recorded(const Stream& err, const store::TraceReader& trace,
                        const store::TableInfo& table) {
  if (const std::string why = output::event_not_recorded(trace, table); !why.empty())
    print_message(err, fmt::format("iotrail: {}", why));
}

} // namespace iotrail::cli
