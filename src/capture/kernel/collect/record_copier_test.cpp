// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/collect/record_copier.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "capture/kernel/collect/translation.hpp"
#include "store/test_support.hpp"

namespace iotrail::capture::kernel {
namespace {

using store::testing::Record;
using Rows = std::vector<std::vector<std::uint64_t>>;

constexpr std::size_t kRingSlots = 1024;
constexpr iot_u32 kNamed = 50; // files and strings with messages

std::vector<std::uint64_t> values_of(const Record& record) {
  std::vector<std::uint64_t> values;
  for (const schema::Field& field : record.event().fields)
    values.push_back(record.get(field));
  return values;
}

template <class Message> std::unique_ptr<Message> make_message(iot_u32 type, iot_u32 id) {
  auto message = std::make_unique<Message>();
  message->header.type = type;
  message->header.id = id;
  return message;
}

// A ring in plain memory, and a trace to drain it into.
class RecordCopierTest : public ::testing::Test {
protected:
  void open(store::WriterOptions options) {
    ids_.report_to(tasks_);
    writer_ = store::testing::create(directory_ / "t.iotrail", options);
    for (iot_u32 id = kNamed; id > 0; --id) { // so that none is the same in the trace
      name_file(id);
      name_string(id);
    }
  }

  void name_file(iot_u32 id) {
    const auto message = make_message<iot_message_file>(IOT_MESSAGE_FILE, id);
    message->inode = 1000 + id;
    ids_.take(message->header, *writer_);
  }

  void name_string(iot_u32 id) {
    const auto message = make_message<iot_message_string>(IOT_MESSAGE_STRING, id);
    const std::string string = fmt::format("string {}", id);
    string.copy(message->string, string.size());
    message->header.bytes = static_cast<iot_u32>(string.size() + 1);
    ids_.take(message->header, *writer_);
  }

  // Reserves a slot and fills it; only its tag finishes it.
  RecordSlot& produce(const Record& record) {
    RecordSlot& slot = ring_[head_++ % kRingSlots];
    std::memcpy(&slot, &record.as_event(), record.event().size_bytes);
    event_of(slot).tag = static_cast<iot_u32>(head_);
    return slot;
  }

  static iot_event& event_of(RecordSlot& slot) { return reinterpret_cast<iot_event&>(slot); }

  void drain() {
    while (tail_ < head_) {
      const std::size_t at = tail_ % kRingSlots;
      const auto slots =
          std::span(ring_).subspan(at, std::min<std::size_t>(head_ - tail_, kRingSlots - at));
      const std::size_t copied = copier_->copy(slots, tail_, ids_, deferred_filter_, *writer_);
      if (copied == 0)
        return;
      tail_ += copied;
    }
  }

  // The expected record of the trace.
  std::vector<std::uint64_t> expected(Record record) {
    for (const schema::Field& field : record.event().fields) {
      const auto id = static_cast<iot_u32>(record.get(field));
      if (field.meaning == schema::Meaning::file)
        record.set(field, ids_.lookup().file(id));
      else if (field.meaning == schema::Meaning::path || field.meaning == schema::Meaning::string)
        record.set(field, ids_.lookup().string(id));
      else if (field.meaning == schema::Meaning::stack)
        record.set(field, ids_.lookup().stack(id));
    }
    return values_of(record);
  }

  std::unique_ptr<store::TraceReader> finish() {
    tasks_.write(*writer_, 0);
    store::Manifest manifest;
    EXPECT_TRUE(writer_->finish(manifest).has_value());
    return store::testing::open(directory_ / "t.iotrail");
  }

  store::testing::TemporaryDirectory directory_;
  std::unique_ptr<store::TraceWriter> writer_;
  Tasks tasks_;
  KernelIds ids_;
  DeferredFilter deferred_filter_;
  std::unique_ptr<RecordCopier> copier_ = std::make_unique<RecordCopier>();
  std::vector<RecordSlot> ring_{kRingSlots};
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

// Any values except ids, since some ids have no message.
Record make_record(const schema::Event& event, std::uint64_t ts_ns, std::mt19937_64& random) {
  Record record = store::testing::random_record(event, random);
  for (const schema::Field& field : event.fields)
    switch (field.meaning) {
    case schema::Meaning::file:
      record.set(field, random() % (kNamed + 5) | (random() % 2 == 0 ? IOT_FILE_UNWANTED : 0));
      break;
    case schema::Meaning::path:
    case schema::Meaning::string:
    case schema::Meaning::stack:
      record.set(field, random() % (kNamed + 5));
      break;
    case schema::Meaning::device:
      record.set(field, random() % 3);
      break;
    default:
      break;
    }
  record.as_event().ts_ns = ts_ns;
  return record;
}

std::vector<const schema::Event*> events_of_kernel() {
  std::vector<const schema::Event*> events;
  for (const schema::Event& event : schema::kEvents)
    if (schema::source_of(event.layer) == IOT_source_kernel)
      events.push_back(&event);
  return events;
}

// Blocks of 100 rows end within batches, the ring begins anew many times, runs of a kind are of any length.
TEST_F(RecordCopierTest, every_kind_arrives_in_order_with_the_ids_of_the_trace) {
  open({.block_rows = 100, .buffered_bytes = 200'000});
  std::mt19937_64 random(3);
  const auto events = events_of_kernel();
  const schema::Event* event = events[0];
  std::map<iot_u16, Rows> rows;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    if (random() % 8 == 0)
      event = events[random() % events.size()];
    const Record record = make_record(*event, 1000 + i, random);
    rows[event->id].push_back(expected(record));
    produce(record);
    if (head_ - tail_ == kRingSlots || random() % 700 == 0)
      drain();
  }
  drain();
  EXPECT_EQ(tail_, head_);
  const auto reader = finish();
  EXPECT_EQ(rows.size(), events.size());
  for (const auto& [kind, of_kind] : rows)
    EXPECT_EQ(store::testing::rows_of(*reader, kind), of_kind) << reader->table(kind)->name;
}

TEST_F(RecordCopierTest, a_file_and_a_string_get_the_ids_of_the_trace) {
  open({});
  // The trace already has ids that the kernel does not know.
  name_file(70);
  EXPECT_EQ(ids_.lookup().file(70), kNamed + 1);
  EXPECT_EQ(ids_.lookup().file(70 | IOT_FILE_UNWANTED), kNamed + 1);
  EXPECT_EQ(ids_.lookup().file(69), 0U) << "its text was lost";
  Record record(*schema::find_event("syscall_read"));
  const schema::Field& file =
      *std::ranges::find(record.event().fields, "file", &schema::Field::name);
  record.set(file, 70);
  produce(record);
  drain();
  record.set(file, kNamed + 1);
  EXPECT_EQ(store::testing::rows_of(*finish(), record.event().id), Rows{values_of(record)});
}

TEST_F(RecordCopierTest, an_unfinished_record_holds_up_those_after_it) {
  open({});
  const Record record(*schema::find_event("cache_hit"));
  for (int i = 0; i < 5; ++i)
    produce(record);
  event_of(ring_[3]).tag = 0;
  drain();
  EXPECT_EQ(tail_, 3U);
  event_of(ring_[3]).tag = 4;
  drain();
  EXPECT_EQ(tail_, 5U);
  // The slots of the round before hold no records of this one.
  head_ = kRingSlots + 5;
  tail_ = kRingSlots;
  drain();
  EXPECT_EQ(tail_, kRingSlots);
  EXPECT_EQ(store::testing::rows_of(*finish(), record.event().id).size(), 5U);
}

TEST_F(RecordCopierTest, a_record_of_an_unknown_kind_is_counted) {
  open({});
  const Record record(*schema::find_event("cache_hit"));
  produce(record);
  for (const iot_u16 kind : std::to_array<iot_u16>({0, 0x04ff, 0xffff}))
    event_of(produce(record)).kind = kind;
  produce(record);
  drain();
  EXPECT_EQ(writer_->stats().rows_unknown, 3U);
  EXPECT_EQ(store::testing::rows_of(*finish(), record.event().id).size(), 2U);
}

using Commands = std::map<std::uint64_t, std::string>; // by process

Commands commands_in(const store::TraceReader& reader) {
  Commands commands;
  for (const store::BlockInfo& block : reader.blocks())
    if (const store::TableInfo& table = *reader.table(block.kind); table.name == "processes") {
      const auto columns = reader.read(block).value();
      const auto column = [&](std::string_view name) -> const store::Column& {
        return columns[static_cast<std::size_t>(table.column(name))];
      };
      for (std::size_t i = 0; i < block.rows; ++i)
        commands[std::get<store::Numbers>(column("pid"))[i]] =
            std::get<store::Texts>(column("command"))[i];
    }
  return commands;
}

TEST_F(RecordCopierTest, no_process_inherits_the_program_of_an_ended_one) {
  open({});
  Tasks tasks;
  tasks.expect_kernel();
  ids_.report_to(tasks);
  const auto exec = make_message<iot_message_process>(IOT_MESSAGE_EXEC, 0);
  exec->pid = 7;
  exec->arguments_bytes = 3;
  std::memcpy(exec->arguments, "cp", 3);
  ids_.take(exec->header, *writer_);
  const auto fork = make_message<iot_message_process>(IOT_MESSAGE_FORK, 0);
  fork->parent_pid = 7;
  Record exit(*schema::find_event("process_exit"));
  exit.as_event().pid = 7;
  auto& last = reinterpret_cast<iot_process_exit&>(exit.as_event());
  for (const iot_u32 group_dead : {0U, 1U}) {
    last.group_dead = static_cast<decltype(last.group_dead)>(group_dead);
    produce(exit);
    drain();
    fork->pid = 8 + group_dead;
    ids_.take(fork->header, *writer_);
  }
  tasks.write(*writer_, monotonic_ns());
  EXPECT_EQ(commands_in(*finish()), (Commands{{7, "cp"}, {8, "cp"}, {9, ""}}));
}

TEST_F(RecordCopierTest, a_command_that_was_cut_says_so) {
  open({});
  Tasks tasks;
  tasks.expect_kernel();
  ids_.report_to(tasks);
  const auto exec = make_message<iot_message_process>(IOT_MESSAGE_EXEC, 0);
  exec->pid = 7;
  exec->arguments_bytes = sizeof exec->arguments;
  std::memset(exec->arguments, 'x', sizeof exec->arguments);
  ids_.take(exec->header, *writer_);
  exec->pid = 8;
  exec->arguments[sizeof exec->arguments - 1] = '\0'; // it just fits
  ids_.take(exec->header, *writer_);
  tasks.write(*writer_, monotonic_ns());
  const std::string fits(sizeof exec->arguments - 1, 'x');
  EXPECT_EQ(commands_in(*finish()), (Commands{{7, fits + "x..."}, {8, fits}}));
}

TEST(RecordRings, slots_end_where_the_ring_begins_anew) {
  const Fd slots(::memfd_create("slots", 0));
  ASSERT_EQ(::ftruncate(slots.get(), 1 << 20), 0);
  std::array<iot_cpu, 2> cpus{};
  const auto rings = RecordRings::map(slots.get(), cpus, 64).value();
  const RecordSlot* own = rings.slots(1, 0, 64).data();
  EXPECT_EQ(own - rings.slots(0, 0, 64).data(), 64);
  EXPECT_EQ(rings.slots(1, 64 + 60, 64 + 100).data(), own + 60);
  EXPECT_EQ(rings.slots(1, 64 + 60, 64 + 100).size(), 4U);
  EXPECT_EQ(rings.slots(1, 128, 130).data(), own);
  EXPECT_EQ(rings.slots(1, 128, 130).size(), 2U);
}

} // namespace
} // namespace iotrail::capture::kernel
