// SPDX-License-Identifier: BSD-3-Clause
#include "trail/fact_stream.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "schema.hpp"

namespace iotrail::trail {

namespace {

struct Member {
  store::ColumnKey column;
  std::uint64_t Fact::* member;
};

// The columns of a table's schema that a fact needs. Columns that a trace is too old to have keep
// their default.
using schema::Meaning;
using schema::Role;

struct Table {
  iot_u16 kind;
  FactKind fact;
  std::vector<Member> members;
};

std::vector<Member> members_of_bio() {
  return {{Role::pid, &Fact::pid},
          {Role::op, &Fact::op_id},
          {Role::file, &Fact::file},
          {Meaning::offset, &Fact::offset},
          {Meaning::bytes, &Fact::bytes},
          {Meaning::device, &Fact::device},
          {Meaning::sector, &Fact::sector},
          {Meaning::flags_block, &Fact::flags},
          {"is_contiguous", &Fact::is_contiguous},
          {Meaning::value_io_class, &Fact::io_class},
          {"above", &Fact::above},
          {"range_bytes", &Fact::range_bytes},
          {"file_bytes", &Fact::file_bytes}};
}

std::vector<Member> members_of_truncation() {
  return {{Role::op, &Fact::op_id},
          {Role::file, &Fact::file},
          {Role::duration, &Fact::duration_ns},
          {Role::result, &Fact::result},
          {Meaning::offset, &Fact::offset},
          {Meaning::bytes, &Fact::bytes},
          {Meaning::flags_fallocate, &Fact::flags},
          {Role::path, &Fact::call}};
}

std::vector<Member> members_of_change() {
  return {{Role::pid, &Fact::pid},
          {Role::op, &Fact::op_id},
          {Meaning::device, &Fact::device},
          {"transaction", &Fact::sector},
          {"blocks_dirtied", &Fact::bytes}};
}

std::vector<Member> members_of_commit() {
  return {{Role::pid, &Fact::pid},          {Role::duration, &Fact::duration_ns},
          {Meaning::device, &Fact::device}, {"transaction", &Fact::sector},
          {"blocks_logged", &Fact::bytes},  {"handles", &Fact::call},
          {"traced_handles", &Fact::result}};
}

std::vector<Member> members_of_copy() {
  return {{Role::pid, &Fact::pid},
          {Role::op, &Fact::op_id},
          {Role::duration, &Fact::duration_ns},
          {Role::bytes, &Fact::result},
          {Role::to_file, &Fact::file},
          {"out_position", &Fact::offset}};
}

const std::vector<Table>& tables() {
  static const Member kPid = {Role::pid, &Fact::pid};
  static const Member kOp = {Role::op, &Fact::op_id};
  static const Member kFile = {Role::file, &Fact::file};
  static const Member kDuration = {Role::duration, &Fact::duration_ns};
  static const Member kOffset = {Meaning::offset, &Fact::offset};
  static const Member kIndex = {Meaning::page_index, &Fact::offset};
  static const Member kPages = {Meaning::pages, &Fact::bytes};
  static const Member kBytes = {Meaning::bytes, &Fact::bytes};
  static const Member kMoved = {Role::bytes, &Fact::result};
  static const Member kResult = {Role::result, &Fact::result};
  static const Member kDevice = {Meaning::device, &Fact::device};
  static const Member kSector = {Meaning::sector, &Fact::sector};
  static const Member kFlags = {Meaning::flags_block, &Fact::flags};
  static const std::vector<Member> kCallMembers = {kPid,    kOp,    kFile, kDuration,
                                                   kOffset, kBytes, kMoved};
  static const std::vector<Table> kTables = {
      {IOT_KIND_syscall_read, FactKind::read, kCallMembers},
      {IOT_KIND_syscall_write, FactKind::write, kCallMembers},
      {IOT_KIND_vfs_read, FactKind::read, kCallMembers},
      {IOT_KIND_vfs_write, FactKind::write, kCallMembers},
      {IOT_KIND_async_operation,
       FactKind::write,
       {kPid, kOp, kFile, kDuration, kOffset, kBytes, kResult, {Role::call, &Fact::call}}},
      {IOT_KIND_syscall_copy, FactKind::copy, members_of_copy()},
      {IOT_KIND_syscall_open,
       FactKind::truncated,
       {kFile, kDuration, kResult, {Meaning::flags_open, &Fact::flags}}},
      {IOT_KIND_syscall_truncate, FactKind::truncated, members_of_truncation()},
      {IOT_KIND_syscall_mmap,
       FactKind::mapped,
       {kFile, {Meaning::flags_map, &Fact::flags}, {Meaning::flags_prot, &Fact::call}}},
      {IOT_KIND_syscall_sync,
       FactKind::synced,
       {kOp, kFile, kDuration, kResult, {Role::call, &Fact::call}}},
      {IOT_KIND_cache_add, FactKind::added, {kPid, kOp, kFile, kIndex, kPages}},
      {IOT_KIND_cache_dirty, FactKind::dirtied, {kPid, kOp, kFile, kIndex, kPages}},
      {IOT_KIND_cache_delete, FactKind::evicted, {kFile, kIndex, kPages}},
      {IOT_KIND_cache_writeback,
       FactKind::flushed,
       {kPid, kFile, {Meaning::value_writeback_reason, &Fact::flags}}},
      {IOT_KIND_fs_journal_handle, FactKind::joined, members_of_change()},
      {IOT_KIND_fs_journal_commit, FactKind::committed, members_of_commit()},
      {IOT_KIND_fs_journal_checkpoint, FactKind::emptied, {kOp}},
      {IOT_KIND_block_queue, FactKind::queued, members_of_bio()},
      {IOT_KIND_block_insert, FactKind::inserted, {kBytes, kDevice, kSector, kFlags}},
      {IOT_KIND_block_complete,
       FactKind::completed,
       {kPid,
        kOp,
        kFile,
        kDuration,
        kBytes,
        kDevice,
        kSector,
        kFlags,
        kResult,
        {"queue_ns", &Fact::queue_ns}}},
      {IOT_KIND_block_error,
       FactKind::failed,
       {kBytes, kDevice, kSector, kFlags, kResult, {Meaning::request, &Fact::call}}},
  };
  return kTables;
}

// A call passes both layers: the first recorded one is used.
bool is_in_layer_above(const store::TraceReader& trace, iot_u16 kind) {
  switch (kind) {
  case IOT_KIND_vfs_read:
    return trace.has_rows(IOT_KIND_syscall_read);
  case IOT_KIND_vfs_write:
    return trace.has_rows(IOT_KIND_syscall_write);
  default:
    return false;
  }
}

// Effects of io_uring's and libaio's calls on a file, by call number.
std::map<std::uint64_t, FactKind> facts_of_async_calls() {
  constexpr const schema::Event& kEvent = *schema::find_event(IOT_KIND_async_operation);
  constexpr std::string_view kCallTable = schema::value_table(schema::Meaning::value_async_call);
  std::map<std::uint64_t, FactKind> facts;
  for (const schema::Value& value : schema::kValues)
    for (const schema::CallClass& row : schema::kCallClasses)
      if (value.table == kCallTable && row.event == kEvent.name && row.call == value.name) {
        if (schema::has_trait(row.name, schema::Trait::reads))
          facts[value.number] = FactKind::read;
        else if (schema::has_trait(row.name, schema::Trait::writes))
          facts[value.number] = FactKind::write;
        else if (schema::has_trait(row.name, schema::Trait::sets_length))
          facts[value.number] = FactKind::truncated;
        else if (schema::has_trait(row.name, schema::Trait::makes_holes))
          facts[value.number] = FactKind::punched; // if it has a position
      }
  return facts;
}

// Converts pages to bytes; false: larger than any file.
bool count_bytes(Fact& fact) {
  if (fact.offset > kFarthest / kPageBytes || fact.bytes > kFarthest / kPageBytes)
    return false;
  fact.offset *= kPageBytes;
  fact.bytes *= kPageBytes;
  return true;
}

} // namespace

std::vector<FactStream::Source> FactStream::sources_of(const store::TraceReader& trace,
                                                       bool needs_added_pages) {
  std::vector<Source> sources;
  for (const Table& table : tables()) {
    const store::TableInfo* stored = trace.table(table.kind);
    if (stored == nullptr || is_in_layer_above(trace, table.kind) ||
        (table.kind == IOT_KIND_cache_add && !needs_added_pages))
      continue;
    Source source{table.kind, table.fact, {}};
    for (const Member& member : table.members)
      if (const int column = stored->index(member.column); column >= 0)
        source.columns.emplace_back(static_cast<std::size_t>(column), member.member);
    sources.push_back(std::move(source));
  }
  return sources;
}

store::EventStream::Columns FactStream::columns_of(const std::vector<Source>& sources) {
  store::EventStream::Columns columns;
  for (const Source& source : sources) {
    std::vector<int>& positions = columns[source.kind];
    for (const auto& [column, member] : source.columns)
      positions.push_back(static_cast<int>(column));
  }
  return columns;
}

FactStream::FactStream(const store::TraceReader& trace, bool needs_added_pages)
    : sources_(sources_of(trace, needs_added_pages)), events_(trace, columns_of(sources_)),
      paths_(trace),
      loss_times_(find_loss_times(trace, !is_in_layer_above(trace, IOT_KIND_vfs_read) ||
                                             !is_in_layer_above(trace, IOT_KIND_vfs_write))) {}

// A call with a range has its begin; one that sets the length has the path or the file.
bool FactStream::translate_truncation() {
  if (fact_.offset != kNoOffset) {
    fact_.kind = FactKind::punched;
    return (fact_.flags &
            (IOT_fallocate_FALLOC_FL_PUNCH_HOLE | IOT_fallocate_FALLOC_FL_ZERO_RANGE)) != 0;
  }
  fact_.offset = fact_.bytes;
  if (fact_.file == 0)
    fact_.file = paths_.file(fact_.call);
  return true;
}

// `bytes` 0: the call syncs one file.
bool FactStream::translate_sync() {
  if (fact_.call == IOT_syscall_syncfs || fact_.call == IOT_syscall_sync)
    fact_.bytes = 1;
  return fact_.result == 0 && fact_.call != IOT_syscall_sync_file_range;
}

// For io_uring and libaio.
bool FactStream::translate_async() {
  static const std::map<std::uint64_t, FactKind> kFacts = facts_of_async_calls();
  const auto found = kFacts.find(fact_.call);
  if (found == kFacts.end())
    return false;
  fact_.kind = found->second;
  return fact_.kind == FactKind::read || fact_.kind == FactKind::write || fact_.result == 0;
}

// Translates the current event; false: the engine does not need it.
bool FactStream::translate() {
  switch (events_.table().kind) {
  case IOT_KIND_async_operation:
    return translate_async();
  case IOT_KIND_syscall_open:
    fact_.offset = 0;
    return (fact_.flags & IOT_open_O_TRUNC) != 0 && static_cast<std::int64_t>(fact_.result) >= 0;
  case IOT_KIND_syscall_truncate:
    return fact_.result == 0 && translate_truncation();
  case IOT_KIND_syscall_mmap:
    return fact_.file != 0 && (fact_.call & IOT_prot_PROT_WRITE) != 0 &&
           (fact_.flags & IOT_map_MAP_SHARED) != 0;
  case IOT_KIND_block_error: // a failed request has its own completion
    return fact_.call == 0;
  case IOT_KIND_syscall_sync:
    return translate_sync();
  case IOT_KIND_cache_add:
  case IOT_KIND_cache_dirty:
  case IOT_KIND_cache_delete:
    return count_bytes(fact_);
  default:
    return true;
  }
}

bool FactStream::next() {
  while (events_.next()) {
    const iot_u16 kind = events_.table().kind;
    const auto source = std::ranges::find(sources_, kind, &Source::kind);
    fact_ = Fact{};
    fact_.kind = source->fact;
    fact_.ts_ns = events_.time_ns();
    for (const auto& [column, member] : source->columns)
      fact_.*member = events_.number(column);
    fact_.bytes = std::min(fact_.bytes, kFarthest);
    if (translate())
      return true;
  }
  return false;
}

} // namespace iotrail::trail
