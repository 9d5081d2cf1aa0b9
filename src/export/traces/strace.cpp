// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "analysis/names/trace_dictionaries.hpp"
#include "base/capped_sum.hpp"
#include "export/trace_format.hpp"
#include "store/reader/event_stream.hpp"
#include "value_text.hpp"

namespace iotrail::output {
namespace {

using schema::Meaning;
using schema::Role;
using store::EventStream;

// As strace quotes a text: bytes that are not printable ASCII are octal or a letter.
std::string strace_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += fmt::format("\\{}", c);
    else if (byte >= 0x20 && byte < 0x7f)
      quoted += c;
    else
      quoted += fmt::format("\\{:03o}", byte);
  }
  return quoted + '"';
}

// "</tmp/x>": a name between angle brackets.
std::string strace_file(std::string_view path) {
  std::string name = "<";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '<' && c != '>' && c != '\\')
      name += c;
    else
      name += fmt::format("\\{:03o}", byte);
  }
  return name + '>';
}

std::string strace_error(std::int64_t result) {
  const int code = static_cast<int>(-std::max<std::int64_t>(result, IOT_UNFINISHED));
  const char* name = ::strerrorname_np(code);
  const char* meaning = ::strerrordesc_np(code);
  return fmt::format("-1 {} ({})", name != nullptr ? name : fmt::format("ERRNO_{}", code),
                     meaning != nullptr ? meaning : "Unknown error");
}

// A trace may hold any numbers: a time beyond the range is at its end.
std::uint64_t real_ns(std::uint64_t ts_ns, std::int64_t to_real_ns) {
  if (to_real_ns < 0) {
    const std::uint64_t back_ns = ~static_cast<std::uint64_t>(to_real_ns) + 1;
    return ts_ns - std::min(ts_ns, back_ns);
  }
  const auto ahead_ns = static_cast<std::uint64_t>(to_real_ns);
  return capped_sum(ts_ns, ahead_ns);
}

// Calls with a fixed order of arguments, by the names of their columns. A word in brackets is a place
// in memory: its value is not recorded, or the kernel writes it there.
struct ArgumentOrder {
  std::string_view call;
  std::array<std::string_view, 6> columns;
};
constexpr ArgumentOrder kOrders[] = {
    {"mmap", {"NULL", "bytes", "prot", "flags", "fd", "position"}},
    {"munmap", {"address", "bytes"}},
    {"msync", {"address", "bytes", "flags"}},
    {"madvise", {"address", "bytes", "advice"}},
    {"copy_file_range",
     {"in_fd", "[in_position]", "out_fd", "[out_position]", "bytes_requested", "flags"}},
    {"splice", {"in_fd", "[in_position]", "out_fd", "[out_position]", "bytes_requested", "flags"}},
    {"sendfile", {"out_fd", "in_fd", "[in_position]", "bytes_requested"}},
    {"tee", {"in_fd", "out_fd", "bytes_requested", "flags"}},
    {"fcntl", {"fd", "command", "argument"}},
    {"fallocate", {"fd", "mode", "position", "bytes"}},
    {"fadvise64", {"fd", "position", "bytes", "advice"}},
    {"readahead", {"fd", "position", "bytes"}},
    {"sync_file_range", {"fd", "position", "bytes", "flags"}},
    {"lseek", {"fd", "position", "whence"}},
};

// One system call as a line.
class StraceLine {
public:
  StraceLine(const EventStream& event, const analysis::TraceDictionaries& dictionaries)
      : event_(event), table_(event.table()), dictionaries_(dictionaries) {}

  std::string text(std::int64_t to_real_ns) const {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const std::uint64_t at_ns = real_ns(event_.time_ns(), to_real_ns);
    const std::uint64_t duration_ns = number(table_.index(Role::duration));
    return fmt::format("{} {}.{:06} {}({}) = {}{}\n", number(table_.index(Role::tid)),
                       at_ns / kSecond, at_ns % kSecond / 1000, call(), arguments(), result(),
                       is_unfinished() ? std::string()
                                       : fmt::format(" <{}.{:06}>", duration_ns / kSecond,
                                                     duration_ns % kSecond / 1000));
  }

private:
  std::uint64_t number(int column) const {
    return column < 0 ? 0 : event_.number(static_cast<std::size_t>(column));
  }
  std::int64_t signed_number(std::size_t column) const {
    const std::uint64_t raw = event_.number(column);
    return table_.columns[column].type == schema::Type::s32 ? static_cast<std::int32_t>(raw)
                                                            : static_cast<std::int64_t>(raw);
  }
  std::int64_t result_number() const {
    const int column =
        table_.index(Role::result) >= 0 ? table_.index(Role::result) : table_.index(Role::bytes);
    return column < 0 ? 0 : signed_number(static_cast<std::size_t>(column));
  }
  bool is_unfinished() const { return result_number() == IOT_UNFINISHED; }

  std::string call() const {
    const store::ColumnInfo* column = table_.column(Role::call);
    return column != nullptr
               ? schema::number_text(column->meaning, number(table_.index(Role::call)))
               : std::string(schema::class_name(table_.name, table_.layer));
  }

  // Whether the call returned a descriptor of its file; then its descriptor is the directory.
  bool makes_descriptor() const {
    const store::ColumnInfo* column = table_.column(Role::result);
    return column != nullptr && column->meaning == Meaning::result_fd &&
           table_.index(Role::at_fd) >= 0;
  }

  std::string file_text(std::size_t column) const {
    const std::string_view path =
        dictionaries_.file(event_.number(column), analysis::naming_time_ns(event_));
    return path.empty() ? "" : strace_file(path);
  }

  // The file of the descriptor: they come in the same order.
  std::string fd_text(std::size_t column) const {
    const std::int64_t fd = signed_number(column);
    std::string text = fd == IOT_AT_FDCWD ? "AT_FDCWD" : fmt::format("{}", fd);
    if (makes_descriptor())
      return text;
    std::size_t rank = 0;
    for (std::size_t i = 0; i < column; ++i)
      rank += table_.columns[i].meaning == Meaning::fd ? 1 : 0;
    for (std::size_t i = 0; i < table_.columns.size(); ++i)
      if (table_.columns[i].meaning == Meaning::file && rank-- == 0)
        return text + file_text(i);
    return text;
  }

  // Descriptors, paths, sizes, and positions, in the order in which system calls have them.
  static int rank(const store::ColumnInfo& column) {
    if (column.role == Role::path)
      return 1;
    if (column.role == Role::to_at_fd)
      return 2;
    if (column.role == Role::to_path)
      return 3;
    switch (column.meaning) {
    case Meaning::fd:
      return 0;
    case Meaning::bytes:
      return 5;
    case Meaning::offset:
      return 6;
    default:
      return schema::is_string_key(column.meaning) ? 4 : 7;
    }
  }

  // unlink and the like share an event with unlinkat, and have no directory.
  bool takes_descriptor(std::size_t column) const {
    const std::string name = call();
    return signed_number(column) != IOT_AT_FDCWD || name.ends_with("at2") || name == "statx" ||
           (name.ends_with("at") && !name.ends_with("stat"));
  }

  std::string argument(std::size_t column) const {
    const store::ColumnInfo& info = table_.columns[column];
    if (info.meaning == Meaning::fd)
      return takes_descriptor(column) ? fd_text(column) : "";
    if (info.type == schema::Type::text)
      return strace_quoted(event_.text(column));
    if (schema::is_string_key(info.meaning)) {
      const std::string_view text = dictionaries_.text(event_.number(column));
      return text.empty() ? "" : strace_quoted(text);
    }
    if (info.role == Role::requested) // what a transfer moves is not in a trace
      return fmt::format("{}{}", table_.index(Role::to_file) < 0 ? "\"\"..., " : "",
                         event_.number(column));
    if (info.name == "mode") // 0: the call has none
      return event_.number(column) == 0 ? "" : fmt::format("0{:o}", event_.number(column));
    if (info.meaning == Meaning::bytes && (call().ends_with("sync") || call() == "syncfs"))
      return ""; // they sync all: only sync_file_range names a range
    if (info.meaning == Meaning::offset)
      return has_position(column) ? fmt::format("{}", signed_number(column)) : "";
    if (schema::info(info.type).is_signed)
      return fmt::format("{}", signed_number(column));
    const std::string text = schema::number_text(info.meaning, event_.number(column));
    const bool is_unset = text == "0" && schema::wording(info.meaning) == schema::Wording::flags;
    return is_unset ? "" : text;
  }

  // Calls without a position use the descriptor's, which iotrail records too.
  bool has_position(std::size_t column) const {
    const bool is_transfer = table_.column(Role::requested) != nullptr;
    return signed_number(column) >= 0 && (!is_transfer || call().starts_with('p'));
  }

  std::optional<std::size_t> column_named(std::string_view name) const {
    for (std::size_t i = 0; i < table_.columns.size(); ++i)
      if (schema::column_name(table_.columns[i].name) == name)
        return i;
    return std::nullopt;
  }

  // An argument that its call always has.
  std::string ordered_argument(std::string_view name) const {
    if (name.starts_with('[')) {
      const auto position = column_named(name.substr(1, name.size() - 2));
      return position && signed_number(*position) >= 0
                 ? fmt::format("[{}]", signed_number(*position))
                 : "NULL";
    }
    const auto column = column_named(name);
    if (!column)
      return std::string(name);
    const store::ColumnInfo& info = table_.columns[*column];
    if (info.meaning == Meaning::fd)
      return fd_text(*column);
    if (info.meaning == Meaning::offset)
      return fmt::format("{}", std::max<std::int64_t>(signed_number(*column), 0));
    if (schema::info(info.type).is_signed)
      return fmt::format("{}", signed_number(*column));
    return schema::number_text(info.meaning, event_.number(*column));
  }

  std::string arguments() const {
    const auto* order = std::ranges::find(kOrders, call(), &ArgumentOrder::call);
    if (order == std::end(kOrders))
      return arguments_by_rank();
    std::string text;
    for (const std::string_view name : order->columns)
      if (!name.empty())
        text += (text.empty() ? "" : ", ") + ordered_argument(name);
    return text;
  }

  std::string arguments_by_rank() const {
    constexpr std::array kElsewhere = {Role::time,     Role::op,   Role::parent_op, Role::pid,
                                       Role::tid,      Role::cpu,  Role::call,      Role::result,
                                       Role::duration, Role::file, Role::to_file};
    std::vector<std::pair<int, std::size_t>> order;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      const store::ColumnInfo& info = table_.columns[i];
      const bool is_result = info.role == Role::bytes && schema::is_result(info.meaning);
      if (!is_result && std::ranges::find(kElsewhere, info.role) == kElsewhere.end() &&
          info.meaning != Meaning::file)
        order.emplace_back(rank(info), i);
    }
    std::ranges::sort(order);
    std::string text;
    for (const auto& [ignored, column] : order)
      if (const std::string one = argument(column); !one.empty())
        text += (text.empty() ? "" : ", ") + one;
    return text;
  }

  std::string result() const {
    const std::int64_t value = result_number();
    if (is_unfinished())
      return "? <unfinished ...>";
    if (value < 0)
      return strace_error(value);
    if (call() == "mmap")
      return ordered_argument("address");
    const int file = table_.index(Role::file);
    return fmt::format("{}{}", value,
                       makes_descriptor() && file >= 0 ? file_text(static_cast<std::size_t>(file))
                                                       : "");
  }

  const EventStream& event_;
  const store::TableInfo& table_;
  const analysis::TraceDictionaries& dictionaries_;
};

Result<void> write_strace(const TraceInput& input, Sink& sink) {
  const store::TraceReader& trace = input.engine.trace();
  std::vector<iot_u16> kinds;
  for (const store::TableInfo& table : trace.tables())
    if (table.layer == "syscall")
      kinds.push_back(table.kind);
  if (kinds.empty())
    return {};
  const auto dictionaries = analysis::TraceDictionaries::load(trace);
  EventStream events(trace, kinds);
  while (!sink.is_broken() && events.next())
    sink.put(StraceLine(events, dictionaries).text(trace.manifest().monotonic_to_real_ns));
  return {};
}

} // namespace

extern const TraceFormat kTraceFormatStrace = {
    .name = "strace",
    .suffix = "strace",
    .doc = "system calls as strace -f -ttt -T -y prints them",
    .omits =
        "all layers but the system calls, the bytes of buffers, and arguments that iotrail does "
        "not record",
    .write = write_strace,
};

} // namespace iotrail::output
