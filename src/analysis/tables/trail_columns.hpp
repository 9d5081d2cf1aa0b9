// SPDX-License-Identifier: BSD-3-Clause
//
// The columns of the tables of trail_tables.hpp.
#pragma once

#include <duckdb.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "analysis/tables/trail_tables.hpp"
#include "schema.hpp"

namespace iotrail::analysis {

inline constexpr std::uint64_t kNull = UINT64_MAX;

// A column of rows in memory: a number or kNull, or a text that may be empty.
template <class Row> struct MemoryColumn {
  const char* name;
  duckdb_type type;
  std::uint64_t (*number)(const Row&) = nullptr;
  std::string_view (*text)(const Row&) = nullptr;
};

inline std::uint64_t known(std::uint64_t number) {
  return number == 0 ? kNull : number;
}

// An operation that this version does not know is a number, as in the tables of events.
inline std::string_view operation_name(const trail::Link& link) {
  static const auto names = [] {
    std::array<std::string, UINT8_MAX + 1> made;
    for (std::uint32_t number = 0; number < made.size(); ++number) {
      const std::string_view name = schema::value_name("block", number);
      made[number] = name.empty() ? fmt::format("{}", number) : name;
    }
    return made;
  }();
  return names[link.operation];
}

// NULL: not write-back of a file's pages.
inline std::string_view reason_name(const trail::Link& link) {
  return schema::value_name("writeback_reason", link.reason);
}

using trail::Fate;
using trail::LateRead;
using trail::Link;

inline constexpr MemoryColumn<Link> kLinkColumns[] = {
    {"cause", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const Link& l) { return trail::cause_name(l.cause); }},
    {"is_remainder", DUCKDB_TYPE_UBIGINT,
     [](const Link& l) { return std::uint64_t{trail::is_remainder(l.cause)}; }},
    {"is_repeat", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return std::uint64_t{l.is_repeat}; }},
    {"confidence", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const Link& l) { return trail::confidence_name(l.confidence); }},
    {"op_id", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.op_id; }},
    {"pid", DUCKDB_TYPE_UINTEGER, [](const Link& l) { return std::uint64_t{l.pid}; }},
    {"by_op", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.by_op; }},
    {"by_pid", DUCKDB_TYPE_UINTEGER, [](const Link& l) { return std::uint64_t{l.by_pid}; }},
    {"file", DUCKDB_TYPE_UINTEGER, [](const Link& l) { return std::uint64_t{l.file}; }},
    {"position", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.offset; }},
    {"bytes", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.bytes; }},
    {"plain_bytes", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return known(l.plain_bytes); }},
    {"used_bytes", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.used_bytes; }},
    {"late_bytes", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.late_bytes; }},
    {"late_ns", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.late_ns; }},
    {"device", DUCKDB_TYPE_UINTEGER, [](const Link& l) { return std::uint64_t{l.device}; }},
    {"device_position", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.begin; }},
    {"direction", DUCKDB_TYPE_VARCHAR, nullptr, operation_name},
    {"set_off_by", DUCKDB_TYPE_VARCHAR, nullptr, reason_name},
    {"stored_ns", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return known(l.stored_ns); }},
    {"ts_ns", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return l.queued_ns; }},
    {"inserted_ns", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return known(l.inserted_ns); }},
    {"issued_ns", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return known(l.issued_ns); }},
    {"completed_ns", DUCKDB_TYPE_UBIGINT, [](const Link& l) { return known(l.completed_ns); }},
    {"error", DUCKDB_TYPE_INTEGER,
     [](const Link& l) { return std::uint64_t{static_cast<std::uint32_t>(l.error)}; }},
};

inline constexpr MemoryColumn<Fate> kFateColumns[] = {
    {"pid", DUCKDB_TYPE_UINTEGER, [](const Fate& f) { return std::uint64_t{f.pid}; }},
    {"file", DUCKDB_TYPE_UINTEGER, [](const Fate& f) { return std::uint64_t{f.file}; }},
    {"written", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.written; }},
    {"mapped", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.mapped; }},
    {"outside", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.outside; }},
    {"to_device", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.to_device; }},
    {"failed", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.failed; }},
    {"absorbed", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.absorbed; }},
    {"dropped", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.dropped; }},
    {"inlined", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.inlined; }},
    {"pending", DUCKDB_TYPE_UBIGINT, [](const Fate& f) { return f.pending; }},
};

inline constexpr MemoryColumn<LateRead> kLateReadColumns[] = {
    {"op_id", DUCKDB_TYPE_UBIGINT, [](const LateRead& r) { return r.op_id; }},
    {"by_op", DUCKDB_TYPE_UBIGINT, [](const LateRead& r) { return r.by_op; }},
    {"pid", DUCKDB_TYPE_UINTEGER, [](const LateRead& r) { return std::uint64_t{r.pid}; }},
    {"file", DUCKDB_TYPE_UINTEGER, [](const LateRead& r) { return std::uint64_t{r.file}; }},
    {"bytes", DUCKDB_TYPE_UBIGINT, [](const LateRead& r) { return r.bytes; }},
    {"late_ns", DUCKDB_TYPE_UBIGINT, [](const LateRead& r) { return r.late_ns; }},
};

inline constexpr MemoryColumn<FilePath> kFilePathColumns[] = {
    {"file", DUCKDB_TYPE_UINTEGER, [](const FilePath& p) { return std::uint64_t{p.file}; }},
    {"since_ns", DUCKDB_TYPE_UBIGINT, [](const FilePath& p) { return p.since_ns; }},
    {"until_ns", DUCKDB_TYPE_UBIGINT, [](const FilePath& p) { return p.until_ns; }}, // NULL: none
    {"path", DUCKDB_TYPE_VARCHAR, nullptr, [](const FilePath& p) { return p.path(); }},
    {"shown_path", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const FilePath& p) { return std::string_view(p.shown_path); }},
    {"is_removed", DUCKDB_TYPE_UBIGINT,
     [](const FilePath& p) { return std::uint64_t{p.is_removed}; }},
};

inline constexpr MemoryColumn<CurrentDirectory> kDirectoryColumns[] = {
    {"pid", DUCKDB_TYPE_UINTEGER, [](const CurrentDirectory& d) { return std::uint64_t{d.pid}; }},
    {"since_ns", DUCKDB_TYPE_UBIGINT, [](const CurrentDirectory& d) { return d.since_ns; }},
    {"directory", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const CurrentDirectory& d) { return std::string_view(d.path); }}, // NULL: unknown
    {"directory_file", DUCKDB_TYPE_UINTEGER,
     [](const CurrentDirectory& d) { return std::uint64_t{d.file}; }},
    {"is_inferred", DUCKDB_TYPE_UBIGINT,
     [](const CurrentDirectory& d) { return std::uint64_t{d.is_inferred}; }},
};

inline constexpr MemoryColumn<DamageLoss> kDamageColumns[] = {
    {"from_ns", DUCKDB_TYPE_UBIGINT, [](const DamageLoss& d) { return d.from_ns; }},
    {"to_ns", DUCKDB_TYPE_UBIGINT, [](const DamageLoss& d) { return d.to_ns; }},
    {"source", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const DamageLoss&) { return schema::value_name("source", IOT_source_store); }},
    {"counter", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const DamageLoss&) -> std::string_view {
       return schema::find_counter(IOT_COUNTER_store_block_damaged)->name;
     }},
    {"events", DUCKDB_TYPE_UBIGINT, [](const DamageLoss& d) { return d.events; }},
};

// NULL where no library call has the system call.
inline constexpr MemoryColumn<AppCall> kAppCallColumns[] = {
    {"syscall_op", DUCKDB_TYPE_UBIGINT, [](const AppCall& c) { return c.syscall_op; }},
    {"app_op", DUCKDB_TYPE_UBIGINT,
     [](const AppCall& c) { return c.kind->event.empty() ? kNull : c.app_op; }},
    {"app_event", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const AppCall& c) { return std::string_view(c.kind->event); }},
    {"app_call", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const AppCall& c) { return std::string_view(c.kind->call); }},
    {"place", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const AppCall& c) { return std::string_view(c.kind->place); }},
};

inline constexpr MemoryColumn<CallPart> kCallPartColumns[] = {
    {"op_id", DUCKDB_TYPE_UBIGINT, [](const CallPart& p) { return p.op_id; }},
    {"step", DUCKDB_TYPE_INTEGER, [](const CallPart& p) { return std::uint64_t{p.step}; }},
    {"reason", DUCKDB_TYPE_VARCHAR, nullptr,
     [](const CallPart& p) {
       return p.reason == kNoReason ? std::string_view() : wait_reasons_in_order()[p.reason];
     }},
    {"ns", DUCKDB_TYPE_UBIGINT, [](const CallPart& p) { return p.ns; }},
};

} // namespace iotrail::analysis
