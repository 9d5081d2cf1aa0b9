// SPDX-License-Identifier: BSD-3-Clause
//
// The collector's end of events that are added up in the kernel (bpf/out/aggregate.bpf.h): what of each record is added up, and the
// table of sums, from which what has come is taken out again and again.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/collect/kernel_ids.hpp"
#include "capture/kernel/collect/rings.hpp"
#include "capture/source.hpp"
#include "dictionary_rows.hpp"

struct iotrail_bpf;

namespace iotrail::capture::kernel {

// That events are added up: the size of the table, the places of each CPU.
void configure_aggregates(iot_config& config, const AggregateOptions& options);

// By the schema, what the programs add up of each kind of event.
iot_aggregate_fields aggregate_fields_of(const schema::Event& event);

// Before loading; sizes the table and the places where records are put together. `config.sums`: its rows.
void prepare_aggregates(iotrail_bpf& skeleton, const iot_config& config, std::uint32_t cpu_count);

// What events have in common that are added up, on whatever CPU they were.
struct AggregateKey {
  iot_u16 kind = 0;
  iot_u32 operation = 0; // a call, or flags; of several
  iot_u32 pid = 0;
  iot_u32 file = 0; // the kernel's number of it
  iot_u32 device = 0;
  iot_s32 error = 0;
  iot_u32 bucket = IOT_AGGREGATE_NO_BUCKET;
  bool is_others = false;

  auto operator<=>(const AggregateKey&) const = default;
};

struct AggregateValues {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t max_ns = 0;

  void add(const AggregateValues& other);
};

// The durations of a bucket, as bpf/out/aggregate.bpf.h makes them: from the first on, below the second.
struct BucketBounds {
  std::uint64_t least_ns = 0;
  std::uint64_t below_ns = 0; // 0: the events take no time
};
BucketBounds bounds_of_bucket(iot_u32 bucket);
iot_u32 bucket_of(std::uint64_t duration_ns);

class AggregateTable {
public:
  // `skeleton` is loaded and outlives the table.
  static Result<AggregateTable> map(iotrail_bpf& skeleton, int aggregates_fd, std::uint32_t rows);
  AggregateTable() = default;

  // A record that user space has put together.
  void add(const iot_event& record);

  // Many rows are in use: it is time to take them.
  bool is_filling() const;

  // How many events have been added up, those taken among them.
  std::uint64_t events() const;
  std::uint64_t events_taken() const { return taken_; }
  std::size_t memory_bytes() const { return mapping_.bytes(); }

  // What has come since the last time; adds to events_taken(). Waits some 10 to 20 ms for programs that are at it.
  std::map<AggregateKey, AggregateValues> take();
  // The same after the last program has ended.
  std::map<AggregateKey, AggregateValues> take_all();

private:
  std::span<iot_aggregate_row> rows() const; // those of others, then the halves
  std::span<iot_aggregate_row> half(std::uint32_t number) const;
  void move_others(std::map<AggregateKey, AggregateValues>& aggregates);
  void move_half(std::uint32_t number, std::map<AggregateKey, AggregateValues>& aggregates);
  std::map<AggregateKey, AggregateValues> count(std::map<AggregateKey, AggregateValues> aggregates);

  Mapping mapping_;
  std::uint32_t rows_of_half_ = 0;
  iot_u32* half_in_use_ = nullptr; // shared with the programs
  iot_u32* rows_made_ = nullptr;
  std::map<AggregateKey, AggregateValues> added_; // by user space
  std::uint64_t taken_ = 0;
};

// Writes the sums of events that ended between two times, with the ids of the trace, and returns what was written.
std::vector<rows::event_sums>
write_aggregate_rows(const std::map<AggregateKey, AggregateValues>& aggregates,
                     std::uint64_t from_ns, std::uint64_t to_ns, KernelIds& ids,
                     store::TraceWriter& writer);

} // namespace iotrail::capture::kernel
