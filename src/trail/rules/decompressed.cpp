// SPDX-License-Identifier: BSD-3-Clause
//
// A bio that reads compressed bytes of a file. The range of the file was asked for or read ahead, as
// of any other read, and each part has its share of the bio.
//
// btrfs names the range. squashfs and erofs do not: it is the pages that the operation has added to
// the cache, and that none of its bios has brought before.
#include <algorithm>
#include <vector>

#include "schema.hpp"
#include "trail/rules/rules.hpp"

namespace iotrail::trail {

namespace {

struct PlainRange {
  std::uint64_t begin;
  std::uint64_t end;
};

struct Plain {
  std::uint32_t file;
  std::vector<PlainRange> ranges;
};

// No operation has the upper half of this number.
constexpr std::uint64_t kOutsideOfOperations = std::uint64_t{UINT32_MAX} << 32U;

std::uint64_t adder_of(const Fact& fact) {
  return fact.op_id != 0 ? fact.op_id : kOutsideOfOperations | fact.pid;
}

// Takes the pages of the next unit that the file system decompresses, or all pages if the unit is
// unknown.
Plain take_added(State& state, const Fact& bio) {
  const auto found = state.added.find(adder_of(bio));
  if (found == state.added.end() || found->second.pages.is_empty())
    return {};
  AddedPages& added = found->second;
  Plain plain{added.file, {}};
  std::uint64_t begin = 0;
  std::uint64_t end = UINT64_MAX;
  if (bio.range_bytes != 0) {
    begin = added.pages.first() / bio.range_bytes * bio.range_bytes;
    end = begin + std::min(bio.range_bytes, kFarthest);
  }
  // The unit may have more pages than the file.
  const std::uint64_t end_of_file = page_after(std::min(bio.file_bytes, kFarthest));
  added.pages.take(begin, end, [&](std::uint64_t from, std::uint64_t to, bool) {
    ++state.looks;
    if (from < end_of_file)
      plain.ranges.push_back({from, std::min(to, end_of_file)});
  });
  return plain;
}

Plain plain_of(State& state, const Fact& bio) {
  if (bio.offset >= kFarthest)
    return take_added(state, bio);
  const std::uint64_t bytes = std::min(bio.range_bytes, kFarthest);
  if (bytes == 0)
    return {};
  return {static_cast<std::uint32_t>(bio.file), {{bio.offset, bio.offset + bytes}}};
}

// The parts of one range, behind those of the ranges before.
void add_range(State& state, const Fact& bio, std::uint32_t file, const PlainRange& range,
               BioParts& parts) {
  const std::uint64_t before = parts.empty() ? 0 : parts.back().end;
  Fact read = bio;
  read.file = file;
  read.offset = range.begin;
  read.bytes = range.end - range.begin;
  for (BioPart part : charge_read(state, read)) {
    part.file = file;
    part.offset = range.begin + part.begin;
    part.plain_bytes = part.end - part.begin;
    part.begin += before;
    part.end += before;
    if (part.cause == Cause::read)
      part.cause = Cause::compressed;
    if (bio.offset < kFarthest && bio.is_contiguous == 0)
      part.confidence = Confidence::inferred;
    parts.push_back(part);
  }
}

} // namespace

// Compressed pages may be cached too, in a file of the file system's own.
void note_added(State& state, const Fact& added) {
  const auto file = static_cast<std::uint32_t>(added.file);
  if (state.of_metadata.contains(file) || state.disk_caches.contains(file))
    return;
  AddedPages& of_adder = state.added[adder_of(added)];
  if (of_adder.file != file)
    of_adder = {file, {}};
  state.looks += of_adder.pages.fill(added.offset, added.offset + added.bytes, true);
}

BioParts charge_decompressed(State& state, const Fact& bio) {
  const Plain plain = plain_of(state, bio);
  BioParts parts;
  for (const PlainRange& range : plain.ranges)
    add_range(state, bio, plain.file, range, parts);
  if (parts.empty())
    return charge_other(state, bio);
  const std::uint64_t plain_bytes = parts.back().end;
  BioParts shares = shares_of(parts, plain_bytes, std::min(bio.bytes, plain_bytes));
  if (bio.bytes > plain_bytes) { // squashfs compresses the ends of several files as one unit
    BioPart rest = parts.back();
    rest.begin = plain_bytes;
    rest.end = bio.bytes;
    rest.cause = Cause::rounding;
    rest.offset = kNoOffset;
    rest.plain_bytes = 0;
    shares.push_back(rest);
  }
  return shares;
}

} // namespace iotrail::trail
