// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/answers/csv.hpp"

#include <map>

#include <fmt/ranges.h>

#include "text/printable.hpp"

namespace iotrail::compat::iotrace {
namespace {

using CsvJson = nlohmann::ordered_json;

// Objects of this program, which are not nested deep.
template <class Visit>
void visit_leaves(const CsvJson& object, const std::string& prefix, const Visit& visit) {
  for (const auto& [name, value] : object.items())
    if (value.is_object())
      visit_leaves(value, prefix + name + ".", visit);
    else
      visit(prefix + name, value);
}

std::string field_text(const CsvJson& value, bool is_terminal) {
  std::string text =
      value.is_string()
          ? value.get<std::string>()
          : value.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  if (is_terminal)
    text = output::printable(text);
  if (text.find_first_of(",\"\r\n") == text.npos)
    return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

} // namespace

std::vector<std::string> columns_of(const CsvJson& object) {
  std::vector<std::string> columns;
  visit_leaves(object, "",
               [&](const std::string& name, const CsvJson&) { columns.push_back(name); });
  return columns;
}

void put_header(output::Sink& sink, const std::vector<std::string>& columns) {
  sink.print("{}\n", fmt::join(columns, ","));
}

void put_row(output::Sink& sink, const std::vector<std::string>& columns, const CsvJson& object) {
  std::map<std::string, std::string> fields;
  visit_leaves(object, "", [&](const std::string& name, const CsvJson& value) {
    fields[name] = field_text(value, sink.is_terminal());
  });
  std::string line;
  for (const std::string& column : columns) {
    const auto found = fields.find(column);
    line += (line.empty() && &column == &columns.front() ? "" : ",");
    line += found == fields.end() ? "" : found->second;
  }
  sink.put(line + "\n");
}

} // namespace iotrail::compat::iotrace
