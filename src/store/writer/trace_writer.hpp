// SPDX-License-Identifier: BSD-3-Clause
//
// Writes one trace: events by append_rows() and append(), dictionaries by the other calls. One thread calls; a second, inside, sorts,
// encodes and writes whole blocks, so that the caller gets back to the rings at once. Memory is bounded
// (WriterOptions): when the disk is slower than the rings, append() waits, and the rings count what they lose. It waits a
// tenth of a second at most. Then is_stalled(), and the caller stops appending until the disk works again.
//
// A failed write (disk full) does not end the process. The trace keeps what was written and stays
// readable. failure() returns the error, and later events count as store_write_failed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi.h"
#include "base/result.hpp"
#include "dictionary_rows.hpp"
#include "schema.hpp"
#include "store/format/manifest.hpp"

namespace iotrail::store {

// Sees the rows that are in the trace, a batch of one kind after the other, from the writer's second
// thread. It must be quick: the rows behind it wait.
class RowObserver {
public:
  virtual ~RowObserver() = default;
  virtual void see_written(const schema::Event& event, std::span<const std::byte> records) = 0;
};

struct WriterOptions {
  std::size_t block_rows = 4096; // the maximum, 16384, saves 1 % of the bytes and takes 6 MiB more
  std::size_t buffered_bytes = 16U << 20U; // of rows that wait for a full block
  std::size_t queued_blocks = 8;           // blocks that wait for the thread
  std::size_t segment_bytes = 256U << 20U;
  std::uint64_t flush_interval_ns = 1'000'000'000; // longest time that a row waits for its block
  int compression_level = 1;
  RowObserver* observer = nullptr; // outlives the writer; nullptr: none
};

// A file as the kernel knows it. Generation 0 means unknown and matches any: user space cannot
// always read it.
// What is known of a file at its first sight, if anything.
struct FileState {
  bool is_deleted = false;      // it has no name any more; its path was its last
  std::string_view file_system; // the type
};

struct FileKey {
  iot_u32 device = 0;
  iot_u64 inode = 0;
  iot_u32 generation = 0;

  bool operator==(const FileKey&) const = default;
};

struct WriterStats {
  std::map<iot_u16, std::uint64_t> rows;        // written, by kind of event
  std::uint64_t bytes = 0;                      // written, with dictionaries and headers
  std::map<iot_u16, std::uint64_t> rows_failed; // by kind of event, could not be written
  std::map<iot_u16, std::uint64_t> row_bytes;   // size of the written blocks, by kind of event
  std::uint64_t summed_up = 0;                  // events counted in written rows of `event_sums`
  std::uint64_t summed_up_failed = 0;           // the same for rows that could not be written
  std::uint64_t rows_unknown = 0;               // of kinds that the schema does not have
  std::uint64_t blocks = 0;
  std::uint64_t failed_at_ns = 0; // monotonic; 0: nothing failed
};

class TraceWriter {
public:
  // Makes the directory, takes the trace's lock, writes the manifest. Fails if the trace exists.
  static Result<std::unique_ptr<TraceWriter>>
  create(const std::filesystem::path& trace, const Manifest& manifest, WriterOptions options = {});
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Returns room for the next rows of `kind`: at least one, at most `rows`, limited by its block.
  // The rows count as appended. The caller must fill all of them with records of that kind before
  // it calls append_rows(), append(), tick(), flush() or finish(). Empty: the kind is unknown, and
  // the rows count as unknown.
  std::span<std::byte> append_rows(iot_u16 kind, std::size_t rows);
  // Copies a single row. `record` begins a struct iot_<event> of the size of its kind.
  void append(const iot_event& record);

  // The same text or file gets the same id; a new one first gets a row in its dictionary. Memory is
  // bounded: the last 65,536 texts and files are remembered, an older one may get a second id. If a
  // file's generation becomes known later, the file keeps its id. Its row gets the generation
  // unless it has been written already.
  iot_u32 string_id(std::string_view text); // "" is 0
  iot_u32 file_id(const FileKey& key, iot_u32 mode, std::string_view path,
                  const FileState& state = {});

  void add(const rows::processes& row);
  void add(const rows::devices& row);
  void add(const rows::losses& row);
  void add(const rows::event_sums& row);

  // The disk takes nothing. What is appended nevertheless is kept in memory.
  bool is_stalled() const;
  void wait_while_stalled() const;

  // Hands over rows that have waited longer than flush_interval_ns; `now_ns` is monotonic.
  void tick(std::uint64_t now_ns);
  // Hands over all rows and waits until they are on disk.
  Result<void> flush();

  Result<void> write_manifest(const Manifest& manifest);
  // flush(), then writes the manifest, which closes the trace. Sets what the store knows: trace_id,
  // counts, events_bytes and the counters of source `store`. If still open, it also sets end_ns and
  // state (COMPLETE, or ERROR with its stop_reason).
  Result<void> finish(Manifest& manifest);

  WriterStats stats() const;
  // Whether the trace has this size, give or take a small part of it. Waiting rows count with an
  // estimate from earlier blocks. Before it returns true, they are written, so that the size is
  // exact.
  bool has_reached(std::uint64_t bytes);
  // After finish(): an error if the trace is no longer at path(). The error says where it is.
  Result<void> check_place() const;

  const Error* failure() const; // nullptr: none
  const std::filesystem::path& path() const;

private:
  std::uint64_t expected_bytes() const;

  struct Impl;
  explicit TraceWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace iotrail::store
