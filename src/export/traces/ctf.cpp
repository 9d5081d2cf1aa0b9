// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/utf8.hpp"
#include "export/event_rows.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

constexpr std::uint32_t kCtfMagic = 0xC1FC1FC1;
constexpr std::size_t kCtfPacketBytes = 1U << 20U; // a packet ends behind the event that passes it

std::string ctf_bytes(const auto& number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number); // the machines of iotrail are little-endian
  return bytes;
}

std::string_view ctf_type(const store::ColumnInfo& info, Kind kind) {
  if (kind == Kind::text)
    return "string";
  return schema::info(info.type).is_signed ? "s64" : "u64";
}

std::string ctf_quoted(std::string_view text) {
  std::string quoted;
  for (const char c : as_utf8(text))
    if (c == '"' || c == '\\')
      quoted += fmt::format("\\{}", c);
    else
      quoted += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return quoted;
}

// The description of all events. A reader drops the underscore in front of names; it keeps them
// apart from the words of the language.
std::string ctf_metadata(const store::TraceReader& trace,
                         const analysis::TraceDictionaries& dictionaries) {
  const store::Manifest& manifest = trace.manifest();
  std::uint64_t lost = 0;
  for (const store::SourceTally& source : manifest.sources)
    lost += source.lost;
  std::string text = fmt::format(
      "/* CTF 1.8 */\n"
      "typealias integer {{ size = 16; align = 8; signed = false; }} := u16;\n"
      "typealias integer {{ size = 32; align = 8; signed = false; }} := u32;\n"
      "typealias integer {{ size = 64; align = 8; signed = false; }} := u64;\n"
      "typealias integer {{ size = 64; align = 8; signed = true; }} := s64;\n"
      "trace {{ major = 1; minor = 8; byte_order = le; packet.header := struct {{ u32 magic; u32 "
      "stream_id; }}; }};\n"
      "env {{ tracer_name = \"iotrail\"; hostname = \"{}\"; events_lost = {}; }};\n"
      "clock {{ name = monotonic; freq = 1000000000; offset = {}; }};\n"
      "typealias integer {{ size = 64; align = 8; signed = false; map = clock.monotonic.value; }} "
      ":= "
      "time;\n"
      "stream {{ id = 0; packet.context := struct {{ time timestamp_begin; time timestamp_end; u64 "
      "content_size; u64 packet_size; }}; event.header := struct {{ u16 id; time timestamp; }}; "
      "}};\n",
      ctf_quoted(manifest.host), std::min<std::uint64_t>(lost, INT64_MAX),
      std::max<std::int64_t>(manifest.monotonic_to_real_ns, 0));
  for (const store::TableInfo& table : trace.tables()) {
    if (table.is_dictionary())
      continue;
    const EventRows rows(table, dictionaries, false, false);
    text += fmt::format("event {{ id = {}; name = \"{}\"; stream_id = 0; fields := struct {{",
                        table.kind, table.name);
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      text += fmt::format(" {} _{};", ctf_type(table.columns[i], rows.columns()[i].kind),
                          rows.columns()[i].name);
    text += " }; };\n";
  }
  return text;
}

// Collects events, and writes them as packets.
class CtfStream {
public:
  explicit CtfStream(Sink& sink) : sink_(sink) {}

  void add(std::uint16_t kind, std::uint64_t ts_ns, std::span<const Cell> cells,
           std::span<const ResultColumn> columns) {
    last_ns_ = std::max(last_ns_, ts_ns); // a forged block may not be sorted
    if (events_.empty())
      first_ns_ = last_ns_;
    events_ += ctf_bytes(kind) + ctf_bytes(last_ns_);
    for (std::size_t i = 0; i < cells.size(); ++i)
      put(cells[i], columns[i].kind);
    if (events_.size() >= kCtfPacketBytes)
      write_packet();
  }

  void end() {
    if (!events_.empty() || is_empty_)
      write_packet();
  }

private:
  void put(const Cell& cell, Kind kind) {
    if (kind == Kind::text) {
      const auto* text = std::get_if<std::string_view>(&cell);
      std::string valid = text != nullptr ? as_utf8(*text) : "";
      std::ranges::replace(valid, '\0', '?');
      events_ += valid;
      events_ += '\0';
    } else if (const auto* number = std::get_if<std::int64_t>(&cell)) {
      events_ += ctf_bytes(*number);
    } else {
      const auto* unsigned_number = std::get_if<std::uint64_t>(&cell);
      events_ += ctf_bytes(unsigned_number != nullptr ? *unsigned_number : std::uint64_t{0});
    }
  }

  void write_packet() {
    constexpr std::uint64_t kHeadBytes = 2 * sizeof(std::uint32_t) + 4 * sizeof(std::uint64_t);
    const std::uint64_t bits = 8 * (kHeadBytes + events_.size());
    sink_.put(ctf_bytes(kCtfMagic) + ctf_bytes(std::uint32_t{0}) + ctf_bytes(first_ns_) +
              ctf_bytes(last_ns_) + ctf_bytes(bits) + ctf_bytes(bits));
    sink_.put(events_);
    events_.clear();
    is_empty_ = false;
  }

  Sink& sink_;
  std::string events_;
  std::uint64_t first_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  bool is_empty_ = true;
};

Result<void> write_ctf_stream(const store::TraceReader& trace,
                              const analysis::TraceDictionaries& dictionaries, std::FILE* file) {
  Sink sink(file);
  CtfStream stream(sink);
  std::unordered_map<iot_u16, EventRows> tables;
  store::EventStream events(trace);
  while (!sink.is_broken() && events.next()) {
    EventRows& rows =
        tables.try_emplace(events.table().kind, events.table(), dictionaries, false, false)
            .first->second;
    stream.add(events.table().kind, events.time_ns(), rows.cells(events), rows.columns());
  }
  stream.end();
  return sink.finish();
}

Result<void> write_ctf(const TraceInput& input, const OutputDirectory& directory) {
  const store::TraceReader& trace = input.engine.trace();
  const auto dictionaries = analysis::TraceDictionaries::load(trace);
  auto written = directory.write("metadata", [&](std::FILE* file) {
    Sink sink(file);
    sink.put(ctf_metadata(trace, dictionaries));
    return sink.finish();
  });
  if (!written)
    return written;
  return directory.write(
      "stream", [&](std::FILE* file) { return write_ctf_stream(trace, dictionaries, file); });
}

} // namespace

extern const TraceFormat kTraceFormatCtf = {
    .name = "ctf",
    .suffix = "ctf",
    .doc = "all events in the Common Trace Format 1.8, for babeltrace2 and Trace Compass",
    .omits =
        "the tables of processes, files and devices: names of files and devices are in the events",
    .is_binary = true,
    .write_files = write_ctf,
};

} // namespace iotrail::output
