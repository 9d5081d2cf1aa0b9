// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "export/model/block_actions.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

struct CategoryLetter {
  std::uint32_t category;
  char letter;
};
constexpr CategoryLetter kCategoryLetters[] = {
    {BLK_TC_FUA, 'F'}, {BLK_TC_AHEAD, 'A'}, {BLK_TC_SYNC, 'S'}, {BLK_TC_META, 'M'}};

// "WSM": the operation and its flags, as blkparse prints them.
std::string rwbs_text(const blk_io_trace& record) {
  const auto has = [&](std::uint32_t category) {
    return (record.action & BLK_TC_ACT(category)) != 0;
  };
  std::string text;
  if (has(BLK_TC_FLUSH))
    text += 'F';
  text += has(BLK_TC_DISCARD) ? 'D' : has(BLK_TC_WRITE) ? 'W' : record.bytes != 0 ? 'R' : 'N';
  for (const auto& [category, letter] : kCategoryLetters)
    if (has(category))
      text += letter;
  return text;
}

void put_blkparse_line(Sink& sink, const BlockAction& action) {
  const blk_io_trace& record = action.record;
  constexpr unsigned kMinorBits = 20;
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::uint32_t minor = record.device & ((1U << kMinorBits) - 1);
  sink.print("{:3},{:<3} {:2} {:8} {:5}.{:09} {:5} {:>2} {:>3} ", record.device >> kMinorBits,
             minor, record.cpu, record.sequence, record.time / kSecond, record.time % kSecond,
             record.pid, action.letter, rwbs_text(record));
  const std::uint32_t sectors = record.bytes >> 9U;
  const std::string_view comm = action.comm.empty() ? "unknown" : std::string_view(action.comm);
  if (action.letter == 'C' && sectors != 0)
    sink.print("{} + {} [{}]\n", record.sector, sectors, record.error);
  else if (action.letter == 'C')
    sink.print("{} [{}]\n", record.sector, record.error);
  else if (action.letter == 'R' && sectors != 0)
    sink.print("{} + {} [{}]\n", record.sector, sectors, record.error);
  else if (action.letter == 'U')
    sink.print("[{}] {}\n", comm, action.requests);
  else if (sectors != 0)
    sink.print("{} + {} [{}]\n", record.sector, sectors, comm);
  else
    sink.print("[{}]\n", comm);
}

Result<void> write_blkparse(const TraceInput& input, Sink& sink) {
  return for_each_block_action(input, sink, 0, 0,
                               [&](const BlockAction& action) { put_blkparse_line(sink, action); });
}

} // namespace

extern const TraceFormat kTraceFormatBlkparse = {
    .name = "blkparse",
    .suffix = "blkparse",
    .doc = "events of block devices as the text of blkparse",
    .omits = "all layers but the block layer, the causes of its requests, splits and remaps",
    .write = write_blkparse,
};

} // namespace iotrail::output
