// SPDX-License-Identifier: BSD-3-Clause
#include "store/trace_reader.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <numeric>
#include <optional>

#include "store/segment_index.hpp"
#include "store/trace_directory.hpp"

namespace iotrail::store {
namespace {

// A file mapped for reading; an empty file is an empty span.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (!bytes_.empty())
      munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  static Result<MappedFile> open(const Fd& directory, const std::string& name,
                                 const std::filesystem::path& shown_as) {
    const Fd file(openat(directory.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0)
      return fail_errno("cannot open " + shown_as.string());
    if (!S_ISREG(status.st_mode))
      return fail("cannot open " + shown_as.string(), "it is not a regular file");
    MappedFile mapped;
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0)
      return mapped;
    void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at == MAP_FAILED)
      return fail_errno("cannot map " + shown_as.string());
    mapped.bytes_ = ByteSpan(static_cast<const std::byte*>(at), size);
    return mapped;
  }

  ByteSpan bytes() const { return bytes_; }

private:
  ByteSpan bytes_;
};

struct Segment {
  std::uint32_t number = 0;
  MappedFile file;
  std::optional<SegmentHeader> header;
};

// The number of "events-0001.seg", 0 of "dictionary.seg".
std::optional<std::uint32_t> segment_number(std::string_view name) {
  if (name == segment_name(SegmentKind::dictionary, 0))
    return 0;
  constexpr std::string_view kPrefix = "events-";
  if (!name.starts_with(kPrefix))
    return std::nullopt;
  std::uint32_t number = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
  if (number == 0 || name != segment_name(SegmentKind::events, number))
    return std::nullopt;
  return number;
}

Result<std::vector<std::uint32_t>> list_segments(const std::filesystem::path& trace) {
  std::vector<std::uint32_t> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator at(trace, error), end; !error && at != end;
       at.increment(error))
    if (const auto number = segment_number(at->path().filename().string()))
      numbers.push_back(*number);
  if (error)
    return fail_errno("cannot read the trace " + trace.string(), error.value());
  std::ranges::sort(numbers);
  return numbers;
}

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
  // Blocks whose payload turned out bad, each counted once: by its place in `blocks`.
  std::unique_ptr<std::atomic<bool>[]> is_bad;
  std::atomic<std::uint64_t> bad_bytes = 0;
  std::atomic<std::uint64_t> bad_blocks = 0;
  std::atomic<std::uint64_t> bad_rows = 0;

  Result<void> read_manifest();
  Result<void> open_segments();
  Result<void> check_versions() const;
  Result<TraceId> trace_id() const;
  void index_blocks(const TraceId& id);
  void note_missing_segments();

  const Segment* segment(std::uint32_t number) const;
  void count_bad(const BlockInfo& block, std::size_t bytes);
};

Result<void> TraceReader::Impl::open_segments() {
  auto directory = open_trace_directory(path);
  if (!directory)
    return std::unexpected(directory.error());
  auto numbers = list_segments(path);
  if (!numbers)
    return std::unexpected(numbers.error());
  for (const std::uint32_t number : *numbers) {
    const auto kind = number == 0 ? SegmentKind::dictionary : SegmentKind::events;
    const std::string name = segment_name(kind, number);
    auto file = MappedFile::open(*directory, name, path / name);
    if (!file)
      return std::unexpected(file.error());
    const auto header = read_segment_header(file->bytes());
    segments.push_back({number, std::move(*file), header});
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

// Without a manifest the segments still speak for themselves, read by the schema of this version.
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
  if (stored.error().code ==
      ENOTSUP) // a future version: nothing can be told of its segments either
    return std::unexpected(stored.error());
  manifest.state = State::INCOMPLETE;
  tables = builtin_schema();
  notices.push_back(stored.error().message() +
                    "; the events are read by the schema of this version of iotrail");
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
              "nothing can be read of it; remove it with: iotrail remove " + path.string());
}

void TraceReader::Impl::index_blocks(const TraceId& id) {
  seed = block_seed(id);
  manifest.trace_id = to_hex(id);
  std::uint64_t event_rows = 0;
  std::uint64_t event_rows_skipped = 0;
  for (const Segment& segment : segments) {
    const SegmentIndex index = index_segment(segment.file.bytes(), id);
    found_at_open.bytes_skipped += index.bytes_skipped;
    found_at_open.blocks_skipped += index.blocks_skipped;
    found_at_open.rows_skipped += index.rows_skipped;
    if (!segment.header)
      found_at_open.bytes_skipped += std::min(segment.file.bytes().size(), sizeof(SegmentHeader));
    for (const IndexedBlock& block : index.blocks) {
      blocks.push_back({block.header.kind, block.header.rows, block.header.first_ns,
                        block.header.last_ns, segment.number, block.offset});
      event_rows += segment.number == 0 ? 0 : block.header.rows;
    }
    event_rows_skipped += segment.number == 0 ? 0 : index.rows_skipped;
  }
  // Of a trace with an end it is known how many rows there were, so that a segment cut off between two blocks, or gone as
  // a whole, does not pass unnoticed.
  const std::uint64_t rows_seen = event_rows + event_rows_skipped;
  if (manifest.end_ns != 0 && manifest.events() > rows_seen)
    found_at_open.rows_skipped += manifest.events() - rows_seen;
  is_bad = std::make_unique<std::atomic<bool>[]>(blocks.size());
}

void TraceReader::Impl::note_missing_segments() {
  for (std::uint32_t number = 0; const Segment& segment : segments) {
    for (; number < segment.number; ++number)
      notices.push_back(
          (path / segment_name(number == 0 ? SegmentKind::dictionary : SegmentKind::events, number))
              .string() +
          " is missing");
    ++number;
  }
}

const Segment* TraceReader::Impl::segment(std::uint32_t number) const {
  const auto found = std::ranges::lower_bound(segments, number, {}, &Segment::number);
  return found == segments.end() || found->number != number ? nullptr : &*found;
}

void TraceReader::Impl::count_bad(const BlockInfo& block, std::size_t bytes) {
  const auto place = [](const BlockInfo& b) { return std::pair(b.segment, b.offset); };
  const auto found = std::ranges::lower_bound(blocks, place(block), {}, place);
  if (found == blocks.end() || place(*found) != place(block) ||
      is_bad[static_cast<std::size_t>(found - blocks.begin())].exchange(true))
    return;
  bad_bytes += bytes;
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
std::span<const std::string> TraceReader::notices() const {
  return impl_->notices;
}

const TableInfo* TraceReader::table(io_u16 kind) const {
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
  const Segment* segment = impl_->segment(block.segment);
  IOTRAIL_CHECK(segment && block.offset + sizeof(BlockHeader) <= segment->file.bytes().size());
  const std::string where =
      fmt::format("cannot read the block at byte {} of {}", block.offset,
                  (impl_->path /
                   segment_name(block.segment == 0 ? SegmentKind::dictionary : SegmentKind::events,
                                block.segment))
                      .string());
  if (!table)
    return fail(where, fmt::format("the schema has no kind {:#06x}", block.kind));
  const auto header = ByteReader(segment->file.bytes().subspan(block.offset)).read<BlockHeader>();
  const ByteSpan payload = payload_of(segment->file.bytes(), {header, block.offset});
  const auto bad = [&](std::string_view why) {
    impl_->count_bad(block, sizeof header + payload.size());
    return fail(where, std::string(why), "the other blocks of the trace can still be read");
  };
  if (payload_checksum(payload, impl_->seed) != header.payload_checksum)
    return bad("its checksum does not fit: the file is damaged");
  std::vector<schema::Type> types;
  for (const ColumnInfo& column : table->columns)
    types.push_back(column.type);
  auto decoded = decode_block(header, payload, columns, types);
  if (!decoded)
    return bad(decoded.error().why);
  return decoded;
}

Result<std::vector<Column>> TraceReader::read(const BlockInfo& block) const {
  const TableInfo* table = this->table(block.kind);
  std::vector<int> all(table ? table->columns.size() : 0);
  std::iota(all.begin(), all.end(), 0);
  return read(block, all);
}

Damage TraceReader::damage() const {
  Damage damage = impl_->found_at_open;
  damage.bytes_skipped += impl_->bad_bytes;
  damage.blocks_skipped += impl_->bad_blocks;
  damage.rows_skipped += impl_->bad_rows;
  return damage;
}

} // namespace iotrail::store
