// SPDX-License-Identifier: BSD-3-Clause
//
// The tree of IO Tracer: <first>/<MACHINE>/<DATE>/<stream>/<stream>_<DATE>_<NUMBER>.csv.zst, with
// manifest.json and system_spec/ beside the streams.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "export/iotrc/compressed_file.hpp"
#include "export/iotrc/new_files.hpp"
#include "export/iotrc/stream.hpp"
#include "export/output_directory.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output::iotrc {

// A new file begins before the row that would pass one of these.
struct PartLimits {
  std::uint64_t rows = 100'000;
  std::uint64_t age_ns = 300'000'000'000; // between the times of its first and last row
  std::uint64_t size_bytes = 100'000'000; // of its text, before compression
};

struct Options {
  Era era = Era::current;
  Compression compression = Compression::zstd;
  PartLimits limits;
  bool hides_names = false;
  std::string machine; // hexadecimal id; empty: from the name of the host
};

struct Written {
  std::filesystem::path session;             // relative to the directory
  std::map<std::string, std::uint64_t> rows; // by stream
};

struct StreamTally {
  std::uint64_t rows = 0;
  std::uint64_t files = 0;
};

// A tree that grows while its trace is recorded. Each pass reads the trace anew: of the events only
// blocks that earlier passes have not seen, or that were too young then. Each row is written once,
// when it is final: parts are closed and named together, at the end of a pass. A pass that fails
// leaves the tree as it was, and the next one writes the same rows.
class Tree {
public:
  explicit Tree(Options options) : options_(std::move(options)) {}

  // Streams that are due: their rows since the last pass are as many or as old as a part may be.
  // Their rows that became final before `until_ns` are in the trace, but for some that come late:
  // these follow in a later pass. `opened_ns`: when the trace was opened. Returns whether it wrote.
  Result<bool> advance(const TraceInput& input, const OutputDirectory& directory,
                       std::uint64_t opened_ns, std::uint64_t until_ns);
  // All that is left of a trace that has ended.
  Result<Written> finish(const TraceInput& input, const OutputDirectory& directory);

  const std::string& session() const { return session_; } // "": nothing is written yet

private:
  struct Progress {
    std::uint64_t from_ns = 0; // earlier rows are written
    std::size_t new_block = 0; // no pass has seen blocks from here on
    double share = 1;          // rows of the stream, of all events of its tables
    StreamTally tally;
  };
  // How much of the trace there was, when.
  struct Mark {
    std::uint64_t opened_ns;
    std::size_t blocks;
  };

  Result<void> begin(const TraceInput& input, const OutputDirectory& directory);
  std::size_t first_block(std::uint64_t from_ns) const;
  std::uint64_t due_until(const TraceInput& input, const Progress& progress, std::uint64_t rows,
                          std::uint64_t until_ns) const;
  Result<void> write(const TraceInput& input, NewFiles& files, std::size_t stream,
                     std::uint64_t until_ns, Progress& progress) const;
  Result<void> write_facts(const TraceInput& input, NewFiles& files, bool has_ended);
  Written written() const;

  Options options_;
  std::string machine_;
  std::string session_;
  bool has_system_spec_ = false;
  std::vector<Progress> progress_; // of each stream
  std::vector<Mark> marks_;
};

// Every stream with rows, from the trace of `input`. The directory exists.
Result<Written> write_tree(const TraceInput& input, const Options& options,
                           const OutputDirectory& directory);

} // namespace iotrail::output::iotrc
