// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names/name_changes.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "analysis/names/table_rows.hpp"
#include "base/capped_sum.hpp"

namespace iotrail::analysis {

namespace {

// Column indices of a source.
enum : std::size_t {
  kDuration,
  kPid,
  kResult,
  kFile,
  kReplaced,
  kDirectory,
  kNewDirectory,
  kText,
  kNewText,
  kFd,
  kNewFd,
  kFlags,
  kRenameFlags, // for an event of several calls, each with its own flags
  kCall
};

using ColumnNames = std::array<std::string_view, kCall + 1>;

constexpr std::string_view kDescriptorCalls = "fcntl";
constexpr std::string_view kAsyncCalls = "async_call";

ColumnNames column_names(NameEvent what, bool is_of_vfs, std::string_view calls) {
  ColumnNames names{"duration_ns", "pid",           "result",       "file",     "replaced",
                    "directory",   "new_directory", "path",         "new_path", "fd",
                    "new_fd",      "flags",         "rename_flags", "call"};
  if (is_of_vfs) {
    names[kText] = "name";
    names[kNewText] = "new_name";
  }
  if (calls == kDescriptorCalls)
    names[kCall] = "command";
  if (what == NameEvent::link) {
    names[kDirectory] = "";
    names[kNewDirectory] = "directory";
    names[kText] = "target";
    names[kNewText] = is_of_vfs ? "name" : "path";
    names[kFd] = "target_fd";
    names[kNewFd] = "fd";
  }
  return names;
}

std::optional<NameEvent> what_of_async(std::string_view call) {
  if (call.starts_with("IORING_OP_OPENAT"))
    return NameEvent::open;
  if (call == "IORING_OP_LINKAT")
    return NameEvent::link;
  if (call == "IORING_OP_UNLINKAT")
    return NameEvent::removal;
  if (call == "IORING_OP_RENAMEAT")
    return NameEvent::renaming;
  return std::nullopt;
}

// The change by one of several calls that share an event; nullopt: no change of names.
std::optional<NameEvent> what_of(NameEvent what, std::string_view calls, std::string_view name) {
  if (calls == kAsyncCalls)
    return what_of_async(name);
  if (name == "chroot")
    return NameEvent::root;
  const bool is_another_call = (what == NameEvent::link && name.contains("symlink")) ||
                               (calls == kDescriptorCalls && !name.starts_with("F_DUPFD"));
  return is_another_call ? std::nullopt : std::optional(what);
}

auto order_of(const NameChange& change) {
  return std::tuple(change.at_ns, change.what);
}

} // namespace

bool NameChanges::Later::operator()(const Pending& a, const Pending& b) const {
  return std::tuple(order_of(a.change), a.number) > std::tuple(order_of(b.change), b.number);
}

NameChanges::NameChanges(const store::TraceReader& trace) : trace_(trace) {
  const bool has_renames = add_lowest("rename", NameEvent::renaming);
  const bool has_removals = add_lowest("unlink", NameEvent::removal);
  const bool has_links = add_lowest("link", NameEvent::link);
  const bool has_paths = add_source("async_path", NameEvent::open, false, kAsyncCalls);
  const bool has_opens = add_source("syscall_open", NameEvent::open, false);
  const bool has_app_opens = add_source("app_open", NameEvent::open, false);
  const bool has_moves = add_source("syscall_chdir", NameEvent::directory, false);
  if (!has_renames && !has_removals && !has_links && !has_paths && !has_opens && !has_app_opens &&
      !has_moves)
    return;
  add_source("syscall_dup", NameEvent::duplicate, false);
  add_source("syscall_fcntl", NameEvent::duplicate, false, kDescriptorCalls);
  find_births();
  find_sights();
  std::ranges::stable_sort(firsts_, {}, order_of);
  store::EventStream::Columns columns;
  for (const auto& [kind, source] : sources_)
    std::ranges::copy_if(source.columns, std::back_inserter(columns[kind]),
                         [](int column) { return column >= 0; });
  stream_.emplace(trace, std::move(columns));
}

bool NameChanges::add_lowest(std::string_view event, NameEvent what) {
  for (const std::string_view layer : {"vfs", "syscall", "app"})
    if (add_source(fmt::format("{}_{}", layer, event), what, layer == "vfs"))
      return true;
  return false;
}

bool NameChanges::add_source(std::string_view name, NameEvent what, bool is_of_vfs,
                             std::string_view calls) {
  const store::TableInfo* table = trace_.table(name);
  if (!table || !trace_.has_rows(table->kind))
    return false;
  Source source{what, is_of_vfs, is_of_vfs ? "vfs_call" : calls, {}};
  std::ranges::transform(column_names(what, is_of_vfs, calls), source.columns.begin(),
                         [&](std::string_view column) { return table->column(column); });
  sources_[table->kind] = source;
  if (is_of_vfs)
    known_by_vfs_.insert(what);
  return true;
}

void NameChanges::find_births() {
  const store::TableInfo* table = trace_.table("processes");
  if (!table)
    return;
  std::unordered_map<std::string, std::uint32_t> containers{{"", 0}};
  TableRows(trace_, *table, {"since_ns", "pid", "parent_pid", "container"})
      .for_each([&](auto number, auto text) {
        const auto next = static_cast<std::uint32_t>(containers.size());
        NameChange birth{};
        birth.at_ns = number(0);
        birth.what = NameEvent::birth;
        birth.pid = static_cast<std::uint32_t>(number(1));
        birth.parent_pid = static_cast<std::uint32_t>(number(2));
        birth.container = containers.try_emplace(text(3), next).first->second;
        firsts_.push_back(birth);
      });
}

// A key that the dictionary lacks names no file, so it must take no memory.
void NameChanges::find_sights() {
  struct Sight {
    std::uint64_t end_ns = UINT64_MAX;
    std::uint32_t pid = 0;
  };
  std::unordered_map<std::uint32_t, Sight> sights;
  if (const store::TableInfo* table = trace_.table("files"))
    TableRows(trace_, *table, {"file"}).for_each([&](auto number, auto) {
      sights.try_emplace(static_cast<std::uint32_t>(number(0)));
    });
  for (const store::TableInfo& table : trace_.tables()) {
    if (table.is_dictionary())
      continue;
    for (const store::ColumnInfo& column : table.columns)
      if (column.meaning == schema::Meaning::file)
        TableRows(trace_, table, {"ts_ns", "duration_ns", column.name, "pid"})
            .for_each([&](auto number, auto) {
              const auto found = sights.find(static_cast<std::uint32_t>(number(2)));
              const std::uint64_t end_ns = capped_sum(number(0), number(1));
              if (found != sights.end() && end_ns < found->second.end_ns)
                found->second = {end_ns, static_cast<std::uint32_t>(number(3))};
            });
  }
  for (const auto& [file, first] : sights) {
    NameChange sight{};
    sight.at_ns = first.end_ns;
    sight.what = NameEvent::sight;
    sight.pid = first.pid;
    sight.file = file;
    firsts_.push_back(sight);
  }
}

void NameChanges::add_row() {
  const Source& source = sources_.at(stream_->table().kind);
  const auto number = [&](std::size_t column) {
    const int at = source.columns[column];
    return at < 0 ? 0 : stream_->number(static_cast<std::size_t>(at));
  };
  const auto key = [&](std::size_t column) { return static_cast<std::uint32_t>(number(column)); };
  const auto fd = [&](std::size_t column) { return static_cast<std::int32_t>(number(column)); };
  const std::uint64_t begin_ns = stream_->time_ns();
  read_up_to_ns_ = std::max(read_up_to_ns_, begin_ns);
  const auto result = static_cast<std::int64_t>(number(kResult));
  const std::string_view call = schema::value_name(source.calls, key(kCall));
  const std::optional<NameEvent> what = what_of(source.what, source.calls, call);
  if (result < 0 || !what || (!source.is_of_vfs && known_by_vfs_.contains(*what)))
    return;
  under_way_.push({{.at_ns = capped_sum(begin_ns, number(kDuration)),
                    .begin_ns = begin_ns,
                    .what = *what,
                    .is_of_vfs = source.is_of_vfs,
                    .pid = key(kPid),
                    .parent_pid = 0,
                    .container = 0,
                    .file = key(kFile),
                    .replaced = key(kReplaced),
                    .directory = key(kDirectory),
                    .new_directory = key(kNewDirectory),
                    .text = key(kText),
                    .new_text = key(kNewText),
                    .fd = fd(kFd),
                    .new_fd = fd(kNewFd),
                    .result = result,
                    .flags = key(kFlags) | key(kRenameFlags)},
                   ++rows_});
}

std::optional<NameChange> NameChanges::next() {
  if (!stream_)
    return std::nullopt;
  // A call that ended before the begin of the last call read comes next: all later calls begin
  // after that.
  while (!is_at_end_ && under_way_.size() < kMostUnderWay &&
         (under_way_.empty() || under_way_.top().change.at_ns >= read_up_to_ns_)) {
    is_at_end_ = !stream_->next();
    if (!is_at_end_)
      add_row();
  }
  const bool has_first = next_first_ < firsts_.size();
  if (has_first &&
      (under_way_.empty() || order_of(firsts_[next_first_]) <= order_of(under_way_.top().change)))
    return firsts_[next_first_++];
  if (under_way_.empty())
    return std::nullopt;
  const NameChange change = under_way_.top().change;
  under_way_.pop();
  return change;
}

} // namespace iotrail::analysis
