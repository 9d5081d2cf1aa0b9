// SPDX-License-Identifier: BSD-3-Clause
#include "capture/fuse/request_reader.hpp"

#include <linux/fuse.h>

#include <algorithm>
#include <cstring>

namespace iotrail::capture::fuse {
namespace {

constexpr std::uint32_t kCopyFileRange64 = 53; // newer than the headers of Debian 12

// Reads structures and names one after another. After the end, all is zero.
class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T> T read() {
    T value{};
    if (bytes_.size() < sizeof(T)) {
      is_whole_ = false;
      bytes_ = {};
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }

  std::string_view name() {
    const char* const begin = reinterpret_cast<const char*>(bytes_.data());
    const std::size_t length = ::strnlen(begin, bytes_.size());
    if (length == bytes_.size())
      is_whole_ = false;
    bytes_ = bytes_.subspan(std::min(length + 1, bytes_.size()));
    return {begin, length};
  }
  bool is_whole() const { return is_whole_; }

private:
  std::span<const std::byte> bytes_;
  bool is_whole_ = true;
};

std::int64_t nanoseconds(std::uint64_t seconds, std::uint32_t nanoseconds) {
  return static_cast<std::int64_t>(seconds * 1'000'000'000U + nanoseconds);
}

// The kernel's wire form of a device number, as of new_encode_dev().
std::uint32_t device_number(std::uint32_t wire) {
  const std::uint32_t major = (wire & 0xfff00U) >> 8U;
  const std::uint32_t minor = (wire & 0xffU) | ((wire >> 12U) & 0xfff00U);
  return major << 20U | minor;
}

void read_setattr(Reader& body, Request& request) {
  const auto in = body.read<fuse_setattr_in>();
  request.changes = in.valid;
  request.handle = (in.valid & FATTR_FH) != 0 ? in.fh : 0;
  request.bytes = in.size;
  request.mode = in.mode;
  request.new_uid = in.uid;
  request.new_gid = in.gid;
  request.accessed_ns = nanoseconds(in.atime, in.atimensec);
  request.modified_ns = nanoseconds(in.mtime, in.mtimensec);
}

void read_rename(Reader& body, Request& request) {
  if (request.opcode == FUSE_RENAME2) {
    const auto in = body.read<fuse_rename2_in>();
    request.to_node = in.newdir;
    request.argument = in.flags;
  } else {
    request.to_node = body.read<fuse_rename_in>().newdir;
  }
  request.name = body.name();
  request.to_name = body.name();
}

// Requests that make, rename or remove a name.
void read_name_body(Reader& body, Request& request) {
  switch (request.opcode) {
  case FUSE_SYMLINK:
    request.name = body.name();
    request.to_name = body.name();
    return;
  case FUSE_MKNOD: {
    const auto in = body.read<fuse_mknod_in>();
    request.mode = in.mode;
    request.device = device_number(in.rdev);
    break;
  }
  case FUSE_MKDIR:
    request.mode = body.read<fuse_mkdir_in>().mode;
    break;
  case FUSE_RENAME:
  case FUSE_RENAME2:
    return read_rename(body, request);
  case FUSE_LINK: // `node` is the directory; the file is named by its number
    request.to_node = request.node;
    request.node = body.read<fuse_link_in>().oldnodeid;
    request.to_name = body.name();
    return;
  case FUSE_CREATE:
  case FUSE_TMPFILE: {
    const auto in = body.read<fuse_create_in>();
    request.flags = in.flags;
    request.mode = in.mode;
    break;
  }
  default: // LOOKUP, UNLINK, RMDIR: only the name
    break;
  }
  request.name = body.name();
}

void read_xattr_body(Reader& body, Request& request) {
  switch (request.opcode) {
  case FUSE_SETXATTR: {
    // Of 8 bytes unless the wrapper asks for more (FUSE_SETXATTR_EXT), which it does not.
    request.bytes = body.read<std::uint32_t>();
    request.argument = body.read<std::uint32_t>();
    request.name = body.name();
    return;
  }
  case FUSE_GETXATTR:
    request.bytes = body.read<fuse_getxattr_in>().size;
    request.name = body.name();
    return;
  case FUSE_LISTXATTR:
    request.bytes = body.read<fuse_getxattr_in>().size;
    return;
  default:
    request.name = body.name();
  }
}

void read_copy(Reader& body, Request& request) {
  const auto in = body.read<fuse_copy_file_range_in>();
  request.handle = in.fh_in;
  request.offset = static_cast<std::int64_t>(in.off_in);
  request.to_node = in.nodeid_out;
  request.to_handle = in.fh_out;
  request.to_offset = static_cast<std::int64_t>(in.off_out);
  request.bytes = in.len;
  request.argument = static_cast<std::uint32_t>(in.flags);
}

// Requests on an open file, which is the first thing that they name.
void read_handle_body(Reader& body, Request& request) {
  switch (request.opcode) {
  case FUSE_READ:
  case FUSE_READDIR:
  case FUSE_READDIRPLUS: {
    const auto in = body.read<fuse_read_in>();
    request.handle = in.fh;
    request.offset = static_cast<std::int64_t>(in.offset);
    request.bytes = in.size;
    request.flags = in.flags;
    return;
  }
  case FUSE_WRITE: {
    const auto in = body.read<fuse_write_in>();
    request.handle = in.fh;
    request.offset = static_cast<std::int64_t>(in.offset);
    request.bytes = in.size;
    request.flags = in.flags;
    return;
  }
  case FUSE_RELEASE:
  case FUSE_RELEASEDIR: {
    const auto in = body.read<fuse_release_in>();
    request.handle = in.fh;
    request.flags = in.flags;
    return;
  }
  case FUSE_FSYNC:
  case FUSE_FSYNCDIR: {
    const auto in = body.read<fuse_fsync_in>();
    request.handle = in.fh;
    request.argument = in.fsync_flags & FUSE_FSYNC_FDATASYNC;
    return;
  }
  case FUSE_FALLOCATE: {
    const auto in = body.read<fuse_fallocate_in>();
    request.handle = in.fh;
    request.offset = static_cast<std::int64_t>(in.offset);
    request.bytes = in.length;
    request.argument = in.mode;
    return;
  }
  case FUSE_LSEEK: {
    const auto in = body.read<fuse_lseek_in>();
    request.handle = in.fh;
    request.offset = static_cast<std::int64_t>(in.offset);
    request.argument = in.whence;
    return;
  }
  case FUSE_GETATTR: {
    const auto in = body.read<fuse_getattr_in>();
    request.handle = (in.getattr_flags & FUSE_GETATTR_FH) != 0 ? in.fh : 0;
    return;
  }
  case FUSE_COPY_FILE_RANGE:
  case kCopyFileRange64:
    return read_copy(body, request);
  default: // FLUSH, locks, IOCTL, POLL begin with the handle
    request.handle = body.read<std::uint64_t>();
  }
}

void read_body(Reader& body, Request& request) {
  switch (request.opcode) {
  case FUSE_LOOKUP:
  case FUSE_SYMLINK:
  case FUSE_MKNOD:
  case FUSE_MKDIR:
  case FUSE_UNLINK:
  case FUSE_RMDIR:
  case FUSE_RENAME:
  case FUSE_RENAME2:
  case FUSE_LINK:
  case FUSE_CREATE:
  case FUSE_TMPFILE:
    return read_name_body(body, request);
  case FUSE_SETXATTR:
  case FUSE_GETXATTR:
  case FUSE_LISTXATTR:
  case FUSE_REMOVEXATTR:
    return read_xattr_body(body, request);
  case FUSE_SETATTR:
    return read_setattr(body, request);
  case FUSE_OPEN:
  case FUSE_OPENDIR:
    request.flags = body.read<fuse_open_in>().flags;
    return;
  case FUSE_ACCESS:
    request.argument = body.read<fuse_access_in>().mask;
    return;
  case FUSE_READ:
  case FUSE_WRITE:
  case FUSE_READDIR:
  case FUSE_READDIRPLUS:
  case FUSE_RELEASE:
  case FUSE_RELEASEDIR:
  case FUSE_FSYNC:
  case FUSE_FSYNCDIR:
  case FUSE_FALLOCATE:
  case FUSE_LSEEK:
  case FUSE_GETATTR:
  case FUSE_FLUSH:
  case FUSE_GETLK:
  case FUSE_SETLK:
  case FUSE_SETLKW:
  case FUSE_IOCTL:
  case FUSE_POLL:
  case FUSE_COPY_FILE_RANGE:
  case kCopyFileRange64:
    return read_handle_body(body, request);
  default: // FORGET, READLINK, STATFS, INIT and the like: the header says all
    return;
  }
}

} // namespace

std::optional<Request> read_request(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  const auto header = reader.read<fuse_in_header>();
  Request request{.unique = header.unique,
                  .opcode = header.opcode,
                  .node = header.nodeid,
                  .uid = header.uid,
                  .gid = header.gid,
                  .tid = header.pid,
                  .name = {},
                  .to_name = {}};
  if (reader.is_whole())
    read_body(reader, request);
  return reader.is_whole() ? std::optional(request) : std::nullopt;
}

bool has_no_reply(std::uint32_t opcode) {
  return opcode == FUSE_FORGET || opcode == FUSE_BATCH_FORGET || opcode == FUSE_INTERRUPT ||
         opcode == FUSE_NOTIFY_REPLY;
}

std::optional<NodeFacts> entry_in_reply(std::uint32_t opcode, std::span<const std::byte> body) {
  switch (opcode) {
  case FUSE_LOOKUP:
  case FUSE_MKNOD:
  case FUSE_MKDIR:
  case FUSE_SYMLINK:
  case FUSE_CREATE:
  case FUSE_TMPFILE:
    break;
  default:
    return std::nullopt;
  }
  Reader reader(body);
  const auto entry = reader.read<fuse_entry_out>();
  if (!reader.is_whole() || entry.nodeid == 0)
    return std::nullopt;
  return NodeFacts{.inode = entry.attr.ino, .mode = entry.attr.mode};
}

std::int64_t result_in_reply(const Request& request, std::span<const std::byte> body) {
  Reader reader(body);
  switch (request.opcode) {
  case FUSE_READ:
  case FUSE_READDIR:
  case FUSE_READDIRPLUS:
  case FUSE_READLINK:
    return static_cast<std::int64_t>(body.size());
  case FUSE_WRITE:
  case FUSE_COPY_FILE_RANGE:
    return reader.read<fuse_write_out>().size;
  case kCopyFileRange64:
  case FUSE_LSEEK:
    return static_cast<std::int64_t>(reader.read<std::uint64_t>());
  case FUSE_GETXATTR:
  case FUSE_LISTXATTR:
    return request.bytes == 0 ? reader.read<fuse_getxattr_out>().size
                              : static_cast<std::int64_t>(body.size());
  default:
    return 0;
  }
}

} // namespace iotrail::capture::fuse
