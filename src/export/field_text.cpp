// SPDX-License-Identifier: BSD-3-Clause
#include "export/field_text.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "text/printable.hpp"
#include "text/units.hpp"
#include "value_text.hpp"

namespace iotrail::output {

namespace {

using analysis::TraceDictionaries;
using schema::Meaning;
using schema::Role;
using store::EventStream;

// Shown at fixed positions of the line, not among the arguments.
constexpr Role kPlaced[] = {Role::time, Role::op,   Role::parent_op, Role::pid,     Role::tid,
                            Role::cpu,  Role::call, Role::result,    Role::duration};

// Quotes the text. Printing the line escapes its control characters.
std::string quoted(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      all += '\\';
    all += c;
  }
  return all + '"';
}

class Line {
public:
  Line(const EventStream& event, const TraceDictionaries& dictionaries)
      : event_(event), dictionaries_(dictionaries) {}

  std::string text() const {
    return fmt::format("{} {} {}({}){}{}{}", task(), event_.table().layer, call(), arguments(),
                       result(), duration(), operation());
  }

private:
  // How arguments of a meaning are shown; all others are name=value.
  struct Rule {
    Meaning meaning;
    std::string (Line::*text)(std::size_t column) const;
  };
  static const Rule kRules[];

  const store::ColumnInfo& info(std::size_t column) const { return event_.table().columns[column]; }
  int find(const store::ColumnKey& key) const { return event_.table().index(key); }
  std::uint64_t value(int column) const {
    return column < 0 ? 0 : event_.number(static_cast<std::size_t>(column));
  }
  std::int64_t signed_value(std::size_t column) const {
    const std::uint64_t raw = event_.number(column);
    return info(column).type == schema::Type::s32 ? static_cast<std::int32_t>(raw)
                                                  : static_cast<std::int64_t>(raw);
  }
  // The descriptor of a file, or the file of a descriptor; -1: none. Both occur in the same order;
  // a pipe has more descriptors than files.
  int find_partner(std::size_t column) const;
  // The file that a call opened by path, shown with the new descriptor. The other descriptor is the
  // begin of the path. -1: no such call.
  int find_opened() const {
    const int result = find(Role::result);
    const bool makes_descriptor =
        result >= 0 && info(static_cast<std::size_t>(result)).meaning == Meaning::result_fd;
    return makes_descriptor && find(Role::at_fd) >= 0 ? find(Role::file) : -1;
  }
  // The position of the bytes in the file; -1: no bytes, or a copy, which shows its positions by
  // name.
  int find_position() const {
    const bool has_one_place = find(Meaning::bytes) >= 0 && find(Role::to_file) < 0;
    return has_one_place ? find(Meaning::offset) : -1;
  }

  std::string task() const {
    const std::uint64_t pid = value(find(Role::pid));
    const std::uint64_t tid = value(find(Role::tid));
    std::string_view comm = dictionaries_.comm(pid, event_.time_ns());
    return pid == tid ? fmt::format("{}[{}]", comm, pid) : fmt::format("{}[{}/{}]", comm, pid, tid);
  }

  std::string call() const {
    const store::TableInfo& table = event_.table();
    if (const store::ColumnInfo* column = table.column(Role::call))
      return schema::number_text(column->meaning, value(find(Role::call)));
    return std::string(schema::class_name(table.name, table.layer));
  }

  std::string arguments() const {
    std::string text;
    for (const bool files : {true, false}) // the target comes first
      for (std::size_t i = 0; i < event_.table().columns.size(); ++i) {
        const Meaning meaning = info(i).meaning;
        if ((meaning == Meaning::file || meaning == Meaning::fd) != files)
          continue;
        if (const std::string argument = argument_text(i); !argument.empty())
          text += (text.empty() ? "" : ", ") + argument;
      }
    return text;
  }

  std::string argument_text(std::size_t column) const;
  std::string file_name(std::uint64_t file) const;
  std::string file_text(std::size_t column) const;
  std::string fd_text(std::size_t column) const;
  std::string descriptor_text(std::size_t column) const;
  std::string offset_text(std::size_t column) const;
  std::string bytes_text(std::size_t column) const;
  std::string path_text(std::size_t column) const;
  std::string device_text(std::size_t column) const;
  std::string duration_text(std::size_t column) const;
  std::string date_text(std::size_t column) const;
  std::string string_text(std::size_t column) const;
  std::string plain_text(std::size_t column) const;

  // A call that moves bytes shows an error in their place.
  std::string result() const {
    int column = find(Role::result);
    if (column < 0)
      column = find(Role::bytes);
    if (column < 0 || !schema::is_result(info(static_cast<std::size_t>(column)).meaning))
      return {};
    const auto index = static_cast<std::size_t>(column);
    const std::uint64_t opened = value(find_opened());
    return " = " +
           schema::number_text(info(index).meaning,
                               static_cast<std::uint64_t>(signed_value(index))) +
           (opened == 0 ? "" : " " + file_name(opened));
  }

  std::string duration() const {
    const int column = find(Role::duration);
    return column < 0 ? "" : fmt::format(" <{}>", human_duration(value(column)));
  }

  std::string operation() const {
    const std::uint64_t op = value(find(Role::op));
    const std::uint64_t parent = value(find(Role::parent_op));
    return (op == 0 ? "" : " op=" + schema::op_text(op)) +
           (parent == 0 ? "" : " in=" + schema::op_text(parent));
  }

  const EventStream& event_;
  const TraceDictionaries& dictionaries_;
};

const Line::Rule Line::kRules[] = {
    {Meaning::file, &Line::file_text},         {Meaning::fd, &Line::fd_text},
    {Meaning::offset, &Line::offset_text},     {Meaning::bytes, &Line::bytes_text},
    {Meaning::path, &Line::path_text},         {Meaning::device, &Line::device_text},
    {Meaning::string, &Line::path_text},       {Meaning::stack, &Line::path_text},
    {Meaning::text, &Line::string_text},       {Meaning::duration_ns, &Line::duration_text},
    {Meaning::real_time_ns, &Line::date_text},
};

int Line::find_partner(std::size_t column) const {
  if (find_opened() >= 0)
    return -1;
  std::vector<std::size_t> files;
  std::vector<std::size_t> descriptors;
  for (std::size_t i = 0; i < event_.table().columns.size(); ++i)
    if (const Meaning meaning = info(i).meaning; meaning == Meaning::file || meaning == Meaning::fd)
      (meaning == Meaning::file ? files : descriptors).push_back(i);
  const bool is_file = info(column).meaning == Meaning::file;
  const std::vector<std::size_t>& own = is_file ? files : descriptors;
  const std::vector<std::size_t>& others = is_file ? descriptors : files;
  const auto rank = static_cast<std::size_t>(std::ranges::find(own, column) - own.begin());
  const bool has_partner = descriptors.size() <= files.size() && rank < others.size();
  return has_partner ? static_cast<int>(others[rank]) : -1;
}

std::string Line::file_name(std::uint64_t file) const {
  const std::string_view path = dictionaries_.file(file, analysis::naming_time_ns(event_));
  return path.empty() ? fmt::format("<file {}>", file) : fmt::format("<{}>", path);
}

std::string Line::file_text(std::size_t column) const {
  if (static_cast<int>(column) == find_opened())
    return {};
  const std::string& name = info(column).name;
  const std::uint64_t file = event_.number(column);
  const int descriptor = find_partner(column);
  std::string text;
  if (descriptor >= 0)
    text = descriptor_text(static_cast<std::size_t>(descriptor));
  if (file == 0)
    return text;
  text += text.empty() ? fmt::format("{}=", name) : " ";
  return text + file_name(file);
}

std::string Line::descriptor_text(std::size_t column) const {
  const std::int64_t fd = signed_value(column);
  const std::string& name = info(column).name;
  if (fd == IOT_AT_FDCWD)
    return fmt::format("{}=AT_FDCWD", name);
  return fd < 0 ? std::string() : fmt::format("{}={}", name, fd);
}

// Empty if it is shown with its file.
std::string Line::fd_text(std::size_t column) const {
  return find_partner(column) >= 0 ? "" : descriptor_text(column);
}

// Empty if it is shown with the bytes.
std::string Line::offset_text(std::size_t column) const {
  if (static_cast<int>(column) == find_position() || signed_value(column) < 0)
    return {};
  return fmt::format("{}={}", info(column).name, signed_value(column));
}

// "4096 @ 8192": bytes and, if known, the position in the file.
std::string Line::bytes_text(std::size_t column) const {
  const store::ColumnInfo& field = info(column);
  std::string text = field.role == Role::requested
                         ? fmt::format("{}", event_.number(column))
                         : fmt::format("{}={}", field.name, event_.number(column));
  const int position = find_position();
  if (position >= 0 && signed_value(static_cast<std::size_t>(position)) >= 0)
    text += fmt::format(" @ {}", value(position));
  return text;
}

std::string Line::path_text(std::size_t column) const {
  const std::uint64_t path = event_.number(column);
  return path == 0 ? "" : fmt::format("{}={}", info(column).name, quoted(dictionaries_.text(path)));
}

std::string Line::device_text(std::size_t column) const {
  const std::string_view device = dictionaries_.device(event_.number(column));
  return device.empty() ? plain_text(column) : fmt::format("{}={}", info(column).name, device);
}

std::string Line::duration_text(std::size_t column) const {
  return fmt::format("{}={}", info(column).name, human_duration(event_.number(column)));
}

std::string Line::date_text(std::size_t column) const {
  return fmt::format("{}={}", info(column).name, human_date(signed_value(column)));
}

std::string Line::string_text(std::size_t column) const {
  return fmt::format("{}={}", info(column).name, quoted(event_.text(column)));
}

std::string Line::plain_text(std::size_t column) const {
  const store::ColumnInfo& field = info(column);
  const std::uint64_t raw = event_.number(column);
  const schema::Wording wording = schema::wording(field.meaning);
  if (wording == schema::Wording::number && schema::info(field.type).is_signed)
    return fmt::format("{}={}", field.name, signed_value(column));
  const std::string text = schema::number_text(field.meaning, raw);
  // An event of several calls has several fields of flags, such as open_flags. Only one belongs to
  // the call.
  const bool is_of_others = raw == 0 && field.name.ends_with("_flags");
  const bool is_unset = wording == schema::Wording::flags && (text == "0" || is_of_others);
  return is_unset ? "" : fmt::format("{}={}", field.name, text);
}

std::string Line::argument_text(std::size_t column) const {
  const store::ColumnInfo& field = info(column);
  const bool is_result_bytes = field.role == Role::bytes && schema::is_result(field.meaning);
  if (is_result_bytes || std::ranges::find(kPlaced, field.role) != std::end(kPlaced))
    return {};
  if (schema::may_lack_value(field.meaning) &&
      !schema::has_value(field.meaning, field.type, event_.number(column)))
    return {};
  const auto* rule = std::ranges::find(kRules, field.meaning, &Rule::meaning);
  return rule == std::end(kRules) ? plain_text(column) : (this->*rule->text)(column);
}

} // namespace

std::string event_text(const EventStream& event, const TraceDictionaries& dictionaries) {
  return printable(Line(event, dictionaries).text());
}

} // namespace iotrail::output
