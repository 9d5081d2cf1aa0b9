// SPDX-License-Identifier: BSD-3-Clause
#include "report/answer/first_screen_notes.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "report/coverage.hpp"
#include "report/small_result.hpp"

namespace iotrail::output {

namespace {

constexpr double kNoticed = 0.01;                 // of the run
constexpr std::uint64_t kMappedBytes = 1U << 20U; // fewer hardly cost time

constexpr std::uint64_t kPartKept = 20; // a twentieth of what was written is worth a word

constexpr std::uint64_t kBesidesBytes = 1U << 20U; // fewer are any machine's own
constexpr std::size_t kBesides = 3;

constexpr std::size_t kHungCalls = 2;
constexpr std::size_t kRefusals = 2;

// "cat[7] hangs: openat of fm/src for 12.0 s, in request_wait_answer, of the FUSE daemon sshfs[9]"
Sentence hung_call(const SmallResult& calls, std::size_t row) {
  Sentence text = sentence("{program}[{pid}] hangs: {call} of {path} for {time}",
                           {text_value("program", calls.text(row, "comm")),
                            text_value("pid", calls.text(row, "tid")),
                            text_value("call", calls.text(row, "call")),
                            {"path", calls.text(row, "path"), Meaning::path},
                            ns_value("time", calls.number(row, "duration_ns"))});
  if (!calls.is_null(row, "waited_in"))
    text.add(", in {function}", {text_value("function", calls.text(row, "waited_in"))});
  if (!calls.is_null(row, "daemon"))
    text.add(", of the FUSE daemon {daemon}", {text_value("daemon", calls.text(row, "daemon"))});
  return text;
}

// Causes of writes that do not explain themselves, in plain words.
std::string plain_cause(const store::TraceReader& trace, const std::string& cause) {
  if (cause == "dirty_before" && !layer_not_recorded(trace, "cache").empty())
    return "writer unknown (layer cache was not recorded)";
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"write_back", "their data"},
      {"direct", "direct writes"},
      {"mapped", "stored through mappings"},
      {"rounding", "rest of their pages"},
      {"along", "rest of their folios"},
      {"compressed", "their data, compressed"},
      {"request", "requests without bios"},
      {"outside", "of other processes"},
      {"kernel_thread", "of kernel threads"},
      {"dirty_before", "dirty before the recording, or by others"},
      {"other_metadata", "metadata for others"},
      {"no_bio", "of others in one request"},
      {"unknown", "without a known cause"}};
  const auto* found = std::ranges::find(kWords, cause, [](const auto& row) { return row.first; });
  return found == std::end(kWords) ? cause : std::string(found->second);
}

// Written bytes that no device was given: unknown with losses, which count as none.
Result<std::uint64_t> cached_bytes(analysis::Engine& engine, const Completeness& completeness) {
  if (!completeness.is_whole())
    return 0;
  const auto rows =
      SmallResult::query(engine, "SELECT coalesce(total(pending), 0) AS bytes FROM write_fates");
  if (!rows)
    return std::unexpected(rows.error());
  return rows->size() == 0 ? 0 : rows->number(0, "bytes");
}

// Bytes that programs stored, and those that disks wrote for them.
struct WrittenBytes {
  std::uint64_t by_calls = 0;
  std::uint64_t mapped = 0; // pages of mappings
  std::uint64_t copied = 0; // by the kernel, for calls that do not write: overlayfs
  std::uint64_t disk = 0;
  std::uint64_t failed = 0;

  std::uint64_t stored() const { return by_calls + mapped + copied; }
};

WrittenBytes sums_of(const SmallResult& causes) {
  WrittenBytes sums;
  for (std::size_t row = 0; row < causes.size(); ++row) {
    sums.disk += causes.number(row, "bytes");
    sums.failed += causes.number(row, "failed");
    sums.copied += causes.number(row, "copied");
    if (causes.text(row, "cause") == "mapped")
      sums.mapped += causes.number(row, "bytes");
  }
  return sums;
}

// "Written: programs 21 B and 1.56 MiB in mapped pages, disks 7.81 MiB (x 5.00)"
Sentence written_sentence(const WrittenBytes& bytes, const Completeness& completeness) {
  Sentence text = sentence(fmt::format("Written: programs {}{{written}}", at_least(completeness)),
                           {bytes_value("written", bytes.by_calls)});
  if (bytes.mapped > 0)
    text.add(" and {mapped} in mapped pages", {bytes_value("mapped", bytes.mapped)});
  if (bytes.copied > 0)
    text.add(" and {copied} copied or zeroed by the kernel", {bytes_value("copied", bytes.copied)});
  text.add(fmt::format(", disks {}{{disk}}", at_least(completeness)),
           {bytes_value("disk", bytes.disk)});
  if (bytes.stored() > 0 && bytes.disk > 0 && completeness.is_whole())
    text.add(" ({factor})",
             {{"factor", static_cast<double>(bytes.disk) / static_cast<double>(bytes.stored()),
               Meaning::ratio}});
  return text;
}

} // namespace

Result<std::vector<Sentence>> hangs_of(analysis::Engine& engine) {
  const auto calls = SmallResult::query(
      engine, "SELECT comm, tid, call, path, duration_ns, waited_in, daemon FROM hung_calls "
              "LEFT JOIN served_ops ON op_id = waiting_op ORDER BY duration_ns DESC, tid, op_id");
  if (!calls)
    return std::unexpected(calls.error());
  std::vector<Sentence> hangs;
  for (std::size_t row = 0; row < std::min(calls->size(), kHungCalls); ++row)
    hangs.push_back(hung_call(*calls, row));
  if (calls->size() > kHungCalls)
    hangs.push_back(sentence("{more} more calls hang: iotrail query TRACE \"FROM hung_calls\"",
                             {count_value("more", calls->size() - kHungCalls)}));
  return hangs;
}

Result<std::vector<Sentence>> refusals_of(analysis::Engine& engine) {
  const auto calls = SmallResult::query(
      engine, "SELECT program, call, error, meaning, path, calls FROM refused_io "
              "ORDER BY calls DESC, first_ns, program, call, error, path");
  if (!calls)
    return std::unexpected(calls.error());
  std::vector<Sentence> refusals;
  for (std::size_t row = 0; row < std::min(calls->size(), kRefusals); ++row) {
    Sentence text = sentence("FAILED: {call} of {program}",
                             {text_value("call", calls->text(row, "call")),
                              text_value("program", calls->text(row, "program"))});
    if (!calls->is_null(row, "path"))
      text.add(" on {path}", {{"path", calls->text(row, "path"), Meaning::path}});
    text.add(calls->number(row, "calls") == 1 ? ", once, with {error}: {meaning}"
                                              : ", {calls} times, with {error}: {meaning}",
             {count_value("calls", calls->number(row, "calls")),
              text_value("error", calls->text(row, "error")),
              text_value("meaning", calls->text(row, "meaning"))});
    refusals.push_back(std::move(text));
  }
  return refusals;
}

Result<Sentence> bytes_of(analysis::Engine& engine, const Completeness& completeness) {
  const auto causes = SmallResult::query(
      engine, "SELECT cause, total(bytes - failed_bytes) AS bytes, total(failed_bytes) AS failed, "
              "total(CASE WHEN cause IN ('write_back', 'compressed') AND call <> 'other' "
              "AND NOT writes(call) THEN bytes - failed_bytes END) AS copied "
              "FROM device_causes WHERE direction = 'write' GROUP BY cause ORDER BY bytes DESC");
  if (!causes)
    return std::unexpected(causes.error());
  const auto calls = SmallResult::query(
      engine, "SELECT coalesce(total(bytes), 0) AS bytes FROM file_calls WHERE writes(class)");
  if (!calls)
    return std::unexpected(calls.error());
  WrittenBytes bytes = sums_of(*causes);
  bytes.by_calls = calls->size() == 0 ? 0 : calls->number(0, "bytes");
  const auto kept = cached_bytes(engine, completeness);
  if (!kept)
    return std::unexpected(kept.error());
  if (bytes.disk == 0 && bytes.failed == 0 && *kept == 0)
    return Sentence{};
  Sentence text = written_sentence(bytes, completeness);
  for (std::size_t row = 0; row < std::min<std::size_t>(causes->size(), 4); ++row)
    text.add(row == 0 ? ": {cause} {bytes}" : ", {cause} {bytes}",
             {text_value("cause", plain_cause(engine.trace(), causes->text(row, "cause"))),
              bytes_value("bytes", causes->number(row, "bytes"))});
  if (bytes.failed > 0)
    text.add("; {failed} failed", {bytes_value("failed", bytes.failed)});
  if (*kept > 0 && *kept * kPartKept >= bytes.by_calls)
    text.add("; {kept} still in the cache when the recording ended", {bytes_value("kept", *kept)});
  return text;
}

Result<Sentence> disk_work_besides(analysis::Engine& engine) {
  if (engine.trace().manifest().disks.empty())
    return Sentence{};
  const auto rows = SmallResult::query(
      engine,
      fmt::format("SELECT device_name, direction, absent FROM disk_balance WHERE recorded = "
                  "'followed' AND unit = 'bytes' AND absent >= {} AND absent * {} >= in_trace "
                  "AND device IN (SELECT device FROM disk_balance WHERE in_trace > 0) "
                  "ORDER BY absent DESC, device, direction",
                  kBesidesBytes, kPartKept));
  if (!rows)
    return std::unexpected(rows.error());
  Sentence text;
  for (std::size_t row = 0; row < std::min(rows->size(), kBesides); ++row) {
    const std::string direction = rows->text(row, "direction");
    const std::string did =
        direction == "write" ? "wrote" : direction + (direction == "read" ? "" : "ed");
    if (row == 0)
      text = sentence("Not in the trace, for others or by the file system itself:");
    text.add(row == 0 ? " {device} {did} {bytes}" : ", {device} {did} {bytes}",
             {text_value("device", rows->text(row, "device_name")), text_value("did", did),
              bytes_value("bytes", rows->number(row, "absent"))});
  }
  return text;
}

Result<std::string> server_of(analysis::Engine& engine) {
  const auto rows = SmallResult::query(
      engine,
      "SELECT daemon, total(wait_ns) AS wait_ns, (SELECT total(wait_ns) FROM server_waits) AS "
      "all_ns FROM server_waits GROUP BY daemon ORDER BY wait_ns DESC LIMIT 1");
  if (!rows)
    return std::unexpected(rows.error());
  if (rows->size() == 0 || rows->is_null(0, "daemon"))
    return "a server";
  const std::string daemon = "the FUSE daemon " + rows->text(0, "daemon");
  if (rows->real(0, "wait_ns") >= rows->real(0, "all_ns"))
    return daemon;
  return rows->real(0, "wait_ns") * 2 > rows->real(0, "all_ns") ? "servers, mostly " + daemon
                                                                : "a server";
}

Result<PageFaults> page_faults_of(analysis::Engine& engine) {
  const auto rows = SmallResult::query(
      engine, "SELECT bytes, device_ns, coalesce(share, 0) AS share, coalesce(wait_ns, 0) AS "
              "wait_ns, coalesce(wait_share, 0) AS wait_share, coalesce(path, '') AS path "
              "FROM fault_reads");
  if (!rows)
    return std::unexpected(rows.error());
  if (rows->size() == 0)
    return PageFaults{};
  return PageFaults{.bytes = rows->number(0, "bytes"),
                    .device_ns = rows->number(0, "device_ns"),
                    .device_share = rows->real(0, "share"),
                    .wait_ns = rows->number(0, "wait_ns"),
                    .wait_share = rows->real(0, "wait_share"),
                    .path = rows->text(0, "path")};
}

Sentence filters_sentence(const store::Manifest& manifest) {
  std::vector<std::string> filters = manifest.filters;
  std::erase_if(filters, [](const std::string& word) { return word.starts_with("--snapshot "); });
  if (filters.empty())
    return {};
  return sentence("Recorded with {filters}: other I/O is not here.",
                  {text_value("filters", fmt::format("{}", fmt::join(filters, " ")))});
}

Sentence faults_sentence(const PageFaults& faults) {
  if (faults.wait_share >= kNoticed)
    return sentence(
        "Programs waited {wait_ns} in page faults outside of calls ({wait_share} of the "
        "run); devices read {bytes} for faults. That counts as outside I/O.",
        {ns_value("wait_ns", faults.wait_ns), share_value("wait_share", faults.wait_share),
         bytes_value("bytes", faults.bytes)});
  if (faults.bytes < kMappedBytes)
    return {};
  return sentence("{bytes} were read for page faults on mapped files, for which devices worked "
                  "{device_ns} ({device_share} of the run). Time in faults counts as outside I/O.",
                  {bytes_value("bytes", faults.bytes), ns_value("device_ns", faults.device_ns),
                   share_value("device_share", faults.device_share)});
}

} // namespace iotrail::output
