// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "import/block_requests.hpp"
#include "import/import_format.hpp"
#include "producer/producer_file.hpp"

namespace iotrail::import {
namespace {

constexpr std::uint64_t kSkippedMost = 1ULL << 48U; // more cannot be counted in years

std::unique_ptr<producer::Head> producer_head(std::string_view bytes) {
  auto head = std::make_unique<producer::Head>();
  if (bytes.size() < sizeof(*head))
    return nullptr;
  std::memcpy(head.get(), bytes.data(), sizeof(*head));
  const bool is_good = std::memcmp(head->magic, producer::kMagic, sizeof(head->magic)) == 0 &&
                       head->record_bytes == sizeof(producer::Record) &&
                       head->head_bytes >= sizeof(*head) && head->head_bytes <= (1U << 16U) &&
                       head->lanes == producer::kLanes && head->lane_records <= IOTRAIL_RECORDS_MAX;
  return is_good ? std::move(head) : nullptr;
}

bool is_producer_file(std::string_view head, std::string_view) {
  return producer_head(head) != nullptr;
}

std::string_view text_in(const char* text, std::size_t room) {
  return {text, ::strnlen(text, room)};
}

// A record that was pushed whole. Large files have millions.
struct Pushed {
  std::uint64_t at_ns;
  std::uint64_t io;
  std::uint64_t sector;
  std::uint32_t bytes;
  std::uint32_t device; // in the trace
  std::uint32_t flags;
  std::uint32_t tid;
  std::int32_t error;
  std::uint16_t file; // index of its head
  bool is_completion;
};

std::uint32_t flags_of(const producer::Record& record) {
  std::uint32_t flags = record.operation == IOTRAIL_WRITE     ? std::uint32_t{IOT_block_write}
                        : record.operation == IOTRAIL_DISCARD ? std::uint32_t{IOT_block_discard}
                        : record.operation == IOTRAIL_FLUSH   ? std::uint32_t{IOT_block_flush}
                                                              : std::uint32_t{IOT_block_read};
  flags |= (record.flags & IOTRAIL_FUA) != 0 ? std::uint32_t{IOT_block_hint_fua} : 0;
  flags |= (record.flags & IOTRAIL_METADATA) != 0 ? std::uint32_t{IOT_block_hint_meta} : 0;
  flags |= (record.flags & IOTRAIL_READ_AHEAD) != 0 ? std::uint32_t{IOT_block_hint_readahead} : 0;
  flags |= (record.flags & IOTRAIL_SYNC) != 0 ? std::uint32_t{IOT_block_hint_sync} : 0;
  return flags;
}

bool is_known(const producer::Record& record) {
  return record.kind == producer::kCompletion ||
         (record.operation >= IOTRAIL_READ && record.operation <= IOTRAIL_FLUSH);
}

class ProducerReader {
public:
  explicit ProducerReader(TraceBuilder& trace) : trace_(trace) {}

  // All records of a file, in the order of its lanes.
  Result<void> read(Input& input);
  // All files together, in the order of time.
  void write();

private:
  std::uint64_t read_lane(Input& input, const producer::Head& head);
  Pushed take(const producer::Record& record) const;
  std::uint32_t first_device() const {
    return static_cast<std::uint32_t>(IOT_DEVICE(0, 1 + heads_.size() * IOTRAIL_DEVICES_MAX));
  }
  void describe(const producer::Head& head);
  void begin(const Pushed& pushed);
  void complete(const Pushed& pushed);

  using Key = std::pair<std::uint16_t, std::uint64_t>; // the file, and the number of the I/O
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return (key.second * 0x9e3779b97f4a7c15U) ^ key.first;
    }
  };

  TraceBuilder& trace_;
  std::vector<std::unique_ptr<producer::Head>> heads_;
  std::vector<Pushed> pushed_;
  std::unordered_map<Key, BlockStep, KeyHash> in_flight_;
  std::uint64_t last_bio_ = 0;
};

Pushed ProducerReader::take(const producer::Record& record) const {
  return {.at_ns = record.at_ns,
          .io = record.io,
          .sector = record.sector,
          .bytes = record.bytes,
          .device =
              first_device() + std::min<std::uint32_t>(record.device, IOTRAIL_DEVICES_MAX - 1),
          .flags = flags_of(record),
          .tid = record.tid,
          .error = record.error,
          .file = static_cast<std::uint16_t>(heads_.size()),
          .is_completion = record.kind == producer::kCompletion};
}

// Number of its records that are whole.
std::uint64_t ProducerReader::read_lane(Input& input, const producer::Head& head) {
  std::uint64_t whole = 0;
  for (std::uint64_t place = 0; place < head.lane_records; ++place) {
    producer::Record record{};
    const std::string_view bytes = input.peek(sizeof(record));
    if (bytes.size() < sizeof(record))
      break;
    std::memcpy(&record, bytes.data(), sizeof(record));
    input.skip(sizeof(record));
    if (record.ready != 1 || !is_known(record) || pushed_.size() >= IOTRAIL_RECORDS_MAX)
      continue;
    pushed_.push_back(take(record));
    ++whole;
  }
  return whole;
}

void ProducerReader::describe(const producer::Head& head) {
  for (std::uint32_t i = 0; i < IOTRAIL_DEVICES_MAX; ++i)
    if (const producer::Device& device = head.device[i]; device.is_ready == 1)
      trace_.name_device(first_device() + i, text_in(device.name, producer::kNameBytes),
                         text_in(device.model, producer::kNameBytes), device.bytes);
  const std::string_view command = text_in(head.command, sizeof(head.command));
  trace_.name_process(head.pid, 0,
                      {.comm = text_in(head.comm, sizeof(head.comm)), .command = command});
  trace_.set_command({std::string(command)});
  trace_.set_real_time(head.monotonic_to_real_ns);
}

Result<void> ProducerReader::read(Input& input) {
  std::unique_ptr<producer::Head> head = producer_head(input.peek(sizeof(producer::Head)));
  if (head == nullptr) {
    trace_.malformed(input, "no file of iotrail's producer library begins here");
    return {};
  }
  if (heads_.size() >= UINT16_MAX) {
    trace_.malformed(input, "too many files");
    return {};
  }
  input.peek(head->head_bytes);
  input.skip(head->head_bytes);
  std::uint64_t lost = 0;
  for (const producer::Lane& lane : head->lane) {
    const std::uint64_t taken = std::min(lane.reserved, head->lane_records);
    const std::uint64_t whole = read_lane(input, *head);
    lost += std::min(lane.skipped, kSkippedMost) + taken - std::min(taken, whole);
  }
  if (lost != 0)
    trace_.lost(input, lost, "records that did not fit, or were not finished");
  describe(*head);
  heads_.push_back(std::move(head));
  return input.failure() == nullptr ? Result<void>() : std::unexpected(*input.failure());
}

void ProducerReader::begin(const Pushed& pushed) {
  const BlockStep step{.at_ns = pushed.at_ns,
                       .sector = pushed.sector,
                       .bytes = pushed.bytes,
                       .device = pushed.device,
                       .flags = pushed.flags,
                       .tid = pushed.tid};
  in_flight_[{pushed.file, pushed.io}] = step;
  EventRow row = BlockRequests::row(IOT_KIND_block_queue, step);
  row.set("pid", heads_[pushed.file]->pid)
      .set("bio", ++last_bio_)
      .set("file_bytes", ~std::uint64_t{0});
  (void)trace_.add(row);
}

void ProducerReader::complete(const Pushed& pushed) {
  const auto found = in_flight_.find({pushed.file, pushed.io});
  if (found == in_flight_.end())
    return trace_.left_out("completions without the begin of their I/O");
  BlockStep step = found->second;
  in_flight_.erase(found);
  if (pushed.error == 0)
    step.bytes = pushed.bytes;
  EventRow row = BlockRequests::row(IOT_KIND_block_complete, step);
  row.set("pid", heads_[pushed.file]->pid)
      .set("request", ++last_bio_)
      .set("duration_ns", pushed.at_ns - std::min(pushed.at_ns, step.at_ns))
      .set("error", static_cast<std::uint64_t>(-std::int64_t{pushed.error}));
  (void)trace_.add(row);
}

void ProducerReader::write() {
  std::ranges::sort(pushed_, [](const Pushed& a, const Pushed& b) {
    return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.is_completion < b.is_completion;
  });
  for (const Pushed& pushed : pushed_) {
    if (trace_.is_stopped())
      return;
    pushed.is_completion ? complete(pushed) : begin(pushed);
  }
}

Result<void> read_producers(std::span<Input> inputs, TraceBuilder& trace) {
  ProducerReader reader(trace);
  for (Input& input : inputs)
    if (Result<void> read = reader.read(input); !read)
      return read;
  reader.write();
  return {};
}

} // namespace

extern const ImportFormat kImportFormatProducer = {
    .name = "producer",
    .doc = "programs with libiotrail-producer (include/iotrail/producer.h)",
    .lacks = "calls, files; which I/O a program caused for which of its tasks",
    .recognizes = is_producer_file,
    .read = read_producers,
};

} // namespace iotrail::import
