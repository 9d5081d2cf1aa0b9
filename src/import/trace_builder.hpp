// SPDX-License-Identifier: BSD-3-Clause
//
// Collects what an importer reads: events and what they refer to go to the trace, malformed records
// are counted and the first ones named. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/event_row.hpp"
#include "import/input.hpp"
#include "store/writer/interner.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::import {

struct ProcessNames {
  std::string_view comm;
  std::string_view exe = {};
  std::string_view command = {};
  std::uint32_t parent_pid = 0;
  std::string rank = {}; // in a parallel job
};

class TraceBuilder {
public:
  static constexpr std::size_t kNamedMost = 10; // malformed records that are named
  static constexpr std::uint64_t kTimeMost_ns = INT64_MAX / 2;

  explicit TraceBuilder(store::TraceWriter& writer) : writer_(writer) {}

  // False: its time or duration is impossible, and it is not in the trace.
  bool add(const EventRow& row);
  std::uint64_t next_op() { return ++last_op_; } // an operation of its own

  std::uint32_t text(std::string_view text) { return writer_.string_id(text); }
  // A file that only its path names has device 0, and a number of its own for an inode.
  std::uint32_t file(std::string_view path, std::uint32_t mode = 0);
  std::uint32_t file(const store::FileKey& key, std::uint32_t mode, std::string_view path);
  // The process has these names from the time on. Does nothing if it has them already.
  void name_process(std::uint32_t pid, std::uint64_t since_ns, const ProcessNames& names);
  // Does nothing if the device is known.
  void name_device(std::uint32_t device, std::string_view name, std::string_view model = {},
                   std::uint64_t bytes = 0);

  void set_command(std::vector<std::string> command);
  // The offset of the imported times to real time.
  void set_real_time(std::int64_t to_real_ns) { to_real_ns_ = to_real_ns; }

  // The record of the input that was read last is no record of its format.
  void malformed(const Input& input, std::string_view why);
  // The program that wrote the input says that so many records are missing.
  void lost(const Input& input, std::uint64_t records, std::string_view what);
  // Records that are whole but give no event, by reason: "signals".
  void left_out(std::string_view what) { ++left_out_[std::string(what)]; }

  std::uint64_t events() const { return events_; }
  std::uint64_t malformed_count() const { return malformed_; }
  const std::vector<std::string>& malformed_named() const { return named_; }
  const std::map<std::string, std::uint64_t>& left_out() const { return left_out_; }
  bool is_stopped() const { return writer_.failure() != nullptr; }

  // Says in the trace how many records were malformed; once, at the end.
  void add_losses();
  // What the manifest says about the events, of the format `hook`.
  void describe(store::Manifest& manifest, std::string_view hook) const;

private:
  store::TraceWriter& writer_;
  std::uint64_t last_op_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t first_ns_ = UINT64_MAX;
  std::uint64_t end_ns_ = 0;
  std::int64_t to_real_ns_ = 0;
  std::uint64_t malformed_ = 0;
  std::vector<std::string> named_;
  std::map<std::string, std::uint64_t> left_out_;
  std::vector<std::string> command_;
  std::set<iot_u16> kinds_;
  std::set<std::uint32_t> devices_;
  store::RecentMap<std::uint32_t, std::string, std::hash<std::uint32_t>> processes_{65536};
};

} // namespace iotrail::import
