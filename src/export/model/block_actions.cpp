// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/block_actions.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "export/trace_rows.hpp"
#include "text/printable.hpp"

namespace iotrail::output {

namespace {

struct LetterAction {
  char letter;
  std::uint32_t action;
};
constexpr LetterAction kLetters[] = {
    {'Q', BLK_TA_QUEUE},      {'G', BLK_TA_GETRQ}, {'M', BLK_TA_BACKMERGE},
    {'F', BLK_TA_FRONTMERGE}, {'P', BLK_TA_PLUG},  {'I', BLK_TA_INSERT},
    {'U', BLK_TA_UNPLUG_IO},  {'D', BLK_TA_ISSUE}, {'R', BLK_TA_REQUEUE},
    {'C', BLK_TA_COMPLETE},
};

// Operations and flags as in the value tables `block` and `block_hint`.
constexpr std::uint32_t kOperation = 255;
constexpr std::uint32_t kFlush = 2;
constexpr std::uint32_t kDiscard = 3;
constexpr std::uint32_t kSecureErase = 5;
struct FlagCategory {
  std::uint32_t flag;
  std::uint32_t category;
};
constexpr FlagCategory kCategories[] = {
    {2048, BLK_TC_SYNC},    {4096, BLK_TC_META},    {131072, BLK_TC_FUA},
    {262144, BLK_TC_FLUSH}, {524288, BLK_TC_AHEAD},
};

// Odd operations write, as in the kernel.
std::uint32_t categories(std::uint32_t flags) {
  const std::uint32_t operation = flags & kOperation;
  std::uint32_t all = BLK_TC_FS;
  all |= operation % 2 == 1 || operation == kFlush ? BLK_TC_WRITE : BLK_TC_READ;
  if (operation == kFlush)
    all |= BLK_TC_FLUSH;
  if (operation == kDiscard || operation == kSecureErase)
    all |= BLK_TC_DISCARD;
  for (const auto& [flag, category] : kCategories)
    if ((flags & flag) != 0)
      all |= category;
  return all;
}

std::uint32_t action_of(char letter, std::uint32_t flags) {
  const auto* row = std::ranges::find(kLetters, letter, &LetterAction::letter);
  const std::uint32_t action = row != std::end(kLetters) ? row->action : BLK_TA_QUEUE;
  const bool has_operation = letter != 'P' && letter != 'U';
  return action | (has_operation ? BLK_TC_ACT(categories(flags)) : 0U);
}

struct ActionColumn {
  enum Number : std::uint8_t {
    kAt,
    kLetter,
    kDevice,
    kSector,
    kBytes,
    kFlags,
    kCpu,
    kTid,
    kComm,
    kError,
    kRequests,
    kBegin
  };
};

BlockAction action_of_row(const TraceRow& row) {
  const char letter =
      row.text(ActionColumn::kLetter).empty() ? 'Q' : row.text(ActionColumn::kLetter).front();
  const std::uint64_t begin_ns = row.number(ActionColumn::kBegin);
  const auto number = [&](ActionColumn::Number column) {
    return static_cast<std::uint32_t>(row.number(column));
  };
  return {.record = {.magic = BLK_IO_TRACE_MAGIC | BLK_IO_TRACE_VERSION,
                     .sequence = 0,
                     .time = row.number(ActionColumn::kAt) -
                             std::min(row.number(ActionColumn::kAt), begin_ns),
                     .sector = row.number(ActionColumn::kSector),
                     .bytes = number(ActionColumn::kBytes),
                     .action = action_of(letter, number(ActionColumn::kFlags)),
                     .pid = number(ActionColumn::kTid),
                     .device = number(ActionColumn::kDevice),
                     .cpu = number(ActionColumn::kCpu),
                     .error = static_cast<std::uint16_t>(row.signed_number(ActionColumn::kError)),
                     .pdu_len = 0},
          .letter = letter,
          .comm = printable(row.text(ActionColumn::kComm)),
          .requests = row.number(ActionColumn::kRequests)};
}

} // namespace

Result<void> for_each_block_action(const TraceInput& input, const Sink& sink, std::uint64_t device,
                                   std::uint64_t cpu,
                                   const std::function<void(const BlockAction&)>& each) {
  const std::string sql = fmt::format(
      "SELECT at_ns, action, device, sector, bytes, flags, cpu, tid, comm, error, requests, "
      "begin_ns "
      "FROM block_actions CROSS JOIN (SELECT begin_ns FROM run) {} ORDER BY at_ns, step, sector",
      device == 0 ? "" : fmt::format("WHERE device = {} AND cpu = {}", device, cpu));
  std::unordered_map<std::uint32_t, std::uint32_t> sequences;
  return for_each_row(input.engine, sql, sink, [&](const TraceRow& row) {
    BlockAction action = action_of_row(row);
    action.record.sequence = ++sequences[action.record.cpu];
    each(action);
  });
}

} // namespace iotrail::output
