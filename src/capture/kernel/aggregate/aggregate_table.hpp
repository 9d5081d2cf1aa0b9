// SPDX-License-Identifier: BSD-3-Clause
//
// The collector's side of aggregation in the kernel (bpf/out/aggregate.bpf.h): which fields of a
// record are aggregated, and the table, which is emptied repeatedly.
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

// Configures aggregation: the size of the table, the places of each CPU.
void configure_aggregates(iot_config& config, const AggregateOptions& options);

// The fields of an event that the programs aggregate, by the schema.
iot_aggregate_fields aggregate_fields_of(const schema::Event& event);

// Before loading: sizes the table of `config.aggregates` rows and the places for records.
void prepare_aggregates(iotrail_bpf& skeleton, const iot_config& config, std::uint32_t cpu_count);

// The key of aggregated events, on any CPU.
struct AggregateKey {
  iot_u16 kind = 0;
  iot_u32 operation = 0; // a call, or flags, if the event has several
  iot_u32 pid = 0;
  iot_u32 file = 0; // local id of the kernel source
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

// The durations of a bucket of bpf/out/aggregate.bpf.h: from the first on, below the second.
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

  // Adds a record made in user space.
  void add(const iot_event& record);

  // Many rows are in use: it is time to take them.
  bool is_filling() const;

  // The number of aggregated events, including those taken.
  std::uint64_t events() const;
  std::uint64_t events_taken() const { return taken_; }
  std::size_t memory_bytes() const { return mapping_.bytes(); }

  // The aggregates since the last time; adds to events_taken(). Waits some 10 to 20 ms for programs
  // that still use the half.
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

// Writes the aggregates of events that ended between two times, with the ids of the trace, and
// returns the rows.
std::vector<rows::event_sums>
write_aggregate_rows(const std::map<AggregateKey, AggregateValues>& aggregates,
                     std::uint64_t from_ns, std::uint64_t to_ns, KernelIds& ids,
                     store::TraceWriter& writer);

} // namespace iotrail::capture::kernel
