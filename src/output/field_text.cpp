// SPDX-License-Identifier: BSD-3-Clause
#include "output/field_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/decode.hpp"
#include "output/printable.hpp"
#include "output/units.hpp"

namespace iotrail::output {

namespace {

using analysis::EventStream;
using analysis::Names;

constexpr std::int32_t kAtFdcwd = -100;

// Shown in their own place in the line, not among the arguments.
constexpr std::string_view kPlaced[] = {"ts_ns", "op_id",  "pid",   "tid",        "cpu",
                                        "call",  "result", "error", "duration_ns"};

class Line {
public:
  Line(const EventStream& event, const Names& names) : event_(event), names_(names) {}

  std::string text() const {
    return fmt::format("{} {} {}({}){}{}{}", task(), event_.table().layer, call(), arguments(),
                       result(), duration(), operation());
  }

private:
  int find(std::string_view name) const { return event_.table().column(name); }
  std::uint64_t value(int column) const {
    return column < 0 ? 0 : event_.number(static_cast<std::size_t>(column));
  }
  std::int64_t signed_value(std::size_t column) const {
    const std::uint64_t raw = event_.number(column);
    return event_.table().columns[column].type == schema::Type::s32
               ? static_cast<std::int32_t>(raw)
               : static_cast<std::int64_t>(raw);
  }

  std::string task() const {
    const std::uint64_t pid = value(find("pid"));
    const std::uint64_t tid = value(find("tid"));
    std::string_view comm = names_.comm(pid, event_.time_ns());
    return pid == tid ? fmt::format("{}[{}]", comm, pid) : fmt::format("{}[{}/{}]", comm, pid, tid);
  }

  std::string call() const {
    const store::TableInfo& table = event_.table();
    if (const int column = find("call"); column >= 0)
      return analysis::value_text(
          analysis::value_table_of(table.columns[static_cast<std::size_t>(column)].meaning),
          value(column));
    std::string_view name = table.name;
    if (name.starts_with(table.layer + "_"))
      name.remove_prefix(table.layer.size() + 1);
    return std::string(name);
  }

  std::string arguments() const {
    std::string text;
    for (const bool files : {true, false}) // what it was done to stands first
      for (std::size_t i = 0; i < event_.table().columns.size(); ++i) {
        const std::string& meaning = event_.table().columns[i].meaning;
        if ((meaning == "file" || meaning == "fd") != files)
          continue;
        if (const std::string argument = argument_text(i); !argument.empty())
          text += (text.empty() ? "" : ", ") + argument;
      }
    return text;
  }

  std::string argument_text(std::size_t column) const;
  std::string file_text(std::size_t column) const;
  std::string range_text(std::size_t column) const;
  std::string descriptor_text(std::size_t column) const;
  std::string plain_text(std::size_t column) const;

  std::string result() const {
    for (const std::string_view name : {"result", "error"}) {
      const int column = find(name);
      if (column < 0)
        continue;
      const std::int64_t result = signed_value(static_cast<std::size_t>(column));
      return result < 0 ? " = " + analysis::errno_name(result) : fmt::format(" = {}", result);
    }
    return {};
  }

  std::string duration() const {
    const int column = find("duration_ns");
    return column < 0 ? "" : fmt::format(" <{}>", human_duration(value(column)));
  }

  std::string operation() const {
    const std::uint64_t op = value(find("op_id"));
    return op == 0 ? "" : fmt::format(" op={}", op);
  }

  const EventStream& event_;
  const Names& names_;
};

// The descriptor that belongs to a file column: fd to file, in_fd to in_file.
std::string descriptor_of(std::string_view file_column) {
  std::string name(file_column);
  name.replace(name.rfind("file"), 4, "fd");
  return name;
}

std::string Line::file_text(std::size_t column) const {
  const store::ColumnInfo& info = event_.table().columns[column];
  const std::uint64_t file = event_.number(column);
  const bool follows_convention = info.name.ends_with("file");
  const int descriptor = follows_convention ? find(descriptor_of(info.name)) : -1;
  std::string text;
  if (descriptor >= 0)
    text = descriptor_text(static_cast<std::size_t>(descriptor));
  if (file == 0)
    return text;
  const std::string_view path = names_.file(file);
  text += text.empty() ? fmt::format("{}=", info.name) : " ";
  return text + (path.empty() ? fmt::format("<file {}>", file) : fmt::format("<{}>", path));
}

std::string Line::descriptor_text(std::size_t column) const {
  const std::int64_t fd = signed_value(column);
  const std::string& name = event_.table().columns[column].name;
  if (fd == kAtFdcwd)
    return fmt::format("{}=AT_FDCWD", name);
  return fd < 0 ? std::string() : fmt::format("{}={}", name, fd);
}

// "4096 @ 8192": bytes and, where it is known, the position in the file.
std::string Line::range_text(std::size_t column) const {
  const std::string& name = event_.table().columns[column].name;
  std::string text = name == "bytes_requested" ? fmt::format("{}", event_.number(column))
                                               : fmt::format("{}={}", name, event_.number(column));
  const int offset = find("offset");
  if (offset >= 0 && event_.table().columns[static_cast<std::size_t>(offset)].meaning == "offset" &&
      signed_value(static_cast<std::size_t>(offset)) >= 0)
    text += fmt::format(" @ {}", value(offset));
  return text;
}

std::string Line::plain_text(std::size_t column) const {
  const store::ColumnInfo& info = event_.table().columns[column];
  const std::uint64_t raw = event_.number(column);
  if (info.type == schema::Type::text)
    return fmt::format("{}=\"{}\"", info.name, event_.text(column));
  if (const auto table = analysis::value_table_of(info.meaning); !table.empty())
    return fmt::format("{}={}", info.name, analysis::value_text(table, raw));
  if (const auto table = analysis::flags_table_of(info.meaning); !table.empty()) {
    const std::string flags = analysis::flags_text(table, raw);
    return flags == "0" ? "" : fmt::format("{}={}", info.name, flags);
  }
  if (info.meaning == "path")
    return raw == 0 ? "" : fmt::format("{}=\"{}\"", info.name, names_.text(raw));
  if (info.meaning == "mode")
    return fmt::format("{}={:#o}", info.name, raw);
  if (info.meaning == "address" || info.meaning == "bio" || info.meaning == "request")
    return fmt::format("{}={:#x}", info.name, raw);
  if (info.meaning == "duration_ns")
    return fmt::format("{}={}", info.name, human_duration(raw));
  if (info.meaning == "device") {
    const std::string_view device = names_.device(raw);
    return fmt::format("{}={}", info.name,
                       device.empty() ? analysis::device_number_text(raw) : device);
  }
  if (schema::info(info.type).is_signed)
    return fmt::format("{}={}", info.name, signed_value(column));
  return fmt::format("{}={}", info.name, raw);
}

std::string Line::argument_text(std::size_t column) const {
  const store::TableInfo& table = event_.table();
  const store::ColumnInfo& info = table.columns[column];
  if (std::ranges::find(kPlaced, info.name) != std::end(kPlaced))
    return {};
  if (info.meaning == "file")
    return file_text(column);
  if (info.meaning == "fd") { // shown with its file, where there is one
    std::string file = info.name;
    file.replace(file.rfind("fd"), 2, "file");
    return find(file) >= 0 ? "" : descriptor_text(column);
  }
  const bool has_bytes = find("bytes_requested") >= 0 || find("bytes") >= 0;
  if (info.meaning == "offset" && info.name == "offset" && has_bytes)
    return {}; // shown with the bytes
  if (info.meaning == "offset")
    return signed_value(column) < 0 ? "" : fmt::format("{}={}", info.name, signed_value(column));
  if (info.meaning == "bytes")
    return range_text(column);
  return plain_text(column);
}

} // namespace

std::string event_text(const analysis::EventStream& event, const analysis::Names& names) {
  return printable(Line(event, names).text());
}

} // namespace iotrail::output
