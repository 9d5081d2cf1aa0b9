// SPDX-License-Identifier: BSD-3-Clause
#include "store/reader/trace_reader.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>

#include "base/open_files.hpp"
#include "store/format/trace_directory.hpp"
#include "store/reader/row_budget.hpp"
#include "store/reader/segment.hpp"
#include "store/reader/segment_index.hpp"
#include "store/reader/text_budget.hpp"

namespace iotrail::store {
namespace {

constexpr std::size_t kSegmentsFew = 256; // any process may have so many files open
constexpr std::size_t kGapsNamed = 16;    // in the numbers of segments; of more, how many

struct StoredBlock {
  std::unique_ptr<std::byte[]> bytes; // of both
  BlockHeader header;
  ByteSpan payload;
};

} // namespace

struct TraceReader::Impl {
  std::filesystem::path path;
  Manifest manifest;
  std::vector<TableInfo> tables;
  std::vector<std::string> notices;
  std::vector<Segment> segments; // by number
  std::vector<BlockInfo> blocks;
  std::uint64_t seed = 0;
  Damage found_at_open;
  // Blocks with a bad payload, by position in `blocks`, so that each counts once.
  std::unique_ptr<std::atomic<bool>[]> is_bad;
  std::atomic<std::uint64_t> bad_bytes = 0;
  std::atomic<std::uint64_t> bad_blocks = 0;
  std::atomic<std::uint64_t> bad_rows = 0;
  std::atomic<std::uint64_t> blocks_read = 0;
  std::optional<TextBudget> texts;
  std::mutex limits_mutex;
  std::vector<std::string> limits;

  Result<void> read_manifest();
  Result<void> open_segments();
  Result<void> check_versions() const;
  Result<TraceId> trace_id() const;
  // The content of all segments.
  struct Extent {
    std::uint64_t bytes = 0;
    std::uint64_t event_rows = 0;
    std::uint64_t event_rows_skipped = 0;
  };
  void index_blocks(const TraceId& id);
  void compare_with_manifest(const Extent& seen);
  void note_missing_segments();
  std::uint64_t first_event_ns() const;

  const Segment* segment(std::uint32_t number) const;
  std::unexpected<Error> bad_block(const BlockInfo& block, std::string_view why);
  Result<StoredBlock> checked(const BlockInfo& block);
  std::size_t place_of(const BlockInfo& block) const; // in `blocks`
  void count_bad(const BlockInfo& block);
};

Result<void> TraceReader::Impl::open_segments() {
  auto directory = open_trace_directory(path);
  if (!directory)
    return std::unexpected(directory.error());
  auto numbers = list_segments(*directory, path);
  if (!numbers)
    return std::unexpected(numbers.error());
  if (numbers->size() > kSegmentsFew)
    raise_open_files();
  for (const std::uint32_t number : *numbers) {
    const std::string name = segment_name(segment_kind(number), number);
    auto bytes = SegmentBytes::open(*directory, name, path / name);
    if (!bytes)
      return std::unexpected(bytes.error());
    const auto header = header_of(*bytes);
    segments.push_back({number, std::move(*bytes), header});
  }
  return check_versions();
}

Result<void> TraceReader::Impl::check_versions() const {
  for (const Segment& segment : segments)
    if (segment.header && segment.header->format_version > Manifest::kFormatVersion)
      return fail("cannot read the trace " + path.string(),
                  fmt::format("its format version is {}, this iotrail reads versions up to {}",
                              segment.header->format_version, Manifest::kFormatVersion),
                  "read it with the version of iotrail that recorded it, or a newer one");
  return {};
}

// Without a manifest, the schema of this version describes the segments.
Result<void> TraceReader::Impl::read_manifest() {
  auto stored = read_stored_manifest(path);
  if (stored) {
    manifest = std::move(stored->manifest);
    tables = std::move(stored->tables);
    return {};
  }
  if (segments.empty())
    return fail("cannot read the trace " + path.string(),
                "it holds neither a manifest nor segments: not a trace, or an empty one",
                "a trace is a directory NAME.iotrail made by: iotrail record; see: iotrail list");
  if (stored.error().code == ENOTSUP) // a later version: its segments are unreadable too
    return std::unexpected(stored.error());
  manifest.state = State::INCOMPLETE;
  tables = builtin_schema();
  found_at_open.manifest = true;
  notices.push_back(fmt::format(
      "{}: {}; the command, the time of day, the losses and all else that it says are not "
      "known; times count from the first event, and the events are read by the schema of this "
      "iotrail",
      stored.error().what, stored.error().why));
  return {};
}

Result<TraceId> TraceReader::Impl::trace_id() const {
  if (const auto id = trace_id_from_hex(manifest.trace_id))
    return *id;
  for (const Segment& segment : segments)
    if (segment.header)
      return segment.header->trace_id;
  return fail("cannot read the trace " + path.string(),
              "both its manifest and the beginnings of its segments are damaged or empty",
              "nothing can be read of it");
}

void TraceReader::Impl::index_blocks(const TraceId& id) {
  seed = block_seed(id);
  manifest.trace_id = to_hex(id);
  Extent seen;
  for (const Segment& segment : segments)
    seen.bytes += segment.bytes.size();
  RowBudget rows(seen.bytes);
  for (const Segment& segment : segments) {
    if (segment.is_misplaced()) {
      notices.push_back(fmt::format("{} is damaged: it begins as {}",
                                    (path / segment.name()).string(),
                                    segment_name(segment.header->kind, segment.header->number)));
      found_at_open.bytes_skipped += segment.bytes.size();
      continue;
    }
    const SegmentIndex index = index_segment(std::bind_front(&SegmentBytes::read, &segment.bytes),
                                             segment.bytes.size(), id);
    found_at_open.bytes_skipped += index.bytes_skipped + segment.bytes.bytes_left_out();
    found_at_open.blocks_skipped += index.blocks_skipped;
    found_at_open.rows_skipped += index.rows_skipped;
    if (!segment.header)
      found_at_open.bytes_skipped +=
          std::min<std::uint64_t>(segment.bytes.size(), sizeof(SegmentHeader));
    for (const IndexedBlock& block : index.blocks) {
      if (std::ranges::find(tables, block.header.kind, &TableInfo::kind) == tables.end()) {
        found_at_open.bytes_skipped += sizeof block.header + block.header.payload_bytes;
        ++found_at_open.blocks_skipped;
        found_at_open.rows_skipped += block.header.rows;
        seen.event_rows_skipped += segment.number == 0 ? 0 : block.header.rows;
        continue;
      }
      seen.event_rows += segment.number == 0 ? 0 : block.header.rows;
      if (!rows.take(block.header.rows))
        continue;
      blocks.push_back({.kind = block.header.kind,
                        .rows = block.header.rows,
                        .first_ns = block.header.first_ns,
                        .last_ns = block.header.last_ns,
                        .segment = segment.number,
                        .stored_bytes = static_cast<std::uint32_t>(sizeof(BlockHeader)) +
                                        block.header.payload_bytes,
                        .offset = block.offset});
    }
    seen.event_rows_skipped += segment.number == 0 ? 0 : index.rows_skipped;
  }
  if (rows.is_exceeded())
    limits.push_back(rows.limit());
  if (manifest.end_ns != 0)
    compare_with_manifest(seen);
  if (found_at_open.manifest)
    manifest.begin_ns = first_event_ns();
  is_bad = std::make_unique<std::atomic<bool>[]>(blocks.size());
  texts.emplace(blocks.size(), seen.bytes);
}

// 0: there is none.
std::uint64_t TraceReader::Impl::first_event_ns() const {
  std::uint64_t first_ns = UINT64_MAX;
  for (const BlockInfo& block : blocks)
    if (block.segment != 0)
      first_ns = std::min(first_ns, block.first_ns);
  return first_ns == UINT64_MAX ? 0 : first_ns;
}

// A complete trace says how many events and bytes it had. This reveals segments that are cut off
// between two blocks, missing, or there twice.
void TraceReader::Impl::compare_with_manifest(const Extent& seen) {
  if (manifest.events() > seen.event_rows + seen.event_rows_skipped)
    found_at_open.rows_skipped += manifest.events() - seen.event_rows - seen.event_rows_skipped;
  if (manifest.events_bytes > seen.bytes)
    found_at_open.bytes_skipped += manifest.events_bytes - seen.bytes;
  if (seen.event_rows > manifest.events())
    notices.push_back(fmt::format("{} is damaged: it has {} events, its manifest tells of {}",
                                  path.string(), seen.event_rows, manifest.events()));
}

// A file name may claim any segment number, so that each gap gets one notice, whatever its size.
void TraceReader::Impl::note_missing_segments() {
  std::uint32_t next = 0;
  std::size_t gaps = 0;
  for (const Segment& segment : segments) {
    if (segment.number > next && ++gaps <= kGapsNamed) {
      const auto name = [](std::uint32_t n) { return segment_name(segment_kind(n), n); };
      const std::string first = (path / name(next)).string();
      const std::uint32_t last = segment.number - 1;
      notices.push_back(last == next ? first + " is missing"
                                     : fmt::format("{} to {} are missing", first, name(last)));
    }
    next = segment.number + 1;
  }
  if (gaps > kGapsNamed)
    notices.push_back(fmt::format("{}: segments are missing in {} more places", path.string(),
                                  gaps - kGapsNamed));
}

const Segment* TraceReader::Impl::segment(std::uint32_t number) const {
  const auto found = std::ranges::lower_bound(segments, number, {}, &Segment::number);
  return found == segments.end() || found->number != number ? nullptr : &*found;
}

std::unexpected<Error> TraceReader::Impl::bad_block(const BlockInfo& block, std::string_view why) {
  count_bad(block);
  const std::string name = segment_name(segment_kind(block.segment), block.segment);
  return fail(
      fmt::format("cannot read the block at byte {} of {}", block.offset, (path / name).string()),
      std::string(why), "the other blocks of the trace can still be read");
}

Result<StoredBlock> TraceReader::Impl::checked(const BlockInfo& block) {
  const Segment* segment = this->segment(block.segment);
  IOTRAIL_CHECK(segment);
  StoredBlock stored{.bytes = std::make_unique_for_overwrite<std::byte[]>(block.stored_bytes),
                     .header = {},
                     .payload = {}};
  const std::span all(stored.bytes.get(), block.stored_bytes);
  if (segment->bytes.read(block.offset, all) != all.size())
    return bad_block(block, "the file has become shorter since it was opened");
  stored.header = ByteReader(all).read<BlockHeader>();
  stored.payload = all.subspan(sizeof(BlockHeader));
  if (!is_sealed(stored.header, seed) || stored.header.kind != block.kind ||
      stored.header.rows != block.rows || stored.header.payload_bytes != stored.payload.size() ||
      payload_checksum(stored.payload, seed) != stored.header.payload_checksum)
    return bad_block(block, "its checksum does not fit: the file is damaged");
  return stored;
}

std::size_t TraceReader::Impl::place_of(const BlockInfo& block) const {
  const auto place = [](const BlockInfo& b) { return std::pair(b.segment, b.offset); };
  const auto found = std::ranges::lower_bound(blocks, place(block), {}, place);
  IOTRAIL_CHECK(found != blocks.end() && place(*found) == place(block));
  return static_cast<std::size_t>(found - blocks.begin());
}

void TraceReader::Impl::count_bad(const BlockInfo& block) {
  if (is_bad[place_of(block)].exchange(true))
    return;
  bad_bytes += block.stored_bytes;
  ++bad_blocks;
  bad_rows += block.rows;
}

TraceReader::TraceReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TraceReader::~TraceReader() = default;

Result<std::unique_ptr<TraceReader>> TraceReader::open(const std::filesystem::path& trace) {
  auto impl = std::make_unique<Impl>();
  impl->path = trace;
  if (auto opened = impl->open_segments(); !opened)
    return std::unexpected(opened.error());
  if (auto read = impl->read_manifest(); !read)
    return std::unexpected(read.error());
  if (!impl->segments.empty()) {
    const auto id = impl->trace_id();
    if (!id)
      return std::unexpected(id.error());
    impl->index_blocks(*id);
    impl->note_missing_segments();
  } else if (impl->manifest.end_ns != 0) {
    impl->compare_with_manifest({});
  }
  return std::unique_ptr<TraceReader>(new TraceReader(std::move(impl)));
}

const std::filesystem::path& TraceReader::path() const {
  return impl_->path;
}
const Manifest& TraceReader::manifest() const {
  return impl_->manifest;
}
std::span<const TableInfo> TraceReader::tables() const {
  return impl_->tables;
}
std::span<const BlockInfo> TraceReader::blocks() const {
  return impl_->blocks;
}

bool TraceReader::has_rows(iot_u16 kind) const {
  return std::ranges::find(blocks(), kind, &BlockInfo::kind) != blocks().end();
}
std::span<const std::string> TraceReader::notices() const {
  return impl_->notices;
}

void TraceReader::add_limit(std::string sentence) const {
  const std::lock_guard lock(impl_->limits_mutex);
  if (std::ranges::find(impl_->limits, sentence) == impl_->limits.end())
    impl_->limits.push_back(std::move(sentence));
}
std::vector<std::string> TraceReader::limits() const {
  const std::lock_guard lock(impl_->limits_mutex);
  return impl_->limits;
}

const TableInfo* TraceReader::table(iot_u16 kind) const {
  const auto found = std::ranges::find(impl_->tables, kind, &TableInfo::kind);
  return found == impl_->tables.end() ? nullptr : &*found;
}
const TableInfo* TraceReader::table(std::string_view name) const {
  const auto found = std::ranges::find(impl_->tables, name, &TableInfo::name);
  return found == impl_->tables.end() ? nullptr : &*found;
}

Result<std::vector<Column>> TraceReader::read(const BlockInfo& block,
                                              std::span<const int> columns) const {
  const TableInfo* table = this->table(block.kind);
  if (!table)
    return fail("cannot read a block of " + impl_->path.string(),
                fmt::format("the schema has no kind {:#06x}", block.kind));
  const auto stored = impl_->checked(block);
  if (!stored)
    return std::unexpected(stored.error());
  ++impl_->blocks_read;
  std::vector<schema::Type> types;
  for (const ColumnInfo& column : table->columns)
    types.push_back(column.type);
  if (!impl_->texts->take(impl_->place_of(block),
                          text_bytes(stored->header, stored->payload, columns))) {
    add_limit(TextBudget::kLimit);
    return fail("cannot read all texts of " + impl_->path.string(), "they need too much memory");
  }
  auto decoded = decode_block(stored->header, stored->payload, columns, types);
  if (!decoded)
    return impl_->bad_block(block, decoded.error().why);
  return decoded;
}

Result<std::vector<Column>> TraceReader::read(const BlockInfo& block) const {
  const TableInfo* table = this->table(block.kind);
  std::vector<int> all(table ? table->columns.size() : 0);
  std::iota(all.begin(), all.end(), 0);
  return read(block, all);
}

std::uint64_t TraceReader::blocks_read() const {
  return impl_->blocks_read;
}

void TraceReader::check_all() const {
  for (const BlockInfo& block : impl_->blocks)
    (void)impl_->checked(block); // counts the damage
}

void TraceReader::read_all() const {
  for (const BlockInfo& block : impl_->blocks)
    (void)read(block); // counts the damage
}

Damage TraceReader::damage() const {
  Damage damage = impl_->found_at_open;
  damage.bytes_skipped += impl_->bad_bytes;
  damage.blocks_skipped += impl_->bad_blocks;
  damage.rows_skipped += impl_->bad_rows;
  return damage;
}

} // namespace iotrail::store
