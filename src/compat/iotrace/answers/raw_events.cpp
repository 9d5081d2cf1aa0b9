// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "compat/iotrace/answers/answer.hpp"
#include "compat/iotrace/answers/csv.hpp"
#include "compat/iotrace/answers/io_events.hpp"
#include "compat/iotrace/answers/io_rows.hpp"
#include "compat/iotrace/answers/mount_points.hpp"

namespace iotrail::compat::iotrace {
namespace {

using RawJson = nlohmann::ordered_json;

const std::vector<std::string> kRawColumns = {"header.sid",
                                              "header.timestamp",
                                              "deviceDescription.id",
                                              "deviceDescription.name",
                                              "deviceDescription.size",
                                              "deviceDescription.model",
                                              "io.lba",
                                              "io.len",
                                              "io.ioClass",
                                              "io.deviceId",
                                              "io.operation",
                                              "io.flush",
                                              "io.fua",
                                              "io.metadata",
                                              "io.direct",
                                              "io.readahead",
                                              "io.writeHint",
                                              "io.id",
                                              "ioCompletion.lba",
                                              "ioCompletion.len",
                                              "ioCompletion.error",
                                              "ioCompletion.deviceId",
                                              "ioCompletion.refId",
                                              "filesystemMeta.refId",
                                              "filesystemMeta.fileId.partitionId",
                                              "filesystemMeta.fileId.id",
                                              "filesystemMeta.fileOffset",
                                              "filesystemMeta.fileSize",
                                              "filesystemFileName.fileId.partitionId",
                                              "filesystemFileName.fileId.id",
                                              "filesystemFileName.fileParentId.partitionId",
                                              "filesystemFileName.fileParentId.id",
                                              "filesystemFileName.fileName",
                                              "filesystemFileEvent.fileId.partitionId",
                                              "filesystemFileEvent.fileId.id",
                                              "filesystemFileEvent.fsEventType"};

// Inodes of directories by their paths, as far as the trace has them. Others get numbers that no inode has.
class Directories {
public:
  static Result<Directories> read(analysis::Engine& engine, const MountPoints& points) {
    Directories directories;
    const auto done = for_each_row(
        engine,
        "SELECT path, inode, device FROM files WHERE choice_text('file_type', mode) = 'directory'",
        [&](Row row) {
          directories.inodes_[points.path_inside(natural(row[2]), text(row[0]))] = natural(row[1]);
          return true;
        });
    return done ? Result<Directories>(std::move(directories)) : std::unexpected(done.error());
  }

  std::uint64_t inode_of(const std::string& path) {
    constexpr std::uint64_t kMadeUp = std::uint64_t{1} << 63U;
    return inodes_.try_emplace(path, kMadeUp + inodes_.size()).first->second;
  }

private:
  std::map<std::string, std::uint64_t> inodes_;
};

class RawEvents {
public:
  RawEvents(output::Sink& sink, EventFormat format, Directories directories,
            const MountPoints& points)
      : sink_(sink), format_(format), directories_(std::move(directories)), points_(points) {
    if (format_ == EventFormat::csv)
      put_header(sink_, kRawColumns);
  }

  void describe(Row row, std::uint64_t begin_ns) {
    put(begin_ns, "deviceDescription",
        {{"id", digits(row[0])},
         {"name", text(row[1])},
         {"size", fmt::to_string(natural(row[2]) / kSectorBytes)},
         {"model", text(row[3])}});
  }

  bool put_row(Row row) {
    const std::uint64_t step = natural(row[IoColumn::step]);
    if (step == 1)
      complete(row);
    else if (step == 0)
      submit(row);
    else
      change(row);
    return !sink_.is_broken();
  }

private:
  void put(std::uint64_t at_ns, const char* member, RawJson value) {
    RawJson event = {
        {"header", {{"sid", fmt::to_string(++sid_)}, {"timestamp", fmt::to_string(at_ns)}}}};
    event[member] = std::move(value);
    if (format_ == EventFormat::csv)
      iotrace::put_row(sink_, kRawColumns, event);
    else
      sink_.put(line_text(event));
  }

  static RawJson file_id(Row row) {
    return {{"partitionId", digits(row[IoColumn::file_system])},
            {"id", digits(row[IoColumn::inode])}};
  }

  void submit(Row row) {
    const std::uint64_t now = natural(row[IoColumn::at_ns]);
    put(now, "io",
        {{"lba", lba_of(row)},
         {"len", natural(row[IoColumn::sectors])},
         {"ioClass", io_class_number(row)},
         {"deviceId", digits(row[IoColumn::device])},
         {"operation", operation_name(row)},
         {"flush", truth(row[IoColumn::is_flush])},
         {"fua", truth(row[IoColumn::is_fua])},
         {"metadata", truth(row[IoColumn::is_metadata])},
         {"direct", truth(row[IoColumn::is_direct])},
         {"readahead", truth(row[IoColumn::is_read_ahead])},
         {"writeHint", natural(row[IoColumn::write_hint])},
         {"id", digits(row[IoColumn::io])}});
    if (natural(row[IoColumn::file]) == 0 || is_null(row[IoColumn::inode]))
      return;
    name(row);
    put(now, "filesystemMeta",
        {{"refId", digits(row[IoColumn::io])},
         {"fileId", file_id(row)},
         {"fileOffset", digits(row[IoColumn::offset_sectors])},
         {"fileSize", digits(row[IoColumn::file_sectors])}});
  }

  void complete(Row row) {
    put(natural(row[IoColumn::at_ns]), "ioCompletion",
        {{"lba", lba_of(row)},
         {"len", natural(row[IoColumn::sectors])},
         {"error", truth(row[IoColumn::error])},
         {"deviceId", digits(row[IoColumn::device])},
         {"refId", digits(row[IoColumn::io])}});
  }

  void change(Row row) {
    name(row);
    put(natural(row[IoColumn::at_ns]), "filesystemFileEvent",
        {{"fileId", file_id(row)}, {"fsEventType", event_type_name(row)}});
  }

  // The name of the file, after the names of its directories; each is printed once.
  void name(Row row) {
    std::string path =
        points_.path_inside(natural(row[IoColumn::file_system]), text(row[IoColumn::path]));
    if (!path.starts_with('/') || !named_.insert(path).second)
      return;
    const std::uint64_t now = natural(row[IoColumn::at_ns]);
    const std::string partition = digits(row[IoColumn::file_system]);
    std::vector<RawJson> names;
    std::uint64_t inode = natural(row[IoColumn::inode]);
    while (path.size() > 1) {
      const std::size_t slash = path.rfind('/');
      const std::string directory = slash == 0 ? "/" : path.substr(0, slash);
      const std::uint64_t parent = directories_.inode_of(directory);
      names.push_back(
          {{"fileId", {{"partitionId", partition}, {"id", fmt::to_string(inode)}}},
           {"fileParentId", {{"partitionId", partition}, {"id", fmt::to_string(parent)}}},
           {"fileName", path.substr(slash + 1)}});
      path = directory;
      inode = parent;
      if (!named_.insert(path).second)
        break;
    }
    for (auto one = names.rbegin(); one != names.rend(); ++one)
      put(now, "filesystemFileName", std::move(*one));
  }

  output::Sink& sink_;
  EventFormat format_;
  Directories directories_;
  const MountPoints& points_;
  std::set<std::string> named_;
  std::uint64_t sid_ = 0;
};

} // namespace

Result<void> put_raw_events(analysis::Engine& engine, output::Sink& sink, EventFormat format) {
  const MountPoints points(engine.trace().manifest());
  auto directories = Directories::read(engine, points);
  if (!directories)
    return std::unexpected(directories.error());
  RawEvents events(sink, format, std::move(*directories), points);
  const std::uint64_t begin_ns = engine.trace().manifest().begin_ns;
  const auto described = for_each_row(engine,
                                      "SELECT device, name, bytes, model FROM devices WHERE device "
                                      "= parent_device AND device <> 0 ORDER BY device",
                                      [&](Row row) {
                                        events.describe(row, begin_ns);
                                        return true;
                                      });
  if (!described)
    return described;
  return for_each_row(engine, io_rows_sql(true), [&](Row row) { return events.put_row(row); });
}

} // namespace iotrail::compat::iotrace
