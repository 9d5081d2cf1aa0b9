// SPDX-License-Identifier: BSD-3-Clause
//
// Calls on files as fio replays them.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "export/trace_format.hpp"

namespace iotrail::output {

enum class FioKind : std::uint8_t { read, write, sync, datasync };

struct FioAction {
  FioKind kind;
  std::uint64_t at_us; // since the begin of the recording
  std::uint64_t until_us;
  std::uint64_t tid;      // the thread
  std::string file;       // as fio_name() makes it
  std::uint64_t position; // in bytes; 0 for a sync
  std::uint64_t bytes;    // 0 for a sync
};

enum class FioOrder : std::uint8_t { time, thread }; // thread: then by time

// Calls that fio cannot repeat are left out.
Result<void> for_each_fio_action(const TraceInput& input, const Sink& sink, FioOrder order,
                                 const std::function<void(const FioAction&)>& each);

std::string_view fio_word(FioKind kind);

// A path as the name of one file in the directory in which fio runs: a replay writes to no file of
// the recorded program. Reversible (%2F is a slash) up to the length that a name may have.
std::string fio_name(std::string_view path);

// Writes the actions as lines of an iolog.
class IologWriter {
public:
  // Version 3 has times, version 2 has none.
  IologWriter(Sink& sink, int version);

  void add(const FioAction& action);
  void end();

private:
  void put(std::string_view file, std::string_view action);

  Sink& sink_;
  bool has_times_;
  std::uint64_t last_us_ = 0;
  std::vector<std::string> files_; // in the order of their first use
  std::set<std::string> open_;
};

} // namespace iotrail::output
