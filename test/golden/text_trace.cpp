// SPDX-License-Identifier: BSD-3-Clause
#include "text_trace.hpp"

#include <cstring>
#include <fstream>
#include <ranges>
#include <set>

#include <sys/stat.h>

#include "schema.hpp"
#include "statement.hpp"
#include "store/reader/trace_reader.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::golden {

namespace {

namespace fs = std::filesystem;

// The number of a field that a line omits.
std::uint64_t default_number(const schema::Field& field) {
  const bool is_absent_when_negative =
      field.meaning == schema::Meaning::offset || field.meaning == schema::Meaning::fd;
  return is_absent_when_negative && schema::info(field.type).is_signed ? UINT64_MAX : 0;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const auto word : std::views::split(text, ' '))
    if (!word.empty())
      words.emplace_back(word.begin(), word.end());
  return words;
}

// Fills the fields of a dictionary row from a statement, by name.
class RowFiller {
public:
  explicit RowFiller(const Statement& statement) : statement_(statement) {}

  template <class T> void number(T& field, const char* name, schema::Meaning meaning) {
    seen_.insert(name);
    const std::string& text = statement_.get(name);
    if (text.empty() || !done_)
      return;
    if (const auto value = parse_number(text, meaning))
      field = static_cast<T>(*value);
    else
      done_ = std::unexpected(value.error());
  }
  void text(std::string& field, const char* name) {
    seen_.insert(name);
    field = statement_.get(name);
  }
  Result<void> done() const {
    for (const auto& [name, value] : statement_.values)
      if (!seen_.contains(name))
        return fail(fmt::format("{} has no column {}", statement_.word, name));
    return done_;
  }

private:
  const Statement& statement_;
  std::set<std::string> seen_;
  Result<void> done_;
};

// clang-format off
#define EVENT(id, name, layer, doc) [[maybe_unused]] void fill(RowFiller& filler, rows::name& row) {
#define FIELD(type, name, meaning, doc, ...) filler.number(row.name, #name, schema::Meaning::meaning);
#define TEXT(name, doc) filler.text(row.name, #name);
#define END(name) }
#include "dictionary.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef END
// clang-format on

class TraceBuilder {
public:
  explicit TraceBuilder(const fs::path& trace) : trace_(trace) {}

  Result<void> open() {
    manifest_.iotrail_version = "0.0.0";
    manifest_.trace_id = "00000000000000000000000000000000";
    manifest_.state = store::State::RUNNING;
    auto writer = store::TraceWriter::create(trace_, manifest_);
    if (!writer)
      return std::unexpected(writer.error());
    writer_ = std::move(*writer);
    return {};
  }

  Result<void> add(const Statement& statement);
  Result<void> finish();

private:
  Result<void> add_event(const schema::Event& event, const Statement& statement);
  Result<std::uint64_t> field_number(const schema::Field& field, const Statement& statement);
  Result<void> declare_file(const Statement& statement);
  iot_u32 file_id(const std::string& path);
  Result<void> set_manifest(const Statement& statement);
  Result<void> add_source(const Statement& statement);
  Result<void> add_disk(const Statement& statement);
  template <class Row> Result<void> add_row(const Statement& statement);
  Result<void> damage_table(const std::string& table) const;

  struct File {
    store::FileKey key;
    iot_u32 mode;
    bool is_deleted = false;
    std::string file_system{};
  };
  fs::path trace_;
  store::Manifest manifest_;
  std::unique_ptr<store::TraceWriter> writer_;
  std::map<std::string, File> files_;
  iot_u64 next_inode_ = 100;
  bool is_complete_ = true;
  bool has_failed_ = false;
  std::vector<std::string> damaged_tables_;
};

template <class Row> Result<void> TraceBuilder::add_row(const Statement& statement) {
  Row row;
  RowFiller filler(statement);
  fill(filler, row);
  if (auto done = filler.done(); !done)
    return done;
  writer_->add(row);
  return {};
}

iot_u32 TraceBuilder::file_id(const std::string& path) {
  auto [found, is_new] = files_.try_emplace(path, File{{IOT_DEVICE(8, 1), 0, 0}, S_IFREG | 0644});
  if (is_new)
    found->second.key.inode = next_inode_++;
  const File& file = found->second;
  return writer_->file_id(file.key, file.mode, path,
                          {.is_deleted = file.is_deleted, .file_system = file.file_system});
}

Result<void> TraceBuilder::declare_file(const Statement& statement) {
  File file{{IOT_DEVICE(8, 1), next_inode_++, 0}, S_IFREG | 0644};
  for (const auto& [name, value] : statement.values) {
    if (name == "file_system")
      file.file_system = value;
    if (name == "path" || name == "file_system")
      continue;
    const auto number =
        parse_number(value, name == "device" ? schema::Meaning::device : schema::Meaning::number);
    if (!number)
      return std::unexpected(number.error());
    if (name == "inode")
      file.key.inode = *number;
    else if (name == "device")
      file.key.device = static_cast<iot_u32>(*number);
    else if (name == "generation")
      file.key.generation = static_cast<iot_u32>(*number);
    else if (name == "mode")
      file.mode = static_cast<iot_u32>(*number);
    else if (name == "is_deleted")
      file.is_deleted = *number != 0;
    else
      return fail("a file has no " + name);
  }
  files_[statement.get("path")] = file;
  return {};
}

Result<std::uint64_t> TraceBuilder::field_number(const schema::Field& field,
                                                 const Statement& statement) {
  const std::string name(field.name);
  const std::string& text = statement.get(name);
  if (name == "tid" && text.empty() && !statement.get("pid").empty())
    return parse_number(statement.get("pid"), schema::Meaning::pid);
  if (text.empty())
    return default_number(field);
  if (field.meaning == schema::Meaning::file)
    return file_id(text);
  if (schema::is_string_key(field.meaning))
    return writer_->string_id(text);
  return parse_number(text, field.meaning);
}

Result<void> TraceBuilder::add_event(const schema::Event& event, const Statement& statement) {
  for (const auto& [name, value] : statement.values)
    if (std::ranges::find(event.fields, name, &schema::Field::name) == event.fields.end())
      return fail(fmt::format("{} has no field {}", event.name, name));
  std::vector<iot_u64> storage(event.size_bytes / sizeof(iot_u64) + 1); // aligned for any field
  auto* record = reinterpret_cast<std::byte*>(storage.data());
  for (const schema::Field& field : event.fields) {
    const auto number = field_number(field, statement);
    if (!number)
      return std::unexpected(number.error());
    std::memcpy(record + field.offset, &*number, schema::info(field.type).size_bytes);
  }
  auto* header = reinterpret_cast<iot_event*>(storage.data());
  header->kind = event.id;
  writer_->append(*header);
  return {};
}

Result<void> TraceBuilder::set_manifest(const Statement& statement) {
  const std::map<std::string, std::string*> texts = {{"host", &manifest_.host},
                                                     {"kernel", &manifest_.kernel},
                                                     {"machine", &manifest_.machine},
                                                     {"request", &manifest_.request.json},
                                                     {"stop_reason", &manifest_.stop_reason}};
  const std::map<std::string, std::vector<std::string>*> lists = {
      {"command", &manifest_.command},
      {"layers", &manifest_.layers},
      {"filters", &manifest_.filters},
      {"still_running", &manifest_.still_running},
      {"not_followed", &manifest_.not_followed},
      {"limits", &manifest_.limits},
      {"bare_file_systems", &manifest_.unsupported_file_systems}};
  for (const auto& [name, value] : statement.values) {
    if (texts.contains(name)) {
      *texts.at(name) = value;
      continue;
    }
    if (lists.contains(name)) {
      *lists.at(name) = words_of(value);
      continue;
    }
    const auto number = parse_number(value, schema::Meaning::number);
    if (!number)
      return std::unexpected(number.error());
    if (name == "command_status")
      manifest_.command_status = static_cast<int>(*number);
    else if (name == "cpu_count")
      manifest_.cpu_count = static_cast<int>(*number);
    else if (name == "sample_of")
      manifest_.sample_of = static_cast<std::uint32_t>(*number);
    else if (name == "begin_ns")
      manifest_.begin_ns = *number;
    else if (name == "end_ns")
      manifest_.end_ns = *number;
    else if (name == "monotonic_to_real_ns")
      manifest_.monotonic_to_real_ns = static_cast<std::int64_t>(*number);
    else if (name == "command_user_ns")
      manifest_.command_user_ns = *number;
    else if (name == "command_system_ns")
      manifest_.command_system_ns = *number;
    else if (name == "recorder_cpu_ns")
      manifest_.recorder_cpu_ns = *number;
    else if (name == "recorder_memory_bytes")
      manifest_.recorder_memory_bytes = *number;
    else if (name == "ring_memory_bytes")
      manifest_.ring_memory_bytes = *number;
    else
      return fail("the manifest has no " + name);
  }
  return {};
}

Result<void> TraceBuilder::add_source(const Statement& statement) {
  store::SourceTally tally{.name = statement.get("name")};
  for (auto [name, to] :
       {std::pair{"produced", &tally.produced}, std::pair{"written", &tally.written},
        std::pair{"lost", &tally.lost}, std::pair{"summed_up", &tally.summed_up},
        std::pair{"left_out", &tally.left_out}}) {
    if (statement.get(name).empty())
      continue;
    const auto number = parse_number(statement.get(name), schema::Meaning::number);
    if (!number)
      return std::unexpected(number.error());
    *to = *number;
  }
  manifest_.sources.push_back(tally);
  return {};
}

Result<void> TraceBuilder::add_disk(const Statement& statement) {
  store::DiskReport disk;
  disk.name = statement.get("name");
  const std::string& recorded = statement.get("recorded");
  for (const auto coverage :
       {store::DiskCoverage::none, store::DiskCoverage::followed, store::DiskCoverage::all})
    if (recorded == store::coverage_name(coverage))
      disk.recorded = coverage;
  const std::map<std::string, std::uint64_t*> numbers = {
      {"device", &disk.device},
      {"begin_ns", &disk.begin_ns},
      {"end_ns", &disk.end_ns},
      {"read_bytes", &disk.sums.read_bytes},
      {"written_bytes", &disk.sums.written_bytes},
      {"discarded_bytes", &disk.sums.discarded_bytes},
      {"flushes", &disk.sums.flushes},
      {"in_flight", &disk.in_flight},
      {"request_max_bytes", &disk.request_max_bytes}};
  for (const auto& [name, value] : statement.values) {
    if (name == "name" || name == "recorded")
      continue;
    if (!numbers.contains(name))
      return fail("a disk has no " + name);
    const auto number = parse_number(value, schema::Meaning::number);
    if (!number)
      return std::unexpected(number.error());
    *numbers.at(name) = *number;
  }
  manifest_.disks.push_back(std::move(disk));
  return {};
}

Result<void> TraceBuilder::add(const Statement& statement) {
  const std::string& word = statement.word;
  if (const schema::Event* event = schema::find_event(std::string_view(word));
      event && !event->is_dictionary())
    return add_event(*event, statement);
  if (word == "file")
    return declare_file(statement);
  if (word == "processes")
    return add_row<rows::processes>(statement);
  if (word == "devices")
    return add_row<rows::devices>(statement);
  if (word == "losses")
    return add_row<rows::losses>(statement);
  if (word == "event_sums")
    return add_row<rows::event_sums>(statement);
  if (word == "manifest")
    return set_manifest(statement);
  if (word == "source")
    return add_source(statement);
  if (word == "disk")
    return add_disk(statement);
  if (word == "hook")
    manifest_.hooks.push_back({statement.get("event"), statement.get("source"),
                               statement.get("tier"), statement.get("hook"),
                               statement.get("reason"), statement.get("remedy")});
  else if (word == "counter")
    for (const auto& [name, value] : statement.values)
      manifest_.counters[name] = std::stoull(value);
  else if (word == "tag")
    manifest_.tags[statement.get("name")] = statement.get("value");
  else if (word == "block")
    return writer_->flush();
  else if (word == "incomplete")
    is_complete_ = false;
  else if (word == "failed")
    has_failed_ = true;
  else if (word == "damage")
    damaged_tables_.push_back(statement.get("table"));
  else
    return fail("there is no event or statement " + word);
  return {};
}

// Inverts a byte in the middle of the table's last block.
Result<void> TraceBuilder::damage_table(const std::string& table) const {
  const auto reader = store::TraceReader::open(trace_);
  if (!reader)
    return std::unexpected(reader.error());
  const store::TableInfo* found = (*reader)->table(table);
  const store::BlockInfo* last = nullptr;
  std::uint64_t end = UINT64_MAX;
  for (const store::BlockInfo& block : (*reader)->blocks())
    if (found && block.kind == found->kind)
      last = &block;
  if (!last)
    return fail("no block to damage: " + table);
  const fs::path path =
      trace_ / store::segment_name(store::segment_kind(last->segment), last->segment);
  for (const store::BlockInfo& block : (*reader)->blocks())
    if (block.segment == last->segment && block.offset > last->offset)
      end = std::min(end, block.offset);
  const std::uint64_t at =
      last->offset + (std::min(end, fs::file_size(path)) - last->offset) * 3 / 4;
  std::fstream segment(path, std::ios::binary | std::ios::in | std::ios::out);
  char byte = 0;
  segment.seekg(static_cast<std::streamoff>(at)).get(byte);
  segment.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(~byte));
  segment.close();
  return segment ? Result<void>{} : fail_errno("cannot damage " + path.string());
}

Result<void> TraceBuilder::finish() {
  if (is_complete_) {
    manifest_.state = has_failed_ ? store::State::ERROR : store::State::COMPLETE;
    if (auto done = writer_->finish(manifest_); !done)
      return done;
  } else {
    if (auto done = writer_->flush(); !done)
      return done;
    if (auto done = writer_->write_manifest(manifest_); !done)
      return done;
  }
  writer_.reset();
  for (const std::string& table : damaged_tables_)
    if (auto done = damage_table(table); !done)
      return done;
  return {};
}

} // namespace

Result<void> write_text_trace(std::string_view text, const fs::path& trace) {
  TraceBuilder builder(trace);
  if (auto done = builder.open(); !done)
    return done;
  std::size_t number = 0;
  for (const auto part : std::views::split(text, '\n')) {
    ++number;
    const std::string_view line(part.begin(), part.end());
    const auto statement = parse_statement(line);
    if (!statement)
      return fail(fmt::format("line {}: {}", number, statement.error().message()));
    if (!*statement)
      continue;
    if (auto done = builder.add(**statement); !done)
      return fail(fmt::format("line {}: {}", number, done.error().message()));
  }
  return builder.finish();
}

} // namespace iotrail::golden
