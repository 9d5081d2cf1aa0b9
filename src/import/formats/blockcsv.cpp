// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "import/block_requests.hpp"
#include "import/import_format.hpp"
#include "import/made_up_devices.hpp"
#include "import/numbers.hpp"

namespace iotrail::import {
namespace {

// A request as a line states it.
struct CsvRequest {
  std::uint64_t at_ns = 0;
  std::optional<std::uint64_t> duration_ns{}; // empty: the collection has none
  std::uint64_t offset = 0;                   // in bytes
  std::uint64_t bytes = 0;
  bool is_write = false;
  std::string device{};
  std::uint32_t pid = 0;
  std::string_view program{};
};
using CsvParts = std::vector<std::string_view>;

// How a collection writes its lines.
struct CsvLayout {
  std::string_view name;
  char separator;
  std::size_t columns; // at least
  std::optional<CsvRequest> (*parse)(const CsvParts& parts);
};

std::optional<bool> is_write_word(std::string_view word) {
  if (word == "R" || word == "r" || word == "Read" || word == "read" || word == "RS")
    return false;
  if (word == "W" || word == "w" || word == "Write" || word == "write" || word == "WS")
    return true;
  return std::nullopt;
}

// Ticks of 100 ns since 1601, as Windows counts them.
constexpr std::uint64_t kTicks1970 = 116'444'736'000'000'000;
constexpr std::uint64_t kTick_ns = 100;
constexpr std::uint64_t kOffsetMost = INT64_MAX;

std::optional<CsvRequest> msr_request(const CsvParts& parts) {
  const auto ticks = to_number(parts[0]);
  const auto disk = to_number<std::uint32_t>(parts[2]);
  const auto is_write = is_write_word(parts[3]);
  const auto offset = to_number(parts[4]);
  const auto bytes = to_number(parts[5]);
  const auto response = to_number(parts[6]);
  if (!ticks || *ticks < kTicks1970 || !disk || !is_write || !offset || !bytes || !response ||
      *response > INT64_MAX / kTick_ns)
    return std::nullopt;
  return CsvRequest{.at_ns = (*ticks - kTicks1970) * kTick_ns,
                    .duration_ns = *response * kTick_ns,
                    .offset = *offset,
                    .bytes = *bytes,
                    .is_write = *is_write,
                    .device = fmt::format("{}_{}", parts[1], *disk)};
}

// Timestamp,Response,IOType,LUN,Offset,Size
std::optional<CsvRequest> systor_request(const CsvParts& parts) {
  const auto at_ns = to_ns(parts[0]);
  const auto duration_ns = parts[1].empty() ? std::optional<std::uint64_t>(0) : to_ns(parts[1]);
  const auto is_write = is_write_word(parts[2]);
  const auto offset = to_number(parts[4]);
  const auto bytes = to_number(parts[5]);
  if (!at_ns || !duration_ns || !is_write || !offset || !bytes)
    return std::nullopt;
  return CsvRequest{.at_ns = *at_ns,
                    .duration_ns = parts[1].empty() ? std::nullopt : duration_ns,
                    .offset = *offset,
                    .bytes = *bytes,
                    .is_write = *is_write,
                    .device = fmt::format("lun{}", parts[3])};
}

// device,opcode,offset,length,timestamp in microseconds
std::optional<CsvRequest> alibaba_request(const CsvParts& parts) {
  const auto is_write = is_write_word(parts[1]);
  const auto offset = to_number(parts[2]);
  const auto bytes = to_number(parts[3]);
  const auto at_us = to_number(parts[4]);
  if (!is_write || !offset || !bytes || !at_us || *at_us > INT64_MAX / 1000)
    return std::nullopt;
  return CsvRequest{.at_ns = *at_us * 1000,
                    .offset = *offset,
                    .bytes = *bytes,
                    .is_write = *is_write,
                    .device = fmt::format("volume{}", parts[0])};
}

// timestamp,offset and size in sectors,0 or 1,volume
std::optional<CsvRequest> tencent_request(const CsvParts& parts) {
  const auto at_s = to_number<std::uint32_t>(parts[0]);
  const auto sector = to_number(parts[1]);
  const auto sectors = to_number<std::uint32_t>(parts[2]);
  if (!at_s || !sector || *sector > kOffsetMost / 512 || !sectors ||
      (parts[3] != "0" && parts[3] != "1"))
    return std::nullopt;
  return CsvRequest{.at_ns = std::uint64_t{*at_s} * 1'000'000'000,
                    .offset = *sector * 512,
                    .bytes = std::uint64_t{*sectors} * 512,
                    .is_write = parts[3] == "1",
                    .device = fmt::format("volume{}", parts[4])};
}

// unit,sector,bytes,opcode,seconds
std::optional<CsvRequest> spc_request(const CsvParts& parts) {
  const auto sector = to_number(parts[1]);
  const auto bytes = to_number(parts[2]);
  const auto is_write = is_write_word(parts[3]);
  const auto at_ns = to_ns(parts[4]);
  if (!sector || *sector > kOffsetMost / 512 || !bytes || !is_write || !at_ns)
    return std::nullopt;
  return CsvRequest{.at_ns = *at_ns,
                    .offset = *sector * 512,
                    .bytes = *bytes,
                    .is_write = *is_write,
                    .device = fmt::format("unit{}", parts[0])};
}

// ns pid process sector sectors R|W major minor md5
std::optional<CsvRequest> fiu_request(const CsvParts& parts) {
  const auto at_ns = to_number(parts[0]);
  const auto pid = to_number<std::uint32_t>(parts[1]);
  const auto sector = to_number(parts[3]);
  const auto sectors = to_number<std::uint32_t>(parts[4]);
  const auto is_write = is_write_word(parts[5]);
  if (!at_ns || !pid || !sector || *sector > kOffsetMost / 512 || !sectors || !is_write)
    return std::nullopt;
  return CsvRequest{.at_ns = *at_ns,
                    .offset = *sector * 512,
                    .bytes = std::uint64_t{*sectors} * 512,
                    .is_write = *is_write,
                    .device = fmt::format("{}:{}", parts[6], parts[7]),
                    .pid = *pid,
                    .program = parts[2]};
}

// Of several that fit a line, the first: the order decides between Tencent's and others' numbers.
constexpr CsvLayout kCsvLayouts[] = {
    {"MSR Cambridge", ',', 7, msr_request},   {"SYSTOR '17", ',', 6, systor_request},
    {"Alibaba", ',', 5, alibaba_request},     {"SPC", ',', 5, spc_request},
    {"Tencent CBS", ',', 5, tencent_request}, {"FIU", ' ', 8, fiu_request},
};

bool is_csv_head(std::string_view line) {
  return line.starts_with("Timestamp,") || line.starts_with("timestamp,") ||
         line.starts_with("device_id,");
}

std::optional<CsvRequest> csv_request(const CsvLayout& layout, std::string_view line) {
  const auto parts = split(line, layout.separator);
  if (parts.size() < layout.columns)
    return std::nullopt;
  auto request = layout.parse(parts);
  if (request && (request->bytes > UINT32_MAX || request->offset > kOffsetMost))
    return std::nullopt;
  return request;
}

const CsvLayout* layout_of(std::string_view line) {
  const auto* found = std::ranges::find_if(
      kCsvLayouts, [&](const CsvLayout& layout) { return csv_request(layout, line).has_value(); });
  return found == std::end(kCsvLayouts) ? nullptr : found;
}

bool is_block_csv(std::string_view head, std::string_view) {
  std::string_view line = head.substr(0, head.find('\n'));
  if (is_csv_head(line)) {
    head.remove_prefix(std::min(line.size() + 1, head.size()));
    line = head.substr(0, head.find('\n'));
  }
  return layout_of(trimmed(line.substr(0, line.find('\r')))) != nullptr;
}

class BlockCsv {
public:
  explicit BlockCsv(TraceBuilder& trace) : trace_(trace), devices_(trace) {}

  bool add(const CsvRequest& request) {
    BlockStep step{.at_ns = request.at_ns,
                   .sector = request.offset / 512,
                   .bytes = static_cast<std::uint32_t>(request.bytes),
                   .device = devices_.number(request.device),
                   .flags = request.is_write ? std::uint32_t{IOT_block_write}
                                             : std::uint32_t{IOT_block_read},
                   .tid = request.pid};
    if (request.pid != 0)
      trace_.name_process(request.pid, request.at_ns, {.comm = request.program});
    EventRow row = BlockRequests::row(request.duration_ns ? iot_u16{IOT_KIND_block_complete}
                                                          : iot_u16{IOT_KIND_block_queue},
                                      step);
    ++last_request_;
    return trace_.add(row.set("duration_ns", request.duration_ns.value_or(0))
                          .set("request", last_request_)
                          .set("bio", last_request_)
                          .set("file_bytes", ~std::uint64_t{0}));
  }

private:
  TraceBuilder& trace_;
  MadeUpDevices devices_;
  std::uint64_t last_request_ = 0;
};

Result<void> read_block_csv(std::span<Input> inputs, TraceBuilder& trace) {
  BlockCsv rows(trace);
  for (Input& input : inputs) {
    const CsvLayout* layout = nullptr;
    while (const auto whole = input.next_line()) {
      const std::string_view line = trimmed(*whole);
      if (trace.is_stopped())
        break;
      if (line.empty() || (input.line() == 1 && is_csv_head(line)))
        continue;
      if (layout == nullptr)
        layout = layout_of(line);
      const auto request = layout == nullptr ? std::nullopt : csv_request(*layout, line);
      if (!request)
        trace.malformed(input, layout == nullptr ? "no line of a known collection of block traces"
                                                 : fmt::format("no line of {}", layout->name));
      else if (!rows.add(*request))
        trace.malformed(input, "its time is impossible");
    }
    if (input.failure() != nullptr)
      return std::unexpected(*input.failure());
  }
  return {};
}

} // namespace

extern const ImportFormat kImportFormatBlockcsv = {
    .name = "block-csv",
    .doc = "MSR Cambridge, SYSTOR '17, FIU, Alibaba, Tencent CBS, SPC (UMass)",
    .lacks = "system calls and files; queueing apart from service; durations, if the collection "
             "has none; the kind of device",
    .recognizes = is_block_csv,
    .read = read_block_csv,
};

} // namespace iotrail::import
