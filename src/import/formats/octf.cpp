// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/block_requests.hpp"
#include "import/import_format.hpp"
#include "import/protobuf_fields.hpp"

namespace iotrail::import {
namespace {

constexpr std::size_t kOctfMessageMost = 4096; // bytes; the longest field is a name of 64
constexpr std::size_t kOctfPendingMost = 1U << 20U;
constexpr std::size_t kOctfNamesMost = 1U << 20U;
constexpr int kOctfDepthMost = 64; // of directories

struct OctfFile {
  std::uint64_t partition = 0;
  std::uint64_t id = 0;
  auto operator<=>(const OctfFile&) const = default;
};

// All fields of all kinds of events; a field that a message lacks is 0, as in proto3.
struct OctfEvent {
  enum class Kind : std::uint8_t { none, io, device, meta, completion, name, file_event };

  Kind kind = Kind::none;
  std::uint64_t sid = 0;
  std::uint64_t at_ns = 0;
  std::map<std::uint32_t, std::uint64_t> numbers{}; // of the event, by field
  std::map<std::uint32_t, std::string> texts{};
  std::map<std::uint32_t, OctfFile> files{};

  std::uint64_t number(std::uint32_t field) const {
    const auto found = numbers.find(field);
    return found == numbers.end() ? 0 : found->second;
  }
  OctfFile file(std::uint32_t field) const {
    const auto found = files.find(field);
    return found == files.end() ? OctfFile{} : found->second;
  }
};

std::optional<OctfFile> octf_file(std::string_view bytes) {
  OctfFile file;
  const bool is_whole =
      for_each_field(bytes, [&](std::uint32_t field, std::uint64_t number, std::string_view) {
        if (field == 1)
          file.partition = number;
        else if (field == 2)
          file.id = number;
      });
  return is_whole ? std::optional(file) : std::nullopt;
}

bool has_files(OctfEvent::Kind kind) {
  return kind == OctfEvent::Kind::meta || kind == OctfEvent::Kind::name ||
         kind == OctfEvent::Kind::file_event;
}

// The message of one kind of event.
bool take_octf_body(std::string_view bytes, OctfEvent& event) {
  return for_each_field(
      bytes, [&](std::uint32_t field, std::uint64_t number, std::string_view text) {
        event.numbers[field] = number;
        if (text.data() == nullptr)
          return;
        if (const auto file = has_files(event.kind) ? octf_file(text) : std::nullopt)
          event.files[field] = *file;
        event.texts[field] = text;
      });
}

std::optional<OctfEvent> octf_event(std::string_view message) {
  constexpr std::uint32_t kKinds = 7;
  OctfEvent event;
  bool is_good = true;
  bool has_header = false;
  const bool is_whole =
      for_each_field(message, [&](std::uint32_t field, std::uint64_t, std::string_view bytes) {
        if (field == 1) {
          has_header = true;
          is_good &= for_each_field(
              bytes, [&](std::uint32_t part, std::uint64_t number, std::string_view) {
                (part == 1 ? event.sid : event.at_ns) = number;
              });
        } else if (field <= kKinds) {
          event.kind = static_cast<OctfEvent::Kind>(field - 1);
          is_good &= take_octf_body(bytes, event);
        }
      });
  return is_whole && is_good && has_header ? std::optional(event) : std::nullopt;
}

// The next message behind its length. Empty optional: no message begins here.
std::optional<std::string_view> octf_message(std::string_view bytes, std::size_t& size) {
  ByteReader in(std::as_bytes(std::span(bytes)));
  const std::uint64_t length = in.varint();
  if (!in.ok() || length == 0 || length > kOctfMessageMost || length > in.remaining())
    return std::nullopt;
  size = in.position() + length;
  return bytes.substr(in.position(), length);
}

bool is_octf(std::string_view head, std::string_view) {
  constexpr int kMessages = 3;
  int seen = 0;
  for (std::size_t size = 0; seen < kMessages && !head.empty(); ++seen) {
    const auto message = octf_message(head, size);
    const auto event = message ? octf_event(*message) : std::nullopt;
    if (!event || event->kind == OctfEvent::Kind::none)
      return false;
    head.remove_prefix(size);
  }
  return seen > 0;
}

// An I/O without its completion and its file yet.
struct OctfIo {
  BlockStep step;
  OctfFile file;
  std::uint64_t offset = UINT64_MAX; // -1: unknown
  std::uint64_t file_bytes = UINT64_MAX;
  std::uint64_t write_hint = 0;
  std::uint32_t io_class = IOT_io_class_other;
};

class OctfReader {
public:
  explicit OctfReader(TraceBuilder& trace) : trace_(trace) {}

  // False: the event's time is impossible.
  bool take(const OctfEvent& event) {
    switch (event.kind) {
    case OctfEvent::Kind::device:
      trace_.name_device(static_cast<std::uint32_t>(event.number(1)), text(event, 2),
                         text(event, 4), event.number(3) * 512);
      return true;
    case OctfEvent::Kind::io:
      return begin(event);
    case OctfEvent::Kind::meta:
      add_meta(event);
      return true;
    case OctfEvent::Kind::completion:
      return complete(event);
    case OctfEvent::Kind::name:
      if (names_.size() < kOctfNamesMost)
        names_[event.file(1)] = {event.file(2), text(event, 3)};
      return true;
    default:
      trace_.left_out("creations, removals and moves of files");
      return true;
    }
  }

  void finish() {
    for (const auto& [id, io] : pending_)
      (void)add_queue(io);
    pending_.clear();
  }

private:
  struct Name {
    OctfFile parent;
    std::string name;
  };

  static std::string text(const OctfEvent& event, std::uint32_t field) {
    const auto found = event.texts.find(field);
    return found == event.texts.end() ? "" : found->second;
  }

  static std::uint32_t flags_of_io(const OctfEvent& event) {
    enum Operation : std::uint8_t { kRead = 1, kWrite = 2, kDiscard = 3 };
    const bool is_flush = event.number(6) != 0;
    const std::uint64_t operation = event.number(5);
    std::uint32_t flags = operation == kWrite     ? std::uint32_t{IOT_block_write}
                          : operation == kDiscard ? std::uint32_t{IOT_block_discard}
                                                  : std::uint32_t{IOT_block_read};
    if (is_flush && event.number(2) == 0)
      flags = IOT_block_flush;
    else if (is_flush)
      flags |= IOT_block_hint_preflush;
    if (event.number(7) != 0)
      flags |= IOT_block_hint_fua;
    if (event.number(10) != 0)
      flags |= IOT_block_hint_meta;
    if (event.number(12) != 0)
      flags |= IOT_block_hint_readahead;
    return flags;
  }

  // The first version has a number of the class, the second one flags.
  static std::uint32_t io_class_of(const OctfEvent& event) {
    enum Class : std::uint8_t {
      kMetadata = 1,
      kDirectory = 7,
      kSmallest = 11,
      kLargest = 21,
      kDirect = 22
    };
    const std::uint64_t number = event.number(3);
    if (event.number(2) == 0 || flags_of_io(event) == IOT_block_discard)
      return IOT_io_class_no_data;
    if (event.number(11) != 0 || number == kDirect)
      return IOT_io_class_direct;
    if (event.number(10) != 0 || number == kMetadata || number == kDirectory)
      return IOT_io_class_metadata;
    if (event.number(12) != 0)
      return IOT_io_class_read_ahead;
    return number >= kSmallest && number <= kLargest ? IOT_io_class_data : IOT_io_class_other;
  }

  bool begin(const OctfEvent& event) {
    if (pending_.size() >= kOctfPendingMost)
      finish();
    OctfIo io;
    io.step = {.at_ns = event.at_ns,
               .sector = event.number(1),
               .bytes = static_cast<std::uint32_t>(
                   std::min<std::uint64_t>(event.number(2), UINT32_MAX / 512) * 512),
               .device = static_cast<std::uint32_t>(event.number(4)),
               .flags = flags_of_io(event)};
    io.write_hint = event.number(8);
    io.io_class = io_class_of(event);
    // The first version has no ids: an I/O is known by its number in the trace.
    pending_[event.number(9) != 0 ? event.number(9) : event.sid] = io;
    return event.at_ns <= TraceBuilder::kTimeMost_ns;
  }

  void add_meta(const OctfEvent& event) {
    const std::uint64_t id = event.number(5) != 0 ? event.number(5) : event.number(1);
    const auto io = pending_.find(id);
    if (io == pending_.end())
      return trace_.left_out("facts about files of unknown I/O");
    io->second.file = event.file(2);
    if (io->second.io_class == IOT_io_class_other)
      io->second.io_class = IOT_io_class_data;
    io->second.offset = std::min<std::uint64_t>(event.number(3), INT64_MAX / 512) * 512;
    io->second.file_bytes = std::min<std::uint64_t>(event.number(4), INT64_MAX / 512) * 512;
  }

  // The first version's completions name no I/O, but its place.
  std::unordered_map<std::uint64_t, OctfIo>::iterator find_io(const OctfEvent& event) {
    if (event.number(5) != 0)
      return pending_.find(event.number(5));
    constexpr std::size_t kLooksMost = 4096;
    std::size_t looks = 0;
    for (auto io = pending_.begin(); io != pending_.end() && looks < kLooksMost; ++io, ++looks)
      if (io->second.step.sector == event.number(1))
        return io;
    return pending_.end();
  }

  bool complete(const OctfEvent& event) {
    const auto found = find_io(event);
    if (found == pending_.end()) {
      trace_.left_out("completions of requests from before the trace");
      return true;
    }
    const OctfIo io = found->second;
    pending_.erase(found);
    const std::uint64_t end_ns = std::max(event.at_ns, io.step.at_ns);
    EventRow row = BlockRequests::row(IOT_KIND_block_complete, io.step);
    row.set("duration_ns", end_ns - io.step.at_ns)
        .set("request", ++last_request_)
        .set("file", file(io.file))
        .set("error", event.number(3) != 0 ? static_cast<std::uint64_t>(-EIO) : 0);
    return add_queue(io) && trace_.add(row);
  }

  bool add_queue(const OctfIo& io) {
    EventRow row = BlockRequests::row(IOT_KIND_block_queue, io.step);
    row.set("bio", ++last_bio_)
        .set("file", file(io.file))
        .set("offset", io.offset)
        .set("is_contiguous", io.offset == UINT64_MAX ? 0 : 1)
        .set("file_bytes", io.file_bytes)
        .set("write_hint", io.write_hint)
        .set("io_class", io.io_class);
    return trace_.add(row);
  }

  std::uint32_t file(const OctfFile& file) {
    if (file.id == 0)
      return 0;
    return trace_.file({.device = static_cast<std::uint32_t>(file.partition), .inode = file.id}, 0,
                       path(file));
  }

  // Names of directories lead up to one without a name, the root.
  std::string path(OctfFile file) const {
    std::string path;
    for (int depth = 0; depth < kOctfDepthMost; ++depth) {
      const auto found = names_.find(file);
      if (found == names_.end())
        break;
      if (found->second.name != "/")
        path.insert(0, "/" + found->second.name);
      if (found->second.parent == file)
        break;
      file = found->second.parent;
    }
    return path;
  }

  TraceBuilder& trace_;
  std::unordered_map<std::uint64_t, OctfIo> pending_;
  std::map<OctfFile, Name> names_;
  std::uint64_t last_request_ = 0;
  std::uint64_t last_bio_ = 0;
};

// One file, which has the events of one queue in the order of time.
struct OctfCursor {
  Input* input;
  OctfEvent event{};
};

bool next_octf(OctfCursor& cursor, TraceBuilder& trace) {
  for (bool is_known = true;;) {
    const std::string_view bytes = cursor.input->peek(kOctfMessageMost + 10);
    if (bytes.empty())
      return false;
    std::size_t size = 0;
    const auto message = octf_message(bytes, size);
    auto event = message ? octf_event(*message) : std::nullopt;
    if (event) {
      cursor.event = std::move(*event);
      cursor.input->skip(size);
      return true;
    }
    if (is_known) // bytes that are no message count once
      trace.malformed(*cursor.input, "no event of OCTF begins here");
    is_known = false;
    cursor.input->skip(1);
  }
}

Result<void> read_octf(std::span<Input> inputs, TraceBuilder& trace) {
  OctfReader reader(trace);
  std::vector<OctfCursor> cursors;
  for (Input& input : inputs)
    if (OctfCursor cursor{&input}; next_octf(cursor, trace))
      cursors.push_back(std::move(cursor));
  const auto is_later = [](const OctfCursor& a, const OctfCursor& b) {
    return a.event.at_ns != b.event.at_ns ? a.event.at_ns > b.event.at_ns
                                          : a.event.sid > b.event.sid;
  };
  std::ranges::make_heap(cursors, is_later);
  while (!cursors.empty() && !trace.is_stopped()) {
    std::ranges::pop_heap(cursors, is_later);
    OctfCursor& first = cursors.back();
    if (!reader.take(first.event))
      trace.malformed(*first.input, "its time is impossible");
    if (next_octf(first, trace))
      std::ranges::push_heap(cursors, is_later);
    else
      cursors.pop_back();
  }
  reader.finish();
  return check_inputs(inputs);
}

} // namespace

extern const ImportFormat kImportFormatOctf = {
    .name = "octf",
    .doc = "Open-CAS iotrace (OCTF), protobuf of versions 1 and 2",
    .lacks = "system calls, processes, time in queues apart from time in devices",
    .recognizes = is_octf,
    .read = read_octf,
};

} // namespace iotrail::import
