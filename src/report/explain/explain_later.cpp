// SPDX-License-Identifier: BSD-3-Clause
#include "report/explain/explain_later.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace iotrail::output {

namespace {

void add_who_asked(Sentence& text, const SmallResult& rows, std::size_t row, bool is_read) {
  const NamedValue process = text_value("process", process_text(rows, row));
  if (const std::string call = rows.text(row, "forced_by"); !call.empty())
    text.add("by a {call} of {process}", {text_value("call", call), process});
  else if (rows.number(row, "by_op") != 0)
    text.add("by a call of {process} that was not recorded", {process});
  else if (is_read)
    text.add("by a thread of the kernel, as when a limit of its control group held it back");
  else if (const std::string because = rows.text(row, "because"); because.empty())
    text.add("written back by the kernel");
  else
    text.add("written back by the kernel: {because}", {text_value("because", because)});
}

} // namespace

void add_later(Operation& operation, const SmallResult& rows, std::size_t row) {
  const std::uint64_t first_ns = rows.number(row, "first_ns");
  const bool is_read = rows.text(row, "direction") == "read";
  Sentence text = sentence(
      fmt::format("{{bytes}} of it ({{words}}, {{confidence}}) {} the device {{after_ns}} after "
                  "its begin, ",
                  is_read ? "was asked of" : "went to"),
      {bytes_value("bytes", rows.number(row, "bytes")),
       text_value("words", rows.text(row, "words")),
       text_value("confidence", rows.text(row, "confidence")),
       ns_value("after_ns", first_ns - std::min(first_ns, operation.span.begin_ns))});
  add_who_asked(text, rows, row, is_read);
  operation.later.push_back(std::move(text));
}

void add_meanwhile(Operation& operation, const SmallResult& rows, std::size_t row) {
  const bool is_known = rows.number(row, "pid") != 0;
  operation.later.push_back(
      sentence("Meanwhile {device} served {bytes} of others: {direction}, {words}, of {process}",
               {text_value("device", rows.text(row, "device")),
                bytes_value("bytes", rows.number(row, "bytes")),
                text_value("direction", rows.text(row, "direction")),
                text_value("words", rows.text(row, "words")),
                text_value("process", is_known ? process_text(rows, row) : "no known process")}));
}

} // namespace iotrail::output
